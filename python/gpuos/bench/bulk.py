"""Streams of independent adds, bursts, one large add."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gpuos.bench.peers import add_python_peers
from gpuos.bench.row import Series, attempt, check_right, median

if TYPE_CHECKING:
    from gpuos import _bench
    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

BURST_CALLS = 4
RING_TASKS = 64
GIGA = 1e9


def add_launch_peers(
    context: Context, row: Row, rig: _bench.Rig, elems: int
) -> None:
    """Put launches and CUDA graphs into `row`, in nanoseconds an add."""
    if not context.is_cuda:
        return
    sizes = context.sizes
    device = context.peers()

    def launch() -> float:
        rig.poison()
        times = device.launch_ns(rig, sizes.launches, elems, sizes.reps)
        check_right(rig.count_wrong(sizes.launches, elems), "launch")
        return median(times)

    row.peer("launch", launch)
    for name, is_parallel in (("graph chain", False), ("graph parallel", True)):
        row.peer(
            name,
            lambda flag=is_parallel: median(  # type: ignore[misc]
                device.graph_ns(
                    rig, sizes.graph_nodes, elems, flag, 4, sizes.reps
                )
            ),
        )


def run_bulk(context: Context, *rows: Row) -> None:
    """Fill the rows of n=1024 and n=4096."""
    all_elems = (1024, 4096)
    for mode in context.modes:
        with context.rig(mode) as rig:
            for row, elems in zip(rows, all_elems, strict=True):
                value = context.checked_bulk(
                    rig, context.sizes.bulk_tasks, elems
                )
                row.also[mode] = value
                if mode == "resident":
                    row.value = value
    with context.rig("burst") as rig:
        for row, elems in zip(rows, all_elems, strict=True):
            add_launch_peers(context, row, rig, elems)
    for row, elems in zip(rows, all_elems, strict=True):
        add_python_peers(context, row, elems, 1000.0)


def run_bursts(
    context: Context, bulk: Row, from_ring: Row, from_parameters: Row
) -> None:
    """Fill the rows of flushes that are launched as bursts."""
    context.need_cuda()
    sizes = context.sizes
    elems = 1024
    with context.rig("burst") as rig:
        bulk.value = context.checked_bulk(
            rig, sizes.burst_tasks, elems, BURST_CALLS
        )
        bulk.also["awaited one by one"] = median(
            rig.bulk_ns(sizes.burst_tasks, elems, 1, sizes.reps)
        )
        for tasks, row in ((16, from_parameters), (RING_TASKS, from_ring)):
            rig.poison()
            row.value = median(
                rig.flush_us(tasks, elems, sizes.flushes, sizes.reps)
            )
            check_right(rig.count_wrong(tasks, elems), f"flush of {tasks}")
            row.also["n=4096"] = median(
                rig.flush_us(tasks, 4096, sizes.flushes, sizes.reps)
            )
        from_ring.note = (
            f"of {RING_TASKS}: a flush of 16 goes into the parameters by itself"
        )
        device = context.peers()
        launch_us = attempt(
            lambda: (
                median(device.launch_ns(rig, sizes.launches, elems, sizes.reps))
                / 1e3
            )
        )
        for row in (from_ring, from_parameters):
            row.peers["one launch"] = launch_us


def run_large(context: Context, row: Row) -> None:
    """Fill the row of an add as large as memory bandwidth is measured with."""
    elems = context.sizes.large_elems
    reps = context.sizes.reps + 3
    gigabytes = 4 * elems / GIGA
    copied = add_copy_peer(context, row, elems, reps)
    for mode in context.modes:
        with context.rig(mode) as rig:
            result = rig.large_add(elems, reps)
        check_right(result["wrong"], f"add of {elems}")
        added = 3 * gigabytes / (median(result["us"]) * 1e-6)
        row.also[f"{mode} GB/s"] = added
        if row.value is None:
            row.value = 100 * added / copied
    row.note = f"{elems >> 20} Mi elements; 3 arrays, the copy 2"


def add_copy_peer(context: Context, row: Row, elems: int, reps: int) -> float:
    """Put the bandwidth of a copy of float32 into `row`; return GB/s."""
    if context.is_cuda:
        copy_us = median(context.peers().copy_us(4 * elems, reps))
        name = "copy on the device GB/s"
    else:
        copy_us = _numpy_copy_us(elems, reps)
        name = "numpy.copyto GB/s"
    copied = 2 * 4 * elems / GIGA / (copy_us * 1e-6)
    row.peers[name] = copied
    return copied


def _numpy_copy_us(elems: int, reps: int) -> float:
    source = np.random.default_rng(1).random(elems, dtype=np.float32)
    target = np.empty_like(source)
    times = []
    for _ in range(reps + 1):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(1e6 * (time.perf_counter() - start))
    return median(times[1:])


def run_scaling(context: Context, row: Row) -> None:
    """Measure the lines of the plot; the row says only that they are there."""
    sizes = context.sizes
    elems = Series("elements", "ns an add", list(sizes.scaling_elems))
    tasks = Series("adds in a batch", "ns an add", list(sizes.scaling_tasks))
    context.series = {"elems": elems, "tasks": tasks}
    largest = max(1024, *elems.x)
    many = min(sizes.bulk_tasks, 65_536)

    def add(series: Series, name: str, value: float) -> None:
        series.lines.setdefault(name, []).append(value)

    for mode in context.modes:
        if mode == "auto":
            continue
        with context.rig(mode, largest) as rig:
            for n in elems.x:
                add(elems, mode, context.checked_bulk(rig, many, n))
            for k in tasks.x:
                calls = rig.bulk_ns(k, 1024, 1, max(sizes.reps, 2048 // k))
                add(tasks, mode, median(calls))
    if context.is_cuda:
        with context.rig("burst", largest) as rig:
            _add_peer_lines(context, rig, elems, tasks)
    row.value = sum(
        value is not None
        for series in (elems, tasks)
        for values in series.lines.values()
        for value in values
    )


def _add_peer_lines(
    context: Context, rig: _bench.Rig, elems: Series, tasks: Series
) -> None:
    sizes = context.sizes
    device = context.peers()

    def add(series: Series, count: int, nodes: int, n: int, reps: int) -> None:
        def launch() -> float:
            return median(device.launch_ns(rig, count, n, reps))

        def graph() -> float:
            return median(device.graph_ns(rig, nodes, n, True, 1, reps))

        for name, measure in (("launch", launch), ("graph", graph)):
            value = attempt(measure)
            number = value if isinstance(value, float) else None
            series.lines.setdefault(name, []).append(number)

    for n in elems.x:
        add(elems, sizes.launches, sizes.graph_nodes, n, sizes.reps)
    for k in tasks.x:
        # The lines end where one more point would take seconds.
        if k <= sizes.launches:
            add(tasks, k, k, 1024, max(sizes.reps, 256 // k))
