"""The rows of `bench programs`, in the order of the table."""

from __future__ import annotations

from gpuos.bench import program_arrays, program_chain, program_scaling
from gpuos.bench.row import Measure, Row


def program_measures() -> list[Measure]:
    """Return every measurement, with what is asked on one H200."""
    return [*_chain_measures(), *_array_measures(), *_scaling_measures()]


def _chain_measures() -> list[Measure]:
    chain = "140 operations, n=4096"
    return [
        Measure(
            "trace", [Row(f"{chain}, trace", "us")], program_chain.run_trace
        ),
        Measure(
            "chain",
            [
                Row(f"{chain}, first call", "us", 60),
                Row(f"{chain}, interpreted, awaited", "us", 30),
                Row(f"{chain}, compiled, awaited", "us", 14),
                Row(f"{chain}, interpreted, a call", "us", 0.5),
                Row(f"{chain}, compiled, a call", "us", 0.3),
            ],
            program_chain.run_chain,
        ),
        Measure(
            "links",
            [
                Row("ordered submit in C++, an add", "ns", 60),
                Row("dependent adds, n=1024, a link", "ns", 150),
            ],
            program_chain.run_links,
        ),
        Measure(
            "host",
            [
                Row(
                    "host, 140 operations, n=1024, over NumPy and torch",
                    "x",
                    5,
                    more_is_better=True,
                    on_host=True,
                )
            ],
            program_chain.run_host,
        ),
    ]


def _array_measures() -> list[Measure]:
    def of_a_copy(name: str, asked: float) -> Row:
        text = f"{name} over a copy's bandwidth"
        return Row(text, "%", asked, more_is_better=True)

    return [
        Measure(
            "softmax",
            [Row("softmax of (32, 4096) float16", "us")],
            program_arrays.run_softmax,
        ),
        Measure(
            "rmsnorm",
            [Row("rmsnorm of (32, 4096) float16", "us")],
            program_arrays.run_rmsnorm,
        ),
        Measure(
            "large",
            [of_a_copy("5 operations on 64 Mi", 90)],
            program_arrays.run_five,
        ),
        Measure("sum", [of_a_copy("sum of 64 Mi", 90)], program_arrays.run_sum),
        Measure(
            "row-sums",
            [of_a_copy("sums of 8192 rows", 90)],
            program_arrays.run_row_sums,
        ),
        Measure(
            "transpose",
            [of_a_copy("x.T + y of 64 Mi", 60)],
            program_arrays.run_transpose,
        ),
    ]


def _scaling_measures() -> list[Measure]:
    return [
        Measure(
            "shapes",
            [Row("a new shape in every call over one shape", "x", 1.2)],
            program_scaling.run_shapes,
        ),
        Measure(
            "operations",
            [Row("points of time over operations", "")],
            program_scaling.run_operations,
        ),
        Measure(
            "elements",
            [Row("points of time over elements", "")],
            program_scaling.run_elements,
        ),
        Measure(
            "pending",
            [Row("points of time over pending calls", "")],
            program_scaling.run_pending,
        ),
    ]
