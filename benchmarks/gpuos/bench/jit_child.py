"""Measure parts of `bench jit` in separate processes."""

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, TypeVar

import gpuos
from gpuos.bench.jit_sources import new_small_kernel, small_kernel
from gpuos.bench.row import median
from gpuos.bench.timing import MILLI, environment, seconds

T = TypeVar("T")
LIMIT_S = 60


def median_ms(
    compile_one: Callable[[str], object], make: Callable[[], str], reps: int
) -> float:
    """Return the median time to compile a new source from `make`."""
    compile_one(make())
    sources = (make() for _ in range(reps))
    return MILLI * median([seconds(partial(compile_one, s)) for s in sources])


def keep(token: str, device: int, reps: int) -> None:
    """Compile the sources of read() into the disk cache."""
    for name in [token, *(f"{token}_{i}" for i in range(reps))]:
        gpuos.JitModule(small_kernel(name), device=device)


def read(token: str, device: int, number: int) -> float:
    """Return the time of one hit, after another hit has opened NVRTC."""
    gpuos.JitModule(small_kernel(token), device=device)
    source = small_kernel(f"{token}_{number}")
    return MILLI * seconds(lambda: gpuos.JitModule(source, device=device))


def cold(device: int, reps: int) -> float:
    """Return the median time of new sources."""
    compile_one = partial(gpuos.JitModule, device=device)
    return median_ms(compile_one, new_small_kernel, reps)


def run_child(
    function: Callable[..., T], *arguments: Any, **variables: str
) -> T:
    """Run a function in a new process with these environment variables."""
    spawn = multiprocessing.get_context("spawn")
    with (
        environment(**variables),
        # The alarm ends a process that hangs or has lost its parent.
        ProcessPoolExecutor(1, spawn, signal.alarm, (LIMIT_S,)) as pool,
    ):
        return pool.submit(function, *arguments).result()
