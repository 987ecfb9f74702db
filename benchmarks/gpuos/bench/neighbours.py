"""The host backend beside other processes that want the processors."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from functools import partial
from typing import IO

from gpuos.bench import _loops
from gpuos.bench.context import SETS, Context
from gpuos.bench.row import Row, Table, median
from gpuos.bench.timing import MICRO, busy_processors

TABLE = Table()
ELEMS = 1024
ROUND = {"awaited": 1000, "bulk": 65_536}  # tasks between two looks at the time
SECONDS = 1.0
LIMIT_S = 60.0
MAIN = "from gpuos.bench import neighbours; neighbours.main()"


def main() -> None:
    """Print tasks a second of one kind, begun when a line comes in."""
    kind, seconds = sys.argv[1], float(sys.argv[2])
    rig = _loops.Rig(SETS, ELEMS, backend="host")
    _run_round(rig, kind)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    tasks = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        _run_round(rig, kind)
        tasks += ROUND[kind]
    sys.stdout.write(f"{tasks / (time.perf_counter() - start)}\n")
    rig.close()


def _run_round(rig: _loops.Rig, kind: str) -> None:
    if kind == "awaited":
        rig.round_trip_us(ELEMS, ROUND[kind], 0)
    else:
        rig.bulk_ns(ROUND[kind], ELEMS, 1, 1)


def _rate(kind: str, processes: int, seconds: float) -> float:
    """Return tasks a second of so many processes together."""
    environment = dict(os.environ, LOCAL_WORLD_SIZE=str(processes))
    start = partial(
        subprocess.Popen[str],
        [sys.executable, "-c", MAIN, kind, str(seconds)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(start()) for _ in range(processes)]
        for child in children:
            _line(child)
        for child in children:
            _pipe(child.stdin).write("\n")
            _pipe(child.stdin).flush()
        return sum(float(_line(child)) for child in children)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        message = "expected a process with pipes"
        raise ValueError(message)
    return pipe


def _line(child: subprocess.Popen[str]) -> str:
    line = _pipe(child.stdout).readline()
    if not line:
        message = f"a process ended early: {child.wait(LIMIT_S)}"
        raise RuntimeError(message)
    return line


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
            alone = _rate(kind, 1, SECONDS)
            together = _rate(kind, processes, SECONDS)
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
        return MICRO / _rate("awaited", 1, SECONDS)

    alone = mean_us()
    processors = len(os.sched_getaffinity(0))
    with busy_processors(processors):
        beside = mean_us()
    row.value = beside / alone
    row.also["alone, us"] = alone
    row.also["beside, us"] = beside
    row.note = f"{processors} processes without an end beside"
