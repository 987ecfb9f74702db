"""Time calls on processors that no other program disturbs."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuos.bench import _loops
from gpuos.bench.row import Unavailable, median

MILLI, MICRO, NANO = 1e3, 1e6, 1e9  # per second
GIGA = 1e9
AGAIN_S = 5.0

# The program has a thread, and gpuos has one that gives chunks to workers.
# Autograd has one. The last is room for the driver.
BUSY_THREADS = 4

# Each process ends itself if its parent is killed. It then has another parent.
# The check also works if the parent ends before the first check.
ENDLESS = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10_000):
        pass
"""


def seconds(once: Callable[[], object]) -> float:
    start = time.perf_counter()
    once()
    return time.perf_counter() - start


def seconds_of(
    once: Callable[[], object], reps: int, *, settles: bool = True
) -> float:
    """Return the median time of `once`, which waits for its work.

    The calls run on a processor that is not disturbed, if there is one. After a
    move one call of `once` is not timed, because caches are empty there.
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
    """Set environment variables for processes that begin in this block."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raise an error in the main thread if the block takes longer.

    An alarm that was set before waits until the end of the block.
    """
    message = f"takes over {limit_s:g} s"
    is_late = False

    def stop(*_: object) -> None:
        nonlocal is_late
        is_late = True
        raise Unavailable(message)

    before = signal.signal(signal.SIGALRM, stop)
    # A compiler may ignore an error once.
    left, _ = signal.setitimer(signal.ITIMER_REAL, limit_s, AGAIN_S)
    try:
        yield
    except Exception:
        if is_late:  # A compiler wraps errors.
            raise Unavailable(message) from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, left)


def _confine(processors: set[int]) -> None:
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(task.name), processors)


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Keep all threads on processors that are not disturbed at the moment.

    Afterwards they, and threads that began meanwhile, may use all processors of
    this thread. `benchmarks/processors.h` says what disturbs a processor.
    """
    every = os.sched_getaffinity(0)
    quick = _loops.quick_processors(BUSY_THREADS)
    try:
        if quick:
            os.sched_setaffinity(0, {quick[0]})  # this thread begins there
            _confine(set(quick))
        yield
    finally:
        _confine(every)


@contextlib.contextmanager
def busy_processors(count: int) -> Iterator[None]:
    """Keep `count` processors busy with endless processes."""
    command = [sys.executable, "-c", ENDLESS, str(os.getpid())]
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            child = stack.enter_context(subprocess.Popen(command))
            stack.callback(child.kill)
        yield
