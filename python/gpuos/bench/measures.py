"""The rows of `bench queue`, in the order of the table."""

from __future__ import annotations

from gpuos.bench import (
    bulk,
    callers,
    dropped,
    from_python,
    latency,
    neighbours,
    swaps,
)
from gpuos.bench.row import Measure, Row


def queue_measures() -> list[Measure]:
    """Return every measurement, with what is asked on one H200."""
    return [
        Measure(
            "bulk",
            [
                Row("independent adds, n=1024, C++ submit_many", "ns", 8),
                Row("independent adds, n=4096, C++ submit_many", "ns", 11),
            ],
            bulk.run_bulk,
        ),
        Measure(
            "round-trip",
            [
                Row("one task, submit to result, median", "us", 4.5),
                Row("one task, submit to result, p99", "us", 10),
            ],
            latency.run_round_trip,
        ),
        Measure(
            "swaps",
            [
                Row("queue's pause for a swap under load, median", "us", 100),
                Row("queue's pause for a swap under load, worst", "us", 1000),
                Row("tasks lost in swaps under load", "tasks", 0),
            ],
            swaps.run_swaps,
        ),
        Measure(
            "define",
            [
                Row("define an expression to first result, cold", "us", 100),
                Row("define to first result, cold", "ms", 12),
                Row("define to first result, compiled before", "ms", 0.5),
            ],
            swaps.run_define,
        ),
        Measure(
            "bursts",
            [
                Row("burst of 16,384 adds, an add", "ns", 6),
                Row("flush from the ring, back to back", "us", 4.5),
                Row("flush of 16 from parameters, back to back", "us", 3.3),
            ],
            bulk.run_bursts,
        ),
        Measure(
            "matmul",
            [Row("1024 bf16 matmul + 16 adds over the matmul", "x", 1.5)],
            callers.run_pair,
        ),
        Measure(
            "synchronize",
            [
                Row("cudaDeviceSynchronize, idle runtime, worst", "us"),
                Row("cudaDeviceSynchronize, saturated, worst", "us"),
            ],
            latency.run_synchronize,
        ),
        Measure(
            "large",
            [
                Row(
                    "add of 64 Mi float32 over a copy's bandwidth",
                    "%",
                    90,
                    more_is_better=True,
                )
            ],
            bulk.run_large,
        ),
        Measure(
            "submit",
            [Row("Python submit() with three arrays", "us", 0.30)],
            from_python.run_submit,
        ),
        Measure(
            "submit-many",
            [Row("Python submit_many(), a task", "ns", 20)],
            from_python.run_submit_many,
        ),
        Measure(
            "host",
            [
                Row(
                    "host backend, n=64, over numpy.add in a loop",
                    "x",
                    5,
                    more_is_better=True,
                    on_host=True,
                )
            ],
            from_python.run_host,
        ),
        Measure(
            "dropped",
            [
                Row(
                    "fused call, results dropped, over the same with out=",
                    "x",
                    1.3,
                    on_host=True,
                ),
                Row(
                    "NumPy's nine operations over a fused call",
                    "x",
                    5,
                    more_is_better=True,
                    on_host=True,
                ),
            ],
            dropped.run_dropped,
        ),
        Measure(
            "together",
            [
                Row(
                    "awaited adds, a process for each processor over one",
                    "x",
                    0.95,
                    more_is_better=True,
                    on_host=True,
                ),
                Row(
                    "adds in bulk, two for each processor over one",
                    "x",
                    0.9,
                    more_is_better=True,
                    on_host=True,
                ),
            ],
            neighbours.run_together,
        ),
        Measure(
            "busy",
            [
                Row(
                    "awaited adds beside a busy process for each processor",
                    "x",
                    on_host=True,
                )
            ],
            neighbours.run_busy,
        ),
        Measure(
            "callers",
            [
                Row("auto: bulk, a task", "us"),
                Row("auto: single tasks, each awaited", "us"),
                Row("auto: a task and a matmul in turns", "us"),
                Row("auto: single tasks after pauses of 5 ms", "us"),
            ],
            callers.run_callers,
        ),
        Measure(
            "idle",
            [
                Row("processor time of an idle runtime, a second", "ms"),
                Row("first task after an idle time", "us"),
            ],
            latency.run_idle,
        ),
        Measure(
            "scaling",
            [Row("points of the plot", "")],
            bulk.run_scaling,
        ),
    ]
