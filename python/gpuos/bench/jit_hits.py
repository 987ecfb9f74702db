"""Sources that were compiled before, here or by another process."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench.jit_child import run_child
from gpuos.bench.jit_compile import arch_of
from gpuos.bench.jit_sources import TOKEN, new_name, small_kernel
from gpuos.bench.peers import MICRO
from gpuos.bench.row import median

if TYPE_CHECKING:
    from gpuos.bench.context import Context
    from gpuos.bench.row import Row


def run_disk(context: Context, row: Row) -> None:
    """Fill the row of hits in the disk cache, each in a new process."""
    arch_of(context)
    reps = context.sizes.jit_reps
    with tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder:
        log = Path(folder, "log")
        where = {"GPUOS_CACHE_DIR": folder, "GPUOS_LOG": str(log)}
        run_child("keep", TOKEN, context.device, reps, **where)
        log.unlink()
        times = [
            run_child("read", TOKEN, context.device, i, **where)[0]
            for i in range(reps)
        ]
        if log.exists() and "compiled for" in log.read_text():
            message = "expected hits in the disk cache, came compilations"
            raise ValueError(message)
    row.value = median(times)
    row.also["worst"] = max(times)
    row.note = f"{reps} processes that had opened NVRTC and compiled nothing"


def run_memory(context: Context, row: Row) -> None:
    """Fill the row of a source that this process has compiled."""
    arch_of(context)
    source = small_kernel(new_name())
    gpuos.JitModule(source, device=context.device)
    calls = context.sizes.jit_hits
    times = []
    for _ in range(context.sizes.jit_reps):
        start = time.perf_counter()
        for _ in range(calls):
            gpuos.JitModule(source, device=context.device)
        times.append(MICRO * (time.perf_counter() - start) / calls)
    row.value = median(times)
