"""What else compiles CUDA C++ at run time: cuda.core and CuPy.

Each gets sources that it has not seen, for the same architecture and the same
standard, once after one that is not timed.
"""

from __future__ import annotations

import importlib
import os
import time
from typing import TYPE_CHECKING

from gpuos.bench.peers import cupy_or_reason
from gpuos.bench.row import Unavailable, median

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

MILLI = 1e3


def median_ms(
    compile_one: Callable[[str], object], make: Callable[[], str], reps: int
) -> float:
    """Return the median time to compile a new source of `make`."""
    compile_one(make())
    times = []
    for _ in range(reps):
        source = make()
        start = time.perf_counter()
        compile_one(source)
        times.append(MILLI * (time.perf_counter() - start))
    return median(times)


def _cuda_core() -> Any:
    for name in ("cuda.core", "cuda.core.experimental"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if hasattr(module, "Program"):
            return module
    message = "cuda.core is not installed"
    raise Unavailable(message)


def cuda_core_ms(make: Callable[[], str], arch: str, reps: int) -> float:
    """Compile with cuda.core's Program; nothing is loaded or kept."""
    core = _cuda_core()
    kind = "cubin" if arch.startswith("sm_") else "ptx"
    options = core.ProgramOptions(arch=arch, std="c++20")
    return median_ms(
        lambda text: core.Program(text, "c++", options).compile(kind).code,
        make,
        reps,
    )


def cupy_ms(context: Context, make: Callable[[], str], reps: int) -> float:
    """Compile and load with CuPy's RawModule, which cannot do one alone."""
    context.need_cuda()
    # Before the import of CuPy: what it keeps on the disk is not timed.
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    cupy = cupy_or_reason(context)
    return median_ms(
        lambda text: cupy.RawModule(
            code=text, options=("--std=c++20",), backend="nvrtc"
        ).compile(),
        make,
        reps,
    )


def add_compiler_peers(
    context: Context,
    row: Row,
    make: Callable[[], str],
    arch: str,
    parts: int = 1,
) -> None:
    """Put the time of both into `row`, in milliseconds for each of `parts`."""
    reps = context.sizes.jit_reps
    row.peer(
        "cuda.core Program", lambda: cuda_core_ms(make, arch, reps) / parts
    )
    row.peer(
        "CuPy RawModule with the load",
        lambda: cupy_ms(context, make, reps) / parts,
    )
