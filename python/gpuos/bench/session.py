"""`python -m gpuos bench session`: the cost of a cell of a session."""

from __future__ import annotations

import importlib
import json
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench.report import number

if TYPE_CHECKING:
    import argparse
    from typing import Any

CELLS = 1000
GROUP = 100
ASKED_RATIO = 1.2
SAMPLES = (1, 50, 100, 200, 400, 700, 1000)


@dataclass
class Result:
    """Milliseconds of each cell, and of compiling all cells up to some."""

    compile_ms: list[float] = field(default_factory=list)
    link_ms: list[float] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)
    whole_ms: dict[int, float] = field(default_factory=dict)
    chain_link_ms: float = 0.0

    @property
    def total_ms(self) -> list[float]:
        """What a cell takes until its kernel could be loaded."""
        return [
            a + b for a, b in zip(self.compile_ms, self.link_ms, strict=True)
        ]

    def ratio(self, group: int) -> float:
        """Last `group` cells against the first `group`, by their medians."""
        return _ratio(self.total_ms, group)

    def processor_ratio(self, group: int) -> float:
        """The same of processor time, which other programs change less."""
        return _ratio(self.processor_ms, group)


def _ratio(values: list[float], group: int) -> float:
    first = statistics.median(values[:group])
    return statistics.median(values[-group:]) / first


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `bench session`."""
    parser = commands.add_parser(
        "session",
        help="the cost of a cell, early and late in a session",
        description="Cells that each call an earlier one, compiled and linked; "
        "beside compiling all cells anew each time. Needs no GPU.",
    )
    parser.add_argument("--cells", type=int, default=CELLS, metavar="N")
    parser.add_argument(
        "--arch",
        default="",
        metavar="SM",
        help="such as sm_90; the device's, or the newest, if not given",
    )
    for name, what in (
        ("json", "everything, for programs"),
        ("plot", "a PNG of time over the number of the cell"),
        ("markdown", "the table as Markdown"),
    ):
        parser.add_argument(
            f"--{name}", type=Path, metavar="PATH", help=f"write {what}"
        )


def cell_text(index: int, called: int | None) -> str:
    """Return a cell with a function that calls that of another cell."""
    inner = "x" if called is None else f"f{called}(x)"
    return (
        f"__device__ int f{index}(int x) {{ return {inner} + {index}; }}\n"
        f"__global__ void k{index}(int* x) {{ x[0] = f{index}(x[0]); }}\n"
    )


def _timed_ms(start: float) -> float:
    return (time.perf_counter() - start) * 1e3


def measure(cells: int, arch: str = "") -> Result:
    """Run the cells of one session and compile their sum now and then."""
    result = Result()
    choose = random.Random(1)
    options = gpuos.JitOptions(arch=arch)
    session = gpuos.Session(options)
    session.run("__global__ void warm_up() {}")
    session.link("warm_up")
    texts: list[str] = []
    for index in range(cells):
        called = choose.randrange(index) if index else None
        texts.append(cell_text(index, called))
        processor = time.process_time()
        start = time.perf_counter()
        session.run(texts[-1])
        result.compile_ms.append(_timed_ms(start))
        start = time.perf_counter()
        session.link(f"k{index}")
        result.link_ms.append(_timed_ms(start))
        result.processor_ms.append((time.process_time() - processor) * 1e3)
    for count in sorted({min(sample, cells) for sample in SAMPLES}):
        start = time.perf_counter()
        gpuos.JitModule("".join(texts[:count]), options=options)
        result.whole_ms[count] = _timed_ms(start)
    result.chain_link_ms = measure_chain(cells, options)
    return result


def measure_chain(cells: int, options: gpuos.JitOptions) -> float:
    """Return the time to link a kernel that reaches every cell."""
    session = gpuos.Session(options)
    # In few cells: what is measured is the link.
    for begin in range(0, cells, GROUP):
        session.run(
            "".join(
                cell_text(index, index - 1 if index else None)
                for index in range(begin, min(begin + GROUP, cells))
            )
        )
    start = time.perf_counter()
    session.link(f"k{cells - 1}")
    return _timed_ms(start)


def table(result: Result) -> list[tuple[str, ...]]:
    """Return the header and a row for each group of cells."""
    rows: list[tuple[str, ...]] = [
        (
            "median of",
            "compile ms",
            "link ms",
            "sum ms",
            "processor ms",
            "all cells anew ms",
        )
    ]
    count = len(result.compile_ms)
    group = max(1, min(GROUP, count // 2))
    for begin in range(0, count, group):
        end = min(begin + group, count)
        anew = [
            f"{number(ms)} (at {at})"
            for at, ms in result.whole_ms.items()
            if begin < at <= end
        ]
        rows.append(
            (
                f"{begin + 1} to {end}",
                number(statistics.median(result.compile_ms[begin:end])),
                number(statistics.median(result.link_ms[begin:end])),
                number(statistics.median(result.total_ms[begin:end])),
                number(statistics.median(result.processor_ms[begin:end])),
                ", ".join(anew),
            )
        )
    return rows


def summary(result: Result) -> list[str]:
    """Return what is asked and what was measured."""
    count = len(result.compile_ms)
    group = max(1, min(GROUP, count // 2))
    ratio = result.ratio(group)
    verdict = "as asked" if ratio <= ASKED_RATIO else "NOT as asked"
    cost = (
        f"last {group} cells against the first {group}: {ratio:.2f} "
        f"(asked <= {ASKED_RATIO}): {verdict}; "
        f"by processor time {result.processor_ratio(group):.2f}"
    )
    chain = (
        f"link of a kernel that reaches all {count} cells: "
        f"{number(result.chain_link_ms)} ms"
    )
    return [cost, chain]


def write_plot(path: Path, result: Result) -> None:
    """Draw milliseconds over the number of the cell.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    matplotlib = importlib.import_module("matplotlib.figure")
    figure = matplotlib.Figure(figsize=(7, 4.5), layout="constrained")
    agg.FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    numbers = range(1, len(result.total_ms) + 1)
    axes.plot(numbers, result.total_ms, ".", label="a cell of a session")
    axes.plot(
        list(result.whole_ms),
        list(result.whole_ms.values()),
        marker="o",
        label="all cells anew",
    )
    axes.set(yscale="log", xlabel="cell", ylabel="ms")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main(options: argparse.Namespace) -> int:
    """Measure, print and write what is wanted; 0 even if it is slow."""
    result = measure(max(2, options.cells), options.arch)
    rows = table(result)
    for row in rows:
        _say("".join(f"{cell:<16}" for cell in row).rstrip())
    lines = summary(result)
    _say("\n" + "\n".join(lines))
    if options.markdown:
        text = ["| " + " | ".join(row) + " |" for row in rows]
        text.insert(1, "|---" * len(rows[0]) + "|")
        options.markdown.write_text("\n".join([*text, "", *lines, ""]))
    if options.json:
        options.json.write_text(json.dumps(asdict(result)) + "\n")
    if options.plot:
        try:
            write_plot(options.plot, result)
        except ModuleNotFoundError as error:
            _say(f"no plot: {error.name} is not installed")
    return 0
