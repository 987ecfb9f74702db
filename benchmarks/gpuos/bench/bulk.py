"""Measure streams of independent adds, bursts, and one large add."""

from functools import partial

import numpy as np

import gpuos
from gpuos.bench import _loops
from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.peers import add_python_peers, numpy_add
from gpuos.bench.row import (
    Row,
    Series,
    Table,
    attempt,
    check_right,
    median,
    points,
)
from gpuos.bench.timing import GIGA, MICRO, seconds_of

TABLE = Table()
BURST_CALLS = 4
RING_TASKS = 64


def _add_launch_peers(
    context: Context, row: Row, rig: _loops.Rig, elems: int
) -> None:
    """Put launches and CUDA graphs into `row`, in nanoseconds per add."""
    sizes = context.sizes
    device = context.peers()

    def launch() -> float:
        rig.poison()
        times = device.launch_ns(rig, sizes.launches, elems, sizes.reps)
        check_right(rig.count_wrong(sizes.launches, elems), "launch")
        return median(times)

    def graph(*, is_parallel: bool) -> float:
        nodes = sizes.graph_nodes
        return median(
            device.graph_ns(rig, nodes, elems, is_parallel, 4, sizes.reps)
        )

    row.peer("launch", launch)
    row.peer("graph chain", lambda: graph(is_parallel=False))
    row.peer("graph parallel", lambda: graph(is_parallel=True))


@TABLE.rows(
    "bulk",
    "independent adds, n=1024, C++ submit_many | ns <= 8",
    "independent adds, n=4096, C++ submit_many | ns <= 11",
)
def run_bulk(context: Context, *rows: Row) -> None:
    of_elems = list(zip(rows, (1024, 4096), strict=True))
    for mode in context.modes:
        with context.rig(mode) as rig:
            for row, elems in of_elems:
                tasks = context.sizes.bulk_tasks
                row.also[mode] = ns = context.checked_bulk(rig, tasks, elems)
                if mode == "resident":
                    row.value = ns
    if context.is_cuda:
        with context.rig("burst") as rig:
            for row, elems in of_elems:
                _add_launch_peers(context, row, rig, elems)
    for row, elems in of_elems:
        add_python_peers(context, row, elems, 1000.0)


@TABLE.rows(
    "bursts",
    "burst of 16,384 adds, an add | ns <= 6",
    "flush from the ring, back to back | us <= 4.5",
    "flush of 16 from parameters, back to back | us <= 3.3",
)
def run_bursts(
    context: Context, bulk: Row, from_ring: Row, from_parameters: Row
) -> None:
    context.need_cuda()
    sizes = context.sizes
    elems = 1024
    with context.rig("burst") as rig:
        tasks = sizes.burst_tasks
        bulk.value = context.checked_bulk(rig, tasks, elems, BURST_CALLS)
        bulk.also["awaited one by one"] = median(
            rig.bulk_ns(tasks, elems, 1, sizes.reps)
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
        from_ring.peer(
            "one launch",
            lambda: (
                median(device.launch_ns(rig, sizes.launches, elems, sizes.reps))
                / 1e3
            ),
        )
    from_parameters.peers = dict(from_ring.peers)


@TABLE.rows("large", "add of 64 Mi float32 over a copy's bandwidth | % >= 90")
def run_large(context: Context, row: Row) -> None:
    elems = context.sizes.large_elems
    reps = context.sizes.reps + 3
    copied = add_copy_peer(context, row, elems, reps)
    source = np.random.default_rng(5).random((2, elems), dtype=np.float32)
    for mode in context.modes:
        with context.runtime(mode) as rt:
            a, b = (rt.array(part) for part in source)
            out = rt.zeros(elems)
            once = partial(_add_and_wait, rt, a, b, out)
            added = 3 * 4 * elems / GIGA / seconds_of(once, reps)
            wrong = int((out.numpy() != source[0] + source[1]).sum())
        check_right(wrong, f"large add, {mode}")
        row.also[f"{mode} GB/s"] = added
        if row.value is None:
            row.value = 100 * added / copied
    row.note = f"{elems >> 20} Mi elements; 3 arrays, the copy 2"


def _add_and_wait(
    rt: gpuos.Runtime, a: gpuos.Array, b: gpuos.Array, out: gpuos.Array
) -> None:
    rt.wait(rt.submit("add", a, b, out=out), WAIT_S)


def add_copy_peer(context: Context, row: Row, elems: int, reps: int) -> float:
    """Put the bandwidth of a float32 copy into `row`. Return GB/s."""
    if context.is_cuda:
        copy_s = median(context.peers().copy_us(4 * elems, reps)) / MICRO
        name = "copy on the device GB/s"
    else:
        source = np.random.default_rng(1).random(elems, dtype=np.float32)
        target = np.empty_like(source)
        copy_s = seconds_of(lambda: np.copyto(target, source), reps)
        name = "numpy.copyto GB/s"
    row.peers[name] = copied = 2 * 4 * elems / GIGA / copy_s
    return copied


@TABLE.rows("scaling", "points of the plot |")
def run_scaling(context: Context, row: Row) -> None:
    sizes = context.sizes
    elems = Series("elements of an add", "ns an add", list(sizes.scaling_elems))
    tasks = Series("adds in a batch", "ns an add", list(sizes.scaling_tasks))
    context.series.update(elems=elems, tasks=tasks)
    largest = max(1024, *elems.x)
    many = min(sizes.bulk_tasks, 65_536)
    for mode in context.modes:
        if mode == "auto":
            continue
        with context.rig(mode, largest) as rig:
            for n in elems.x:
                elems.add(mode, context.checked_bulk(rig, many, n))
            for k in tasks.x:
                calls = rig.bulk_ns(k, 1024, 1, max(sizes.reps, 2048 // k))
                tasks.add(mode, median(calls))
    if context.is_cuda:
        with context.rig("burst", largest) as rig:
            _add_peer_lines(context, rig, elems, tasks)
    else:
        for n in elems.x:
            elems.add("numpy.add", 1e3 * numpy_add(context, n))
        # A call is one add, for every batch size.
        alone_ns = 1e3 * numpy_add(context, 1024)
        for _ in tasks.x:
            tasks.add("numpy.add", alone_ns)
    row.value = points(elems, tasks)


def _add_peer_lines(
    context: Context, rig: _loops.Rig, elems: Series, tasks: Series
) -> None:
    sizes = context.sizes
    device = context.peers()

    def add(series: Series, count: int, nodes: int, n: int, reps: int) -> None:
        def launch() -> float:
            return median(device.launch_ns(rig, count, n, reps))

        def graph() -> float:
            return median(device.graph_ns(rig, nodes, n, True, 1, reps))

        series.add("launch", attempt(launch))
        series.add("graph", attempt(graph))

    for n in elems.x:
        add(elems, sizes.launches, sizes.graph_nodes, n, sizes.reps)
    for k in tasks.x:
        # A line ends before the first point that would take seconds.
        if k <= sizes.launches:
            add(tasks, k, k, 1024, max(sizes.reps, 256 // k))
