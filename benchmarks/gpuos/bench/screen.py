"""Print a row in 80 columns: operation, gpuos, factor, peers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from gpuos.bench.report import number
from gpuos.bench.row import Row

WIDTH, NAME, OURS, FACTOR = 80, 51, 15, 12
INDENT = " " * 4
IN_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
UNITS = {*IN_US, "GB/s", "x", "%"}
FIRST = " first"  # a compiler's first call: no call like the others
TIME_OF_OURS = "ours us"
NOTE = """\
factor: how many times as fast as the best peer, or as what the row's name says;
below 1 the peer is faster. Shorter times are better."""


def is_shown(row: Row) -> bool:
    """Whether there is something to see: a figure, or a failure."""
    is_figure = row.value is not None and bool(row.unit)
    return is_figure or (bool(row.error) and not row.is_unavailable)


def measured_peers(row: Row) -> list[tuple[str, float, str]]:
    """Return name, value and unit of each peer that was there.

    One that took no time at all has nothing to do on this machine.
    """
    found = []
    for name, value in row.peers.items():
        stem, _, last = name.rpartition(" ")
        label, unit = (stem, last) if last in UNITS else (name, row.unit)
        if not isinstance(value, str) and value:
            found.append((label, value, unit))
    return found


def factor(row: Row) -> float | None:
    """Return how much better the row is than its best peer.

    Of a row that is a ratio of times already, that. None if nothing can be
    compared.
    """
    if not row.value:
        return None
    if row.unit == "x":
        return row.value if row.more_is_better else None
    peers = [one for one in measured_peers(row) if FIRST not in one[0]]
    times = [value * IN_US[unit] for _, value, unit in peers if unit in IN_US]
    if row.unit in IN_US:
        ours = row.value * IN_US[row.unit]
        return min(times) / ours if times else None
    alike = [value for _, value, unit in peers if unit == row.unit]
    if not alike or not row.more_is_better:
        return None
    return row.value / max(alike)


def cells(row: Row) -> tuple[str, str, str, str]:
    """Return operation, what gpuos takes, the factor, and peers with a note."""
    if row.error:
        return row.name, "failed", "", row.error
    ours = f"{number(row.value)} {row.unit}"
    if row.unit == "x" and row.more_is_better:
        time = row.also.get(TIME_OF_OURS)
        ours = "" if time is None else f"{number(time)} us"
    times = factor(row)
    text = "" if times is None else f"{number(times)} x"
    peers = ", ".join(
        f"{name} {number(value)} {unit}"
        for name, value, unit in measured_peers(row)
    )
    below = "; ".join(filter(None, (peers, row.note)))
    return row.name, ours, text, below


def _columns(name: str, ours: str, times: str) -> str:
    figures = f"{ours:>{OURS}}{times:>{FACTOR}}"
    if len(name) > NAME:
        return f"{name}\n{'':<{NAME}}{figures}".rstrip()
    return f"{name:<{NAME}}{figures}".rstrip()


def format_row(row: Row) -> str:
    """Return the lines of a row; the peers stand below it."""
    name, ours, times, peers = cells(row)
    below = textwrap.fill(
        peers, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT
    )
    return _columns(name, ours, times) + (f"\n{below}" if below else "")


def format_header(environment: dict[str, Any]) -> str:
    """Return what stands above the rows."""
    parts = [environment["device"], environment["backend"]]
    if environment["driver"] != "none":
        parts.append(f"driver {environment['driver']}")
    where = ", ".join([*parts, environment["date"][:10]])
    head = _columns("operation", "gpuos", "factor") + f"\n{INDENT}peers"
    return f"{where}\n\n{NOTE}\n\n{head}\n{'-' * (NAME + OURS + FACTOR)}"


def markdown(environment: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return the same as Markdown."""
    lines = [
        format_header(environment).partition("\n")[0],
        "",
        f"    {environment['command']}",
        "",
        "| operation | gpuos | factor | peers |",
        "|---|---:|---:|---|",
    ]
    for row in filter(is_shown, rows):
        text = " | ".join(cell.replace("|", "/") for cell in cells(row))
        lines.append(f"| {text} |")
    return "\n".join(lines) + "\n"


def summary(rows: Sequence[Row]) -> str:
    """Return one sentence about what was and what was not measured."""
    absent = [row.name for row in rows if row.is_unavailable]
    failed = [row.name for row in rows if row.error and not row.is_unavailable]
    measured = sum(row.value is not None for row in rows)
    text = f"{measured} measured, {len(failed)} failed"
    if absent:
        text += f", {len(absent)} left out (--asked says why)"
    return text
