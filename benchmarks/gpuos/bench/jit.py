"""Measure the compilation of new, simultaneous and known sources.

Each peer gets new sources for the same architecture and standard. It first
compiles one source that is not timed.
"""

import importlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpuos
from gpuos.bench.context import Context
from gpuos.bench.jit_child import cold, keep, median_ms, read, run_child
from gpuos.bench.jit_sources import (
    TOKEN,
    larger_kernel,
    larger_operator,
    many_kernels,
    new_name,
    new_small_kernel,
)
from gpuos.bench.peers import cupy_of
from gpuos.bench.row import Row, Table, Unavailable, median
from gpuos.bench.timing import MICRO, MILLI, seconds
from gpuos.compiling import _MOST_THREADS

TABLE = Table()
COLD_ON_HOST_MS = 25.0
STEPS = 16
POLL_S = 0.0005
UPGRADE_S = 20.0


def _compile(context: Context, text: str, **options: Any) -> gpuos.JitModule:
    return gpuos.JitModule(text, device=context.device, **options)


def arch_of(context: Context) -> str:
    """Return JitModule's architecture. NVRTC is then open."""
    return _compile(context, new_small_kernel()).arch


def _ours_ms(
    context: Context, make: Callable[[], str], **options: Any
) -> float:
    return median_ms(
        lambda text: _compile(context, text, **options),
        make,
        context.sizes.jit_reps,
    )


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
    """Compile with cuda.core's Program, without loading or caching."""
    core = _cuda_core()
    kind = "cubin" if arch.startswith("sm_") else "ptx"
    options = core.ProgramOptions(arch=arch, std="c++20")
    return median_ms(
        lambda text: core.Program(text, "c++", options).compile(kind).code,
        make,
        reps,
    )


def _cupy_ms(context: Context, make: Callable[[], str], reps: int) -> float:
    """Compile and load with CuPy's RawModule, which cannot only compile."""
    module = cupy_of(context).RawModule
    options = {"options": ("--std=c++20",), "backend": "nvrtc"}
    return median_ms(
        lambda text: module(code=text, **options).compile(), make, reps
    )


def _add_peers(
    context: Context,
    row: Row,
    make: Callable[[], str],
    arch: str,
    parts: int = 1,
) -> None:
    """Put both times into `row`, in milliseconds for each of `parts`."""
    reps = context.sizes.jit_reps
    row.peer(
        "cuda.core Program", lambda: cuda_core_ms(make, arch, reps) / parts
    )
    row.peer(
        "CuPy RawModule with the load",
        lambda: _cupy_ms(context, make, reps) / parts,
    )


@TABLE.rows("cold", "small kernel, cold | ms <= 8 on host")
def run_cold(context: Context, row: Row) -> None:
    arch = arch_of(context)
    reps = context.sizes.jit_reps
    if not context.is_cuda:
        row.asked = COLD_ON_HOST_MS

    def load(text: str) -> None:
        name = text.split("(", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
        _compile(context, text).kernel(name)

    row.value = _ours_ms(context, new_small_kernel)
    row.also["kept nowhere, as the peers"] = run_child(
        cold, context.device, reps, GPUOS_CACHE_DIR="off"
    )
    if context.is_cuda:
        row.also["with the load"] = median_ms(load, new_small_kernel, reps)
    _add_peers(context, row, new_small_kernel, arch)
    row.note = f"{arch}; kept on the disk"


def _define_many_ms(context: Context) -> float:
    times = []
    with context.runtime("auto") as rt:
        # The first one loads the workers, so it does not count.
        for _ in range(context.sizes.jit_reps + 1):
            names = [
                f"bench_{new_name()}" for _ in range(context.sizes.jit_many)
            ]
            definitions = [
                {"name": name, "source": larger_operator(name, 0), "inputs": 1}
                for name in names
            ]
            start = time.perf_counter()
            made = rt.define_many(definitions)
            times.append(MILLI * (time.perf_counter() - start))
            for op in made:
                rt.undefine(op)
    return median(times[1:])


@TABLE.rows("many", "64 operators together, each | ms <= 3 on host")
def run_many(context: Context, row: Row) -> None:
    arch = arch_of(context)
    count = context.sizes.jit_many

    def make() -> str:
        return many_kernels(count)

    one_source = _ours_ms(context, make)
    if context.is_cuda:
        row.value = _define_many_ms(context) / count
        row.also["as kernels of one JitModule"] = one_source / count
        row.note = "define_many of new operators; the peers: one source"
    else:
        row.value = one_source / count
        row.note = f"one JitModule of {count} small kernels, as the peers"
    _add_peers(context, row, make, arch, count)


@TABLE.rows("disk", "hit in the disk cache | ms <= 1 on host")
def run_disk(context: Context, row: Row) -> None:
    arch_of(context)
    reps = context.sizes.jit_reps
    with tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder:
        log = Path(folder, "log")
        where = {"GPUOS_CACHE_DIR": folder, "GPUOS_LOG": str(log)}
        run_child(keep, TOKEN, context.device, reps, **where)
        log.unlink()
        times = [
            run_child(read, TOKEN, context.device, i, **where)
            for i in range(reps)
        ]
        if log.exists() and "compiled for" in log.read_text():
            message = "expected hits in the disk cache, came compilations"
            raise ValueError(message)
    row.put_median(times)
    row.note = f"{reps} processes that had opened NVRTC and compiled nothing"


@TABLE.rows("memory", "hit in memory | us <= 5 on host")
def run_memory(context: Context, row: Row) -> None:
    arch_of(context)
    source = new_small_kernel()
    _compile(context, source)
    calls = context.sizes.jit_hits

    def hits() -> None:
        for _ in range(calls):
            gpuos.JitModule(source, device=context.device)

    times = [seconds(hits) for _ in range(context.sizes.jit_reps)]
    row.value = MICRO * median(times) / calls


@TABLE.rows("async", "compile_async of 16 small kernels, each | ms on host")
def run_async(context: Context, row: Row) -> None:
    arch_of(context)
    count = context.sizes.jit_async
    times = []
    for _ in range(context.sizes.jit_reps):
        sources = [new_small_kernel() for _ in range(count)]
        start = time.perf_counter()
        futures = [
            gpuos.compile_async(source, device=context.device)
            for source in sources
        ]
        for future in futures:
            future.result()
        times.append(MILLI * (time.perf_counter() - start) / count)
    row.value = median(times)
    row.also["one after the other"] = _ours_ms(context, new_small_kernel)
    row.note = f"{min(os.cpu_count() or 1, _MOST_THREADS)} threads"


@TABLE.rows(
    "fast",
    "larger kernel | ms on host",
    "larger kernel, fast_compile='max' | ms on host",
)
def run_fast(context: Context, default: Row, fast: Row) -> None:
    arch = arch_of(context)

    def make() -> str:
        return larger_kernel(new_name(), STEPS)

    def ms(level: str) -> float:
        options = gpuos.JitOptions(fast_compile=level)
        try:
            return _ours_ms(context, make, options=options)
        except gpuos.InvalidArgument as error:  # an older NVRTC
            raise Unavailable(str(error)) from error

    default.value = ms("off")
    default.note = f"{STEPS} exponentials and powers"
    _add_peers(context, default, make, arch)
    fast.value = ms("max")
    fast.also["min"] = ms("min")
    fast.also["mid"] = ms("mid")


def _upgrade(rt: gpuos.Runtime, upgrades: int) -> None:
    end = time.perf_counter() + UPGRADE_S
    while rt.stats()["upgrades"] == upgrades:
        if time.perf_counter() > end:
            message = f"expected an upgrade within {UPGRADE_S:g} s, came none"
            raise TimeoutError(message)
        time.sleep(POLL_S)


def _define_ms(rt: gpuos.Runtime, *, tiered: bool) -> tuple[float, float]:
    name = f"bench_{new_name()}"
    upgrades = rt.stats()["upgrades"]
    source = larger_operator(name, STEPS)
    start = time.perf_counter()
    op = rt.define(name, source=source, inputs=1, tiered=tiered)
    defined = time.perf_counter()
    if tiered:
        _upgrade(rt, upgrades)
    upgraded = time.perf_counter()
    rt.undefine(op)
    return MILLI * (defined - start), MILLI * (upgraded - start)


@TABLE.rows("tiered", "larger operator, define(tiered=True) | ms")
def run_tiered(context: Context, row: Row) -> None:
    context.need_cuda()
    reps = context.sizes.jit_reps
    with context.runtime("auto") as rt:
        _define_ms(rt, tiered=False)
        tiered = [_define_ms(rt, tiered=True) for _ in range(reps)]
        plain = [_define_ms(rt, tiered=False)[0] for _ in range(reps)]
    row.value = median([defined for defined, _ in tiered])
    row.also["until optimised code runs"] = median([end for _, end in tiered])
    row.also["not tiered"] = median(plain)
    row.note = f"{STEPS} exponentials and powers"
