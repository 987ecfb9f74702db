"""Show the progress of the maps of a `with` block."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from gpuos.ray.engine import ray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from typing_extensions import Self

_STEP_S = 0.2  # how often it looks
_blocks = threading.local()  # the open blocks of this thread, innermost last


class progress:
    """Tell how many parts of the maps in a `with` block are computed.

    It counts maps that this thread begins. The end of the block waits for them,
    unless the block raises. An exception of `report` is raised at the end, and
    `report` is not called again.

    Parameters
    ----------
    report : callable or None
        Called with (done, all) in a thread of its own, whenever they changed.
        None: a line on sys.stderr, which is written over.

    Examples
    --------
    >>> with gpuos.ray.progress():
    ...     y = pool.map("step", x).gather()
    """

    def __init__(
        self, report: Callable[[int, int], object] | None = None
    ) -> None:
        self._report = report or _write
        self._lock = threading.RLock()  # a finalizer may add too
        self._pending: list[Any] = []
        self._all = 0
        self._leave = threading.Event()
        self._left_at_once = False
        self._failed: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, name="gpuos.ray.progress", daemon=True
        )

    def __enter__(self) -> Self:
        vars(_blocks).setdefault("inside", []).append(self)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        _blocks.inside.remove(self)
        self._left_at_once = kind is not None
        self._leave.set()
        self._thread.join()  # as long as the maps take, as gather() waits
        if self._failed is not None and kind is None:
            raise self._failed

    def _add(self, refs: Sequence[Any]) -> None:
        with self._lock:
            self._pending.extend(refs)
            self._all += len(refs)

    def _run(self) -> None:
        try:
            self._look()
        except BaseException as error:  # noqa: BLE001 (raised by the block)
            self._failed = error

    def _look(self) -> None:
        told = (0, 0)
        while True:
            leaves = self._leave.is_set()
            with self._lock:
                pending, every = [*self._pending], self._all
            left = self._wait(pending)
            with self._lock:
                self._pending = left + self._pending[len(pending) :]
            if told != (now := (every - len(left), every)):
                self._report(*now)
                told = now
            if leaves and (not left or self._left_at_once):
                return
            if not pending:
                self._leave.wait(_STEP_S)

    @staticmethod
    def _wait(pending: list[Any]) -> list[Any]:
        """Return the parts that are still missing after a moment."""
        if not pending:
            return []
        left: list[Any] = ray().wait(
            pending,
            num_returns=len(pending),
            timeout=_STEP_S,
            fetch_local=False,
        )[1]
        return left


def watch(refs: Sequence[Any]) -> None:
    """Count what a map has begun in the blocks that this thread is in."""
    for block in vars(_blocks).get("inside", ()):
        block._add(refs)


def _write(done: int, every: int) -> None:
    end = "\n" if done == every else ""
    sys.stderr.write(f"\r{done} of {every} parts{end}")
    sys.stderr.flush()
