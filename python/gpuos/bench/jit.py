"""The rows of `bench jit`, in the order of the table."""

from __future__ import annotations

from gpuos.bench import jit_compile, jit_define, jit_hits
from gpuos.bench.row import Measure, Row


def jit_measures() -> list[Measure]:
    """Return every measurement, with what is asked on one H200."""

    def row(name: str, unit: str, asked: float | None = None) -> Row:
        return Row(name, unit, asked, on_host=True)

    return [
        Measure(
            "cold", [row("small kernel, cold", "ms", 8)], jit_compile.run_cold
        ),
        Measure(
            "many",
            [row("64 operators together, each", "ms", 3)],
            jit_define.run_many,
        ),
        Measure(
            "disk", [row("hit in the disk cache", "ms", 1)], jit_hits.run_disk
        ),
        Measure("memory", [row("hit in memory", "us", 5)], jit_hits.run_memory),
        Measure(
            "async",
            [row("compile_async of 16 small kernels, each", "ms")],
            jit_compile.run_async,
        ),
        Measure(
            "fast",
            [
                row("larger kernel", "ms"),
                row("larger kernel, fast_compile='max'", "ms"),
            ],
            jit_compile.run_fast,
        ),
        Measure(
            "tiered",
            [Row("larger operator, define(tiered=True)", "ms")],
            jit_define.run_tiered,
        ),
    ]
