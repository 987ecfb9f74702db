"""Measure round trips, the cost of an idle runtime, and replacements."""

import time

from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.peers import torch_add
from gpuos.bench.row import Row, Table, check_right, median, quantile
from gpuos.bench.timing import MICRO, seconds

TABLE = Table()
ELEMS = 1024
P99 = 0.99
MILLION = 1e6


@TABLE.rows(
    "round-trip",
    "one task, submit to result, median | us <= 4.5",
    "one task, submit to result, p99 | us <= 10",
)
def run_round_trip(context: Context, middle: Row, tail: Row) -> None:
    count = context.sizes.round_trips
    for mode in context.modes:
        with context.rig(mode) as rig:
            rig.poison()
            times = rig.round_trip_us(ELEMS, count)
            check_right(rig.count_wrong(count, ELEMS), mode)
            reason = rig.stats()["residency_reason"]
        middle.also[mode] = median(times)
        tail.also[mode] = quantile(times, P99)
        if mode == "resident":
            middle.value = median(times)
            tail.value = quantile(times, P99)
        if mode == "auto":
            middle.note = f"auto: {reason}"
    if not context.is_cuda:
        return
    with context.rig("burst") as rig:
        times = context.peers().round_trip_us(rig, ELEMS, count)
    name = "launch + stream synchronize"
    middle.peers[name] = median(times)
    tail.peers[name] = quantile(times, P99)
    middle.peer(
        "torch add + synchronize", lambda: torch_add(context, ELEMS, "awaited")
    )


@TABLE.rows(
    "synchronize",
    "cudaDeviceSynchronize, idle runtime, worst | us",
    "cudaDeviceSynchronize, saturated, worst | us",
)
def run_synchronize(context: Context, idle: Row, saturated: Row) -> None:
    context.need_cuda()
    sizes = context.sizes
    with context.rig("resident") as rig:
        options = rig.options()
        times = rig.synchronize_beside(sizes.idle_syncs, sizes.saturated_syncs)
    idle.asked = options["linger_us"] + 100
    saturated.asked = options["lease_us"] + 1000
    for row, name in ((idle, "idle_us"), (saturated, "saturated_us")):
        row.put_worst(times[name])
    idle.note = f"linger {options['linger_us']:g} us"
    saturated.note = f"lease {options['lease_us']:g} us"


@TABLE.rows(
    "idle",
    "processor time of an idle runtime, a second | ms",
    "first task after an idle time | us",
)
def run_idle(context: Context, cost: Row, first: Row) -> None:
    with context.runtime("resident") as rt:
        a, b, c = (rt.array([1.0] * ELEMS, dtype="float32") for _ in range(3))

        def one() -> None:
            rt.wait(rt.submit("add", a, b, out=c), WAIT_S)

        for _ in range(20):
            one()
        time.sleep(0.05)
        before = time.process_time()
        time.sleep(context.sizes.idle_s)
        used = time.process_time() - before
        cost.value = 1e3 * used / context.sizes.idle_s
        times = []
        for _ in range(context.sizes.pauses):
            time.sleep(0.005)
            times.append(MICRO * seconds(one))
        first.put_median(times)


@TABLE.rows(
    "swaps",
    "queue's pause for a swap under load, median | us <= 100",
    "queue's pause for a swap under load, worst | us <= 1000",
    "tasks lost in swaps under load | tasks <= 0",
    "rollback under load, without a pause | us",
    "switch of an alias under load, without a pause | us",
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
    [tasks], [seconds] = report["tasks"], report["seconds"]
    done = len(report["pause_us"]), tasks
    lost.note = f"of {tasks / MILLION:.1f} million tasks, {done[0]} swaps, {seconds:.1f} s"
    lost.also["wrong elements"] = report["wrong"][0]
    if done < (sizes.swaps, sizes.swapped_tasks):
        message = (
            f"expected {sizes.swaps} swaps and {sizes.swapped_tasks} tasks, "
            f"came {done[0]} and {tasks:.0f}"
        )
        raise ValueError(message)
    lost.value = report["lost"][0]
    check_right(int(report["wrong"][0]), "counts of the tasks")
    middle.value = median(report["pause_us"])
    worst.value = max(report["pause_us"])
    middle.peers["the driver's load of the module"] = median(report["load_us"])
    check_right(int(sum(report["loads"])), "loads by a rollback or a switch")
    rollback.value = median(report["rollback_us"])
    switch.value = median(report["switch_us"])
    middle.also["replace, ms"] = median(report["swap_ms"])
    middle.also["parks"] = stats["parks"]


@TABLE.rows(
    "define",
    "define an expression to first result, cold | us <= 100",
    "define to first result, cold | ms <= 12",
    "define to first result, compiled before | ms <= 0.5",
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
        row.put_median(times[name])
    expression.also["until it is submitted"] = median(times["submitted_us"])
    expression.note = "of a structure that is new"
