"""Round trips, device-wide synchronisation, the cost of an idle runtime."""

from __future__ import annotations

import time

from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.peers import torch_add
from gpuos.bench.row import Row, Table, check_right, median, quantile
from gpuos.bench.timing import MICRO, seconds

TABLE = Table()
ELEMS = 1024
P99 = 0.99


@TABLE.rows(
    "round-trip",
    Row("one task, submit to result, median", "us", 4.5),
    Row("one task, submit to result, p99", "us", 10),
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
    Row("cudaDeviceSynchronize, idle runtime, worst", "us"),
    Row("cudaDeviceSynchronize, saturated, worst", "us"),
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
        row.value = max(times[name])
        row.also["median"] = median(times[name])
    idle.note = f"linger {options['linger_us']:g} us"
    saturated.note = f"lease {options['lease_us']:g} us"


@TABLE.rows(
    "idle",
    Row("processor time of an idle runtime, a second", "ms"),
    Row("first task after an idle time", "us"),
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
        first.value = median(times)
        first.also["worst"] = max(times)
