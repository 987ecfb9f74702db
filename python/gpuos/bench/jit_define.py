"""Operators that are defined together, or twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench.jit_compile import STEPS, arch_of
from gpuos.bench.jit_peers import MILLI, add_compiler_peers, median_ms
from gpuos.bench.jit_sources import larger_operator, many_kernels, new_name
from gpuos.bench.row import median

if TYPE_CHECKING:
    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

POLL_S = 0.0005
UPGRADE_S = 20.0


def _define_many_ms(context: Context) -> float:
    times = []
    with context.runtime("auto") as rt:
        # The first loads the workers, so it is not counted.
        for _ in range(context.sizes.jit_reps + 1):
            definitions = [
                {
                    "name": f"bench_{name}",
                    "source": larger_operator(f"bench_{name}", 0),
                    "inputs": 1,
                }
                for name in (new_name() for _ in range(context.sizes.jit_many))
            ]
            start = time.perf_counter()
            made = rt.define_many(definitions)
            times.append(MILLI * (time.perf_counter() - start))
            for op in made:
                rt.undefine(op)
    return median(times[1:])


def run_many(context: Context, row: Row) -> None:
    """Fill the row of many operators that are compiled together."""
    arch = arch_of(context)
    count = context.sizes.jit_many

    def make() -> str:
        return many_kernels(count)

    one_source = median_ms(
        lambda text: gpuos.JitModule(text, device=context.device),
        make,
        context.sizes.jit_reps,
    )
    if context.is_cuda:
        row.value = _define_many_ms(context) / count
        row.also["as kernels of one JitModule"] = one_source / count
        row.note = "define_many of new operators; the peers: one source"
    else:
        row.value = one_source / count
        row.note = f"one JitModule of {count} small kernels, as the peers"
    add_compiler_peers(context, row, make, arch, count)


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


def run_tiered(context: Context, row: Row) -> None:
    """Fill the row of a larger operator that is compiled twice."""
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
