"""Round trips, device-wide synchronisation, the cost of an idle runtime."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpuos.bench.context import WAIT_S
from gpuos.bench.peers import MICRO, torch_round_trip
from gpuos.bench.row import check_right, median, quantile

if TYPE_CHECKING:
    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

ELEMS = 1024
P99 = 0.99


def run_round_trip(context: Context, middle: Row, tail: Row) -> None:
    """Fill the rows of one task from submit() to its result."""
    sizes = context.sizes
    for mode in context.modes:
        with context.rig(mode) as rig:
            rig.poison()
            times = rig.round_trip_us(ELEMS, sizes.round_trips)
            check_right(rig.count_wrong(sizes.round_trips, ELEMS), mode)
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
    device = context.peers()
    with context.rig("burst") as rig:
        times = device.round_trip_us(rig, ELEMS, sizes.round_trips)
    name = "launch + stream synchronize"
    middle.peers[name] = median(times)
    tail.peers[name] = quantile(times, P99)
    middle.peer(
        "torch add + synchronize", lambda: torch_round_trip(context, ELEMS)
    )


def run_synchronize(context: Context, idle: Row, saturated: Row) -> None:
    """Fill the rows of cudaDeviceSynchronize() beside resident workers."""
    context.need_cuda()
    sizes = context.sizes
    with context.rig("resident") as rig:
        options = rig.options()
        idle.asked = options["linger_us"] + 100
        saturated.asked = options["lease_us"] + 1000
        times = rig.synchronize_beside(sizes.idle_syncs, sizes.saturated_syncs)
    for row, name in ((idle, "idle_us"), (saturated, "saturated_us")):
        row.value = max(times[name])
        row.also["median"] = median(times[name])
    idle.note = f"linger {options['linger_us']:g} us"
    saturated.note = f"lease {options['lease_us']:g} us"


def run_idle(context: Context, cost: Row, first: Row) -> None:
    """Fill the rows of a runtime that has nothing to do."""
    with context.runtime("resident") as rt:
        arrays = [rt.array([1.0] * ELEMS, dtype="float32") for _ in range(3)]
        a, b, c = arrays

        def one() -> float:
            start = time.perf_counter()
            rt.wait(rt.submit("add", a, b, out=c), WAIT_S)
            return MICRO * (time.perf_counter() - start)

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
            times.append(one())
        first.value = median(times)
        first.also["worst"] = max(times)
