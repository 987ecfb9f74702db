"""Sources that are compiled: one, several in the background, a larger one."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench.jit_child import run_child
from gpuos.bench.jit_peers import MILLI, add_compiler_peers, median_ms
from gpuos.bench.jit_sources import (
    TOKEN,
    larger_kernel,
    new_name,
    small_kernel,
)
from gpuos.bench.row import Unavailable, median
from gpuos.compiling import _MOST_THREADS

if TYPE_CHECKING:
    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

COLD_ON_HOST_MS = 25.0
STEPS = 16


def arch_of(context: Context) -> str:
    """Return what JitModule compiles for; NVRTC is open then.

    Raises
    ------
    Unavailable
        Without NVRTC.
    """
    try:
        module = gpuos.JitModule(
            small_kernel(new_name()), device=context.device
        )
    except gpuos.BackendUnavailable as error:
        raise Unavailable(str(error)) from error
    return module.arch


def run_cold(context: Context, row: Row) -> None:
    """Fill the row of a small kernel that was never compiled."""
    arch = arch_of(context)
    device = context.device
    reps = context.sizes.jit_reps
    if not context.is_cuda:
        row.asked = COLD_ON_HOST_MS

    def make() -> str:
        return small_kernel(new_name())

    def load() -> float:
        def one(text: str) -> None:
            name = text.split("(", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
            gpuos.JitModule(text, device=device).kernel(name)

        return median_ms(one, make, reps)

    row.value = median_ms(
        lambda text: gpuos.JitModule(text, device=device), make, reps
    )
    row.also["kept nowhere, as the peers"] = run_child(
        "cold", TOKEN, device, reps, GPUOS_CACHE_DIR="off"
    )[0]
    if context.is_cuda:
        row.also["with the load"] = load()
    add_compiler_peers(context, row, make, arch)
    row.note = f"{arch}; kept on the disk"


def run_async(context: Context, row: Row) -> None:
    """Fill the row of kernels that are compiled in the background."""
    arch_of(context)
    count = context.sizes.jit_async
    times = []
    for _ in range(context.sizes.jit_reps):
        sources = [small_kernel(new_name()) for _ in range(count)]
        start = time.perf_counter()
        futures = [
            gpuos.compile_async(source, device=context.device)
            for source in sources
        ]
        for future in futures:
            future.result()
        times.append(MILLI * (time.perf_counter() - start) / count)
    row.value = median(times)
    row.also["one after the other"] = median_ms(
        lambda text: gpuos.JitModule(text, device=context.device),
        lambda: small_kernel(new_name()),
        context.sizes.jit_reps,
    )
    row.note = f"{min(os.cpu_count() or 1, _MOST_THREADS)} threads"


def run_fast(context: Context, default: Row, fast: Row) -> None:
    """Fill the rows of a larger kernel."""
    arch = arch_of(context)

    def make() -> str:
        return larger_kernel(new_name(), STEPS)

    def ms(level: str) -> float:
        options = gpuos.JitOptions(fast_compile=level)
        return median_ms(
            lambda text: gpuos.JitModule(
                text, options=options, device=context.device
            ),
            make,
            context.sizes.jit_reps,
        )

    default.value = ms("off")
    default.note = f"{STEPS} exponentials and powers"
    add_compiler_peers(context, default, make, arch)
    fast.value = ms("max")
    fast.also["min"] = ms("min")
    fast.also["mid"] = ms("mid")
