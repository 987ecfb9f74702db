"""Measure the host backend while other processes use the processors."""

import multiprocessing
import os
import time
from typing import Any

from gpuos.bench import _loops
from gpuos.bench.context import SETS, Context
from gpuos.bench.row import Row, Table, median
from gpuos.bench.timing import MICRO, busy_processors, environment

TABLE = Table()
ELEMS = 1024
ROUND = {"awaited": 1000, "bulk": 65_536}  # tasks between two times
SECONDS = 1.0
LIMIT_S = 60.0


def work(kind: str, barrier: Any, rates: Any) -> None:
    """Send tasks per second of one kind. Begin when all processes run."""
    rig = _loops.Rig(SETS, ELEMS, backend="host")
    _run_round(rig, kind)
    barrier.wait(LIMIT_S)
    tasks = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        _run_round(rig, kind)
        tasks += ROUND[kind]
    rates.put(tasks / (time.perf_counter() - start))
    rig.close()


def _run_round(rig: _loops.Rig, kind: str) -> None:
    if kind == "awaited":
        rig.round_trip_us(ELEMS, ROUND[kind], 0)
    else:
        rig.bulk_ns(ROUND[kind], ELEMS, 1, 1)


def _rate(kind: str, processes: int) -> float:
    """Return the tasks per second of all processes together."""
    spawn = multiprocessing.get_context("spawn")
    shared = spawn.Barrier(processes), spawn.Queue()
    children = [
        spawn.Process(target=work, args=(kind, *shared), daemon=True)
        for _ in range(processes)
    ]
    # Each runtime uses its share of the processors.
    with environment(LOCAL_WORLD_SIZE=str(processes)):
        for child in children:
            child.start()
    total = sum(shared[1].get(timeout=LIMIT_S) for _ in children)
    for child in children:
        child.join(LIMIT_S)
    return float(total)


@TABLE.rows(
    "together",
    "awaited adds, a process for each processor over one | x >= 0.95 on host",
    "adds in bulk, two for each processor over one | x >= 0.9 on host",
)
def run_together(context: Context, awaited: Row, bulk: Row) -> None:
    context.need_host()
    processors = len(os.sched_getaffinity(0))
    for row, kind, processes in (
        (awaited, "awaited", processors),
        (bulk, "bulk", 2 * processors),
    ):
        shares = []
        for _ in range(3):
            alone = _rate(kind, 1)
            together = _rate(kind, processes)
            shares.append(together / alone)
            row.also["alone, tasks/s"] = alone
            row.also["together, tasks/s"] = together
        row.value = median(shares)
        row.note = f"{processes} processes on {processors} processors"


@TABLE.rows(
    "busy", "awaited adds beside a busy process for each processor | x on host"
)
def run_busy(context: Context, row: Row) -> None:
    context.need_host()

    def mean_us() -> float:
        return MICRO / _rate("awaited", 1)

    alone = mean_us()
    processors = len(os.sched_getaffinity(0))
    with busy_processors(processors):
        beside = mean_us()
    row.value = beside / alone
    row.also["alone, us"] = alone
    row.also["beside, us"] = beside
    row.note = f"{processors} processes without an end beside"
