"""Operators that are defined and replaced while tasks flow."""

from __future__ import annotations

from gpuos.bench.context import Context
from gpuos.bench.row import Row, Table, check_right, median

TABLE = Table()
MILLION = 1e6


@TABLE.rows(
    "swaps",
    Row("queue's pause for a swap under load, median", "us", 100),
    Row("queue's pause for a swap under load, worst", "us", 1000),
    Row("tasks lost in swaps under load", "tasks", 0),
    Row("rollback under load, without a pause", "us"),
    Row("switch of an alias under load, without a pause", "us"),
)
def run_swaps(
    context: Context,
    middle: Row,
    worst: Row,
    lost: Row,
    rollback: Row,
    switch: Row,
) -> None:
    sizes = context.sizes
    with context.rig("resident") as rig:
        report = rig.swap_under_load(sizes.swaps, sizes.swapped_tasks)
        stats = rig.stats()
    lost.note = (
        f"of {report['tasks'] / MILLION:.1f} million tasks, "
        f"{len(report['pause_us'])} swaps, {report['seconds']:.1f} s"
    )
    lost.also["wrong elements"] = report["wrong"]
    done = len(report["pause_us"]), report["tasks"]
    if done < (sizes.swaps, sizes.swapped_tasks):
        message = (
            f"expected {sizes.swaps} swaps and {sizes.swapped_tasks} tasks, "
            f"came {done[0]} and {done[1]}"
        )
        raise ValueError(message)
    lost.value = report["lost"]
    check_right(report["wrong"], "counts of the tasks")
    middle.value = median(report["pause_us"])
    worst.value = max(report["pause_us"])
    middle.peers["the driver's load of the module"] = median(report["load_us"])
    check_right(report["loads_of_these"], "loads by a rollback or a switch")
    rollback.value = median(report["rollback_us"])
    switch.value = median(report["switch_us"])
    middle.also["replace, ms"] = median(report["swap_ms"])
    middle.also["parks"] = stats["parks"]


@TABLE.rows(
    "define",
    Row("define an expression to first result, cold", "us", 100),
    Row("define to first result, cold", "ms", 12),
    Row("define to first result, compiled before", "ms", 0.5),
)
def run_define(
    context: Context, expression: Row, cold: Row, again: Row
) -> None:
    with context.rig("auto") as rig:
        times = rig.define_ms(context.sizes.defines)
    for row, name in (
        (expression, "expression_us"),
        (cold, "cold_ms"),
        (again, "again_ms"),
    ):
        row.value = median(times[name])
        row.also["worst"] = max(times[name])
    expression.also["until it is submitted"] = median(times["submitted_us"])
    expression.note = "of a structure that is new"
