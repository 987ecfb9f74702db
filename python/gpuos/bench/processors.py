"""Processors that no other machine's programs disturb."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gpuos import _bench

if TYPE_CHECKING:
    from collections.abc import Iterator

# The program's, the one that hands chunks to workers, one of autograd, and room
# for what the driver does.
BUSY_THREADS = 4


def _confine(processors: set[int]) -> None:
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.sched_setaffinity(int(task.name), processors)


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Keep all threads on processors that are not disturbed at the moment.

    They, and threads that begin meanwhile, may use all of this thread's
    processors afterwards. `benchmarks/processors.h` says what disturbs.
    """
    every = os.sched_getaffinity(0)
    quick = _bench.quick_processors(BUSY_THREADS)
    try:
        if quick:
            os.sched_setaffinity(0, {quick[0]})  # where this thread begins
            _confine(set(quick))
        yield
    finally:
        _confine(every)
