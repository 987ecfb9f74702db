"""Limit the number of calls at a time. Waiting calls can be cancelled."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING

from gpuos import _core
from gpuos.ray.engine import ray

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK_S = 0.1


class Gate:
    """Lets `many` threads in, in the order in which they came.

    Ray reports a cancellation only to a running call. So more calls run than
    compute; the others wait here.
    """

    def __init__(self, many: int) -> None:
        self._lock = threading.Lock()
        self._free = many
        self._waiting: deque[threading.Event] = deque()

    @contextlib.contextmanager
    def passed(self) -> Iterator[None]:
        """Hold one of the places.

        Raises
        ------
        Cancelled
            If the call was cancelled while it waited.
        """
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set()
            else:
                self._waiting.append(turn)
        while not turn.wait(_LOOK_S):  # as long as the others compute
            if is_cancelled():
                self._leave(turn)
        try:
            yield
        finally:
            with self._lock:
                self._pass_on()

    def _leave(self, turn: threading.Event) -> None:
        with self._lock:
            if turn.is_set():  # its turn came meanwhile
                self._pass_on()
            else:
                self._waiting.remove(turn)
        raise _core.Cancelled("the call was cancelled before it began")

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1


def is_cancelled() -> bool:
    """Return whether ray.cancel() was called for this thread's call."""
    found: bool = ray().get_runtime_context().is_canceled()
    return found
