"""Write the README's tables and docs/pictures/gains-*.svg.

    scripts/figures readme
    python -m gpuos bench torch --json torch.json
    scripts/figures readme torch.json [--commit HASH]

The queue's table has unchanged rows of docs/measurements.md. The chart shows
docs/pictures/gains.json. It has each program's ratio of eager's time to ours,
our time, and the peers' times. The file of a run first replaces gains.json.
"""

from __future__ import annotations

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


def factors(program: dict[str, Any]) -> dict[str, float]:
    """Return the speed of each arm relative to eager."""
    eager_us = program["over eager"] * program["us"]
    found = {OURS: program["over eager"]}
    for name, us in program.get("peers us", {}).items():
        found[name] = eager_us / us
    return found


def taken_from(run: dict[str, Any], commit: str) -> dict[str, Any]:
    """Return the data for the chart from the JSON of `bench torch`."""
    rows = {
        row["name"].removesuffix(", over eager"): row for row in run["rows"]
    }
    programs = []
    for name in PROGRAMS:
        row = rows.get(name)
        if row is None or row["value"] is None:
            sys.exit(f"expected a measured row {name!r}, came none")
        # A missing peer has a text, the reason.
        times = {
            peer.removesuffix(" us"): us
            for peer, us in row["peers"].items()
            if peer.endswith(" us") and not isinstance(us, str)
        }
        compiled = [us for k, us in times.items() if k.startswith(COMPILER)]
        peers = {GRAPH: times[GRAPH]} if GRAPH in times else {}
        peers |= {COMPILER: min(compiled)} if compiled else {}
        program = {"name": name, "over eager": row["value"]}
        program |= {"us": row["also"]["ours us"], "peers us": peers}
        programs.append(program)
    one = {"what": "all", "date": run["date"][:DATE], "commit": commit}
    one["from"] = run["command"]
    return {"device": run["device"], "runs": [one], "programs": programs}


def source_of(content: dict[str, Any]) -> str:
    """Return the place and dates of the measurements as one sentence."""
    parts = [
        f"{run['what']} {run['date']}, commit {run['commit']}"
        for run in content["runs"]
    ]
    return f"One {content['device']}; {'; '.join(parts)}."


def table(content: dict[str, Any]) -> str:
    """Return the README's table of programs."""
    lines = [
        f"| times as fast as eager PyTorch | {' | '.join(ARMS)} |",
        "|---|---:|---:|---:|",
    ]
    for program in content["programs"]:
        found = factors(program)
        best = max(found, key=lambda name: found[name])
        cells = [PROGRAMS[program["name"]]]
        for name in ARMS:
            text = number(found[name]) if name in found else ""
            is_best = name == best and found[name] > 1.05
            cells.append(f"**{text}**" if is_best else text)
        lines.append(f"| {' | '.join(cells)} |")
    text = f"{source_of(content)} Empty: not measured."
    return "\n".join([*lines, "", textwrap.fill(text, 100)]) + "\n"


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


def chart(content: dict[str, Any], theme: str) -> str:
    """Return the SVG with a line per program and a mark per arm."""
    dark, faint, arms = THEMES[theme]
    height = TOP + ROW * len(content["programs"]) + BOTTOM
    title = f"Speed over eager PyTorch on one {content['device']}"
    font = f'font-family="{FONT}" font-size="13"'
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>',
        f"<title>{escape(title)}</title>",
        words(12, 22, title, dark, ' font-size="16"'),
        *frame(height - BOTTOM, theme),
    ]
    for index, program in enumerate(content["programs"]):
        y = TOP + ROW * index
        found = factors(program)
        label = PROGRAMS[program["name"]]
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
    lines.append(words(12, height - 6, source_of(content), dark, small))
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
    kept = options.folder / "gains.json"
    content = json.loads((options.run or kept).read_text(encoding="utf-8"))
    if options.run:
        content = taken_from(content, options.commit)
    measured = options.measured.read_text(encoding="utf-8")
    page = options.page.read_text(encoding="utf-8")
    page = put(page, "gains", table(content))
    texts = {options.page: put(page, "queue", queue_table(measured))}
    for theme in THEMES:
        texts[options.folder / f"gains-{theme}.svg"] = chart(content, theme)
    if options.run:
        texts[kept] = json.dumps(content, indent=1) + "\n"
    # Write all files or none. A missing row ends the script before this.
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return 0
