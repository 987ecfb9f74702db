"""Measure the cost of a session's cell that calls an earlier cell.

The peer compiles all cells so far as one new module.
"""

import random
import resource
import time
from functools import partial

import gpuos
from gpuos.bench.context import Context
from gpuos.bench.row import Row, Series, Table, median
from gpuos.bench.timing import MILLI, seconds

TABLE = Table()
GROUP = 100
SAMPLES = (1, 50, 100, 200, 400, 700, 1000)
LIMIT_S = 300.0
# A person types about this many cells. The row compares the first and last ten.
HOST_CELLS = 100
HOST_GROUP = 10


def cell_text(index: int, called: int | None) -> str:
    """Return a cell with a function that calls a function of another cell."""
    inner = "x" if called is None else f"f{called}(x)"
    return (
        f"__device__ int f{index}(int x) {{ return {inner} + {index}; }}\n"
        f"__global__ void k{index}(int* x) {{ x[0] = f{index}(x[0]); }}\n"
    )


def _session(options: gpuos.JitOptions) -> gpuos.Session:
    session = gpuos.Session(options)
    session.run("__global__ void warm_up() {}")
    session.link("warm_up")
    return session


def _compare(
    row: Row, group: int, times: list[float], processor: list[float]
) -> None:
    """Put the ratio of the last to the first cells, also by processor time."""
    row.value, by_processor = (
        median(each[-group:]) / median(each[:group])
        for each in (times, processor)
    )
    row.also["by processor time"] = by_processor


@TABLE.rows(
    "cells",
    "last 100 of 1,000 cells over the first 100 | x <= 1.2 on host",
    "a cell, median of the last 100 | ms on host",
    limit_s=LIMIT_S,
)
def run_cells(context: Context, ratio: Row, cell: Row) -> None:
    count = max(2, context.sizes.session_cells)
    group = max(1, min(GROUP, count // 2))
    ratio.name = f"last {group} of {count:,} cells over the first {group}"
    cell.name = f"a cell, median of the last {group}"
    options = gpuos.JitOptions(arch=context.arch)
    session = _session(options)
    choose = random.Random(1)
    texts: list[str] = []
    times: dict[str, list[float]] = {"compile": [], "link": [], "processor": []}
    for index in range(count):
        texts.append(
            cell_text(index, choose.randrange(index) if index else None)
        )
        before = time.process_time()
        for name, call in (
            ("compile", partial(session.run, texts[-1])),
            ("link", partial(session.link, f"k{index}")),
        ):
            times[name].append(MILLI * seconds(call))
        times["processor"].append(MILLI * (time.process_time() - before))
    pairs = zip(times["compile"], times["link"], strict=True)
    totals = [compiled + linked for compiled, linked in pairs]
    cell.value = median(totals[-group:])
    _compare(ratio, group, totals, times["processor"])
    for name, each in times.items():
        cell.also[f"{name} ms"] = median(each[-group:])
    for begin in range(0, count, group):
        some = totals[begin : begin + group]
        ratio.also[f"{begin + 1} to {begin + len(some)} ms"] = median(some)
    line = Series("cell", "ms", list(range(1, count + 1)))
    line.lines["a cell of a session"] = list(totals)
    anew: list[float | None] = [None] * count
    for at in sorted({min(sample, count) for sample in SAMPLES}):
        text = "".join(texts[:at])
        ms = MILLI * seconds(partial(gpuos.JitModule, text, options=options))
        anew[at - 1] = cell.also[f"all {at} anew"] = ms
    cell.peers[f"all {count:,} cells anew"] = ms
    line.lines["all cells anew"] = anew
    context.series["cells"] = line


@TABLE.rows(
    "chain",
    "link of a kernel that reaches all 1,000 cells | ms on host",
    limit_s=LIMIT_S,
)
def run_chain(context: Context, row: Row) -> None:
    count = max(2, context.sizes.session_cells)
    row.name = f"link of a kernel that reaches all {count:,} cells"
    session = _session(gpuos.JitOptions(arch=context.arch))
    # There are few cells, because the row measures the link.
    for begin in range(0, count, GROUP):
        session.run(
            "".join(
                cell_text(index, index - 1 if index else None)
                for index in range(begin, min(begin + GROUP, count))
            )
        )
    row.value = MILLI * seconds(partial(session.link, f"k{count - 1}"))


def host_text(index: int) -> str:
    """Return a cell of host code that uses the cell before."""
    before = f"f{index - 1}(x)" if index else "x"
    return (
        "#include <iostream>\n"
        f"int f{index}(int x) {{ return {before} + 1; }}\n"
        f"int n{index} = f{index}(1);\n"
        f"if (n{index} != {index + 2}) std::cout << n{index} << std::endl;\n"
    )


def processor_seconds() -> float:
    """Return the processor time of this process and its compilers."""
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(each.ru_utime + each.ru_stime for each in used)


@TABLE.rows(
    "host",
    "host code with <iostream>, median of 100 cells | ms <= 700 on host",
    "host code: last 10 of 100 cells over the first 10 | x <= 1.2 on host",
    limit_s=LIMIT_S,
)
def run_host(context: Context, cell: Row, ratio: Row) -> None:
    count = min(HOST_CELLS, max(2, context.sizes.session_cells))
    group = max(1, min(HOST_GROUP, count // 2))
    cell.name = f"host code with <iostream>, median of {count} cells"
    ratio.name = f"host code: last {group} of {count} cells over the first"
    ratio.name += f" {group}"
    session = _session(gpuos.JitOptions(arch=context.arch))
    times: list[float] = []
    processor: list[float] = []
    for index in range(count):
        before = processor_seconds()
        text = host_text(index)
        times.append(MILLI * seconds(partial(session.run, text)))
        processor.append(MILLI * (processor_seconds() - before))
    cell.value = median(times)
    cell.also["processor ms"] = median(processor)
    cell.also["the first ms"] = times[0]
    cell.also["the last ms"] = times[-1]
    cell.also["the first, processor ms"] = processor[0]
    cell.also["the last, processor ms"] = processor[-1]
    _compare(ratio, group, times, processor)
