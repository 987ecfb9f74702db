"""Tasks that keep flowing, every element of their results checked."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    import gpuos

    Floats = npt.NDArray[np.float32]

TASKS = 256
ELEMENTS = 1024
ROUNDS_IN_FLIGHT = 4
UNTOUCHED = -1e30
WAIT_S = 60.0


class Round(NamedTuple):
    """Contains one submit_many() and its correct results."""

    ticket: gpuos.Ticket
    out: gpuos.Array
    allowed: tuple[Floats, ...]


class Flow:
    """Submits rounds of tasks and checks their results.

    Operands are whole numbers, so every right result is exact.
    """

    def __init__(self, rt: gpuos.Runtime) -> None:
        numbers = np.random.default_rng(0)
        shape = (TASKS, ELEMENTS)
        self.a = numbers.integers(1, 1000, shape).astype(np.float32)
        self.b = numbers.integers(1, 1000, shape).astype(np.float32)
        self.tasks = 0
        self.checked = 0
        self.wrong = 0
        self.lost = 0
        self._rt = rt
        self._on_device = (rt.array(self.a), rt.array(self.b))
        self._free = [rt.empty(shape) for _ in range(ROUNDS_IN_FLIGHT)]
        self._pending: deque[Round] = deque()

    def submit(self, op: str | gpuos.Operator, *allowed: Floats) -> None:
        """Queue one round; wait only for the oldest if many are in flight."""
        if not self._free:
            self._check_oldest()
        out = self._free.pop()
        self._rt.submit("fill", out=out, value=UNTOUCHED)
        ticket = self._rt.submit_many(op, *self._on_device, out)
        self.tasks += TASKS + 1
        self._pending.append(Round(ticket, out, allowed))

    def finish(self) -> None:
        """Wait for everything and check it."""
        while self._pending:
            self._check_oldest()

    def _check_oldest(self) -> None:
        ticket, out, allowed = self._pending.popleft()
        self._rt.wait(ticket, timeout=WAIT_S)
        result = out.numpy()
        self._free.append(out)
        self.lost += int((result == np.float32(UNTOUCHED)).all(axis=1).sum())
        # A task that mixes two operators is right by neither.
        is_right = np.zeros(TASKS, dtype=bool)
        for right in allowed:
            is_right |= (result == right).all(axis=1)
        self.wrong += int((~is_right).sum())
        self.checked += result.size
