"""How long something takes, on processors that nobody disturbs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuos.bench import _loops
from gpuos.bench.row import median

MILLI, MICRO, NANO = 1e3, 1e6, 1e9  # in a second
GIGA = 1e9

# The program's, the one that hands chunks to workers, one of autograd, and room
# for what the driver does.
BUSY_THREADS = 4

# Nobody ends them where their parent is killed: each then ends itself. A child
# whose parent is gone has another, also where that was before its first look.
ENDLESS = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10_000):
        pass
"""


def seconds(once: Callable[[], object]) -> float:
    """Return what one call takes."""
    start = time.perf_counter()
    once()
    return time.perf_counter() - start


def seconds_of(
    once: Callable[[], object], reps: int, *, settles: bool = True
) -> float:
    """Return the median time of `once`, which waits for its work.

    On a processor that is not disturbed, if there is one; after a move `once`
    runs without looking: caches are empty there.
    """
    once()
    times = []
    for _ in range(reps):
        if settles and _loops.settle():
            once()
        times.append(seconds(once))
    return median(times)


@contextlib.contextmanager
def environment(**changes: str) -> Iterator[None]:
    """Set variables for processes that begin in this block."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


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
    quick = _loops.quick_processors(BUSY_THREADS)
    try:
        if quick:
            os.sched_setaffinity(0, {quick[0]})  # where this thread begins
            _confine(set(quick))
        yield
    finally:
        _confine(every)


@contextlib.contextmanager
def busy_processors(count: int) -> Iterator[None]:
    """Keep so many processors busy with processes without an end."""
    command = [sys.executable, "-c", ENDLESS, str(os.getpid())]
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            child = stack.enter_context(subprocess.Popen(command))
            stack.callback(child.kill)
        yield
