"""Write the README's tables and docs/pictures/gains-*.svg.

    scripts/figures readme
    python -m gpuos bench torch --json torch.json
    scripts/figures readme torch.json [--commit HASH]

The queue's table has unchanged rows of docs/measurements.md. The file of a run
first replaces the table of programs. The chart shows that table: how many times
as fast as eager PyTorch each arm runs a program.
"""

import json
import math
import re
import sys
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from pages.measured import ROOT, number, parser_of, put

OURS, GRAPH, COMPILER = "gpuos", "CUDA graph", "torch.compile"
ARMS = (OURS, GRAPH, COMPILER)
# Rows of `bench torch`, and their names for readers.
PROGRAMS = {
    "add, mul, relu, sigmoid, div": "add, mul, relu, sigmoid, div",
    "cart and pole": "cart and pole, a step of the environment",
    "chain of 140, n=4096": "chain of 140 operations on 4,096 numbers",
    "bf16 matmul and 16 small operations": "matmul and 16 small operations",
    "decode step, changing": "decode step, changing shapes",
    "attention step": "attention step",
    "rows of (8, 256)": "sums, means, maxima of (8, 256)",
    "ResNet-50-like": "ResNet-50-like, large convolutions",
    "MLP, Adam": "training step of an MLP, Adam",
    "greedy decoding": "greedy decoding",
}
# Rows of docs/measurements.md, and their names for readers.
QUEUE = {
    "independent adds, n=1024, C++ submit_many": (
        "adds of 1,024 numbers, from C++, each"
    ),
    "Python submit() with three arrays": "the same from Python, one by one",
    "one task, submit to result, median; p99": (
        "one, until the host sees it done: median; 99 %"
    ),
    "queue's pause for a swap under load, median; worst": (
        "an operator replaced under load: the queue's pause, median; worst"
    ),
    "tasks lost in swaps under load": "tasks lost meanwhile",
    "x[:, 1:] - x[:, :-1] of 64 Mi over a copy's bandwidth": (
        "a kernel above 50 us: `x[:, 1:] - x[:, :-1]` of 64 Mi, over a copy"
    ),
}
HEAD = "| times as fast as eager PyTorch |"
PARALLEL = "graph parallel"  # independent operations
SECTION = re.compile(
    r"^<!-- bench \w+ -->\n(.*?)<!-- end -->", re.MULTILINE | re.DOTALL
)
DATE = len("2026-11-26")
# The colours of text, lines and arms. The arms have Okabe and Ito's blue,
# orange and green, which the colour-blind can distinguish. Dark pages have
# lighter colours.
THEMES = {
    "light": ("#1f2328", "#c8ced5", ("#0072b2", "#d55e00", "#00795a")),
    "dark": ("#e6edf3", "#3d444d", ("#56b4e9", "#f0a04b", "#4cc9a0")),
}
WIDTH, LABELS, RIGHT = 640, 286, 580
TOP, ROW, BOTTOM = 74, 22, 40
LEAST, MOST = 0.4, 32.0
TICKS = (0.5, 1, 2, 5, 10, 20)
END, BOLD = ' text-anchor="end"', ' font-weight="600"'
FONT = "-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


def gains_of(run: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return each arm's speed over eager from the JSON of `bench torch`."""
    rows = {
        row["name"].removesuffix(", over eager"): row for row in run["rows"]
    }
    gains = {}
    for name, text in PROGRAMS.items():
        row = rows.get(name)
        if row is None or row["value"] is None:
            sys.exit(f"expected a measured row {name!r}, came none")
        found = {OURS: row["value"]}
        for peer, us in row["peers"].items():
            arm = COMPILER if peer.startswith(COMPILER) else peer[:-3]
            # A missing peer has a text, the reason.
            if arm in ARMS and peer.endswith(" us") and not isinstance(us, str):
                factor = row["value"] * row["also"]["ours us"] / us
                found[arm] = max(factor, found.get(arm, 0.0))
        gains[text] = found
    return gains


def source_of(run: dict[str, Any], commit: str) -> str:
    """Return the place and date of a run as one sentence."""
    date = run["date"][:DATE]
    return f"One {run['device']}; {date}, commit {commit}."


def table(gains: dict[str, dict[str, float]], source: str) -> str:
    """Return the README's table of programs."""
    lines = [f"{HEAD} {' | '.join(ARMS)} |", "|---|---:|---:|---:|"]
    for name, found in gains.items():
        best = max(found, key=lambda arm: found[arm])
        cells = [name]
        for arm in ARMS:
            text = number(found[arm]) if arm in found else ""
            is_best = arm == best and found[arm] > 1.05
            cells.append(f"**{text}**" if is_best else text)
        lines.append(f"| {' | '.join(cells)} |")
    text = f"{source} Empty: not measured."
    return "\n".join([*lines, "", textwrap.fill(text, 100)]) + "\n"


def read_table(page: str) -> tuple[dict[str, dict[str, float]], str]:
    """Return the programs of the README's table, and its source."""
    text = page.partition(HEAD)[2].partition("<!-- end -->")[0]
    gains = {}
    for line in text.splitlines():
        name, *cells = cells_of(line.replace("**", ""))
        if name in PROGRAMS.values():
            pairs = zip(ARMS, cells, strict=True)
            gains[name] = {
                arm: float(cell.replace(",", "")) for arm, cell in pairs if cell
            }
    return gains, " ".join(text.rpartition("|\n")[2].split()).split(" Em")[0]


def across(value: float) -> float:
    """Return the place of a factor on the axis."""
    part = math.log(value / LEAST) / math.log(MOST / LEAST)
    return LABELS + part * (RIGHT - LABELS)


def mark(arm: int, x: float, y: float, colour: str) -> str:
    """Return a disc, a diamond or a square."""
    if arm == 0:
        return f'<circle cx="{x:.1f}" cy="{y:g}" r="6.5" fill="{colour}"/>'
    size = 9 if arm == 2 else 8
    turn = f' transform="rotate(45 {x:.1f} {y:g})"' if arm == 1 else ""
    return (
        f'<rect x="{x - size / 2:.1f}" y="{y - size / 2:g}" width="{size}" '
        f'height="{size}" fill="{colour}"{turn}/>'
    )


def words(x: float, y: float, text: str, colour: str, more: str = "") -> str:
    """Return a text with its baseline at y."""
    place = f'x="{x:.1f}" y="{y:g}" fill="{colour}"'
    return f"<text {place}{more}>{escape(text)}</text>"


def line(x1: float, x2: float, y1: float, y2: float, stroke: str) -> str:
    """Return a line. The stroke has a colour and a width."""
    colour, width = stroke.split()
    return (
        f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1}" y2="{y2}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def frame(low: int, theme: str) -> Iterator[str]:
    """Yield the names of the arms, and the ticks. Eager's tick is dark."""
    dark, faint, arms = THEMES[theme]
    left = float(LABELS - 30)
    for arm, (name, colour) in enumerate(zip(ARMS, arms, strict=True)):
        yield mark(arm, left + 6, 42, colour)
        yield words(left + 18, 46.5, name, colour, BOLD)
        left += 40 + 8 * len(name)
    for value in TICKS:
        x = across(value)
        stroke = f"{dark} 1.5" if value == 1 else f"{faint} 1"
        yield line(x, x, TOP - 14, low, stroke)
        text = "eager" if value == 1 else f"{value:g} x"
        yield words(x, low + 16, text, dark, ' text-anchor="middle"')


def chart(gains: dict[str, dict[str, float]], source: str, theme: str) -> str:
    """Return the SVG with a line per program and a mark per arm."""
    dark, faint, arms = THEMES[theme]
    height = TOP + ROW * len(gains) + BOTTOM
    device = source.partition(";")[0].removeprefix("One ")
    title = f"Speed over eager PyTorch on one {device}"
    font = f'font-family="{FONT}" font-size="13"'
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>',
        f"<title>{escape(title)}</title>",
        words(12, 22, title, dark, ' font-size="16"'),
        *frame(height - BOTTOM, theme),
    ]
    for index, (label, found) in enumerate(gains.items()):
        y = TOP + ROW * index
        lines.append(words(LABELS - 14, y + 4.5, label, dark, END))
        ends = [across(value) for value in (*found.values(), 1)]
        lines.append(line(min(ends), max(ends), y, y, f"{faint} 2"))
        # Our mark is the largest and comes first, so the others stay visible.
        for arm, name in enumerate(ARMS):
            if name in found:
                lines.append(mark(arm, across(found[name]), y, arms[arm]))
        text = f"{number(found[OURS])} x"
        lines.append(words(WIDTH - 4, y + 4.5, text, arms[0], END + BOLD))
    small = ' font-size="11"'
    lines.append(words(12, height - 6, source, dark, small))
    return "\n".join([*lines, "</svg>"]) + "\n"


def cells_of(line: str) -> list[str]:
    """Return the cells of a table row."""
    return [cell.strip() for cell in line.strip("|\n").split("|")]


def queue_table(measured: str) -> str:
    """Return the README's lines about the queue from docs/measurements.md."""
    heads: list[str] = []
    lines = {}
    for section in SECTION.findall(measured):
        head, *rows = section.splitlines()
        for row in rows:
            name, *cells = cells_of(row)
            if name in QUEUE:
                peer = cells[-1].replace(PARALLEL, GRAPH)
                lines[name] = f"| {QUEUE[name]} | {cells[0]} | {peer} |"
                heads += [] if head in heads else [head]
    for name in QUEUE:
        if name not in lines:
            sys.exit(f"expected a row {name!r} in the measurements, came none")
    return "\n".join(
        [
            *(textwrap.fill(head, 100) for head in heads),
            "",
            "| | gpuos | best peer, in the same unit |",
            "|---|---:|---|",
            *(lines[name] for name in QUEUE),
            "",
        ]
    )


def main(arguments: list[str]) -> int:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("run", nargs="?", type=Path, help="JSON of `bench torch`")
    add("--page", type=Path, default=ROOT / "README.md")
    where = ROOT / "docs" / "measurements.md"
    add("--measured", type=Path, default=where)
    add("--folder", type=Path, default=ROOT / "docs" / "pictures")
    options = parser.parse_args(arguments)
    measured = options.measured.read_text(encoding="utf-8")
    page = options.page.read_text(encoding="utf-8")
    if options.run:
        run = json.loads(options.run.read_text(encoding="utf-8"))
        text = table(gains_of(run), source_of(run, options.commit))
        page = put(page, "gains", text)
    gains, source = read_table(page)
    texts = {options.page: put(page, "queue", queue_table(measured))}
    for theme in THEMES:
        picture = chart(gains, source, theme)
        texts[options.folder / f"gains-{theme}.svg"] = picture
    # Write all files or none. A missing row ends the script before this.
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return 0
