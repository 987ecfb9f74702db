"""Show rows as tables for a terminal, and as JSON.

The same rows have two tables. `SCREEN` compares with peers. `ASKED` compares
with the targets, and also shows rows without a value.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # scripts/figures runs only this file
    from gpuos.bench.row import Row, Series

WIDTH = 80
IN_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
UNITS = {*IN_US, "GB/s", "x", "%"}
FIRST = " first"  # a compiler's first call is unlike the others
TIME_OF_OURS = "ours us"
JUDGEMENT = {True: "yes", False: "NO", None: "-"}
NOTE = """\
factor: how many times as fast as the best peer, or as what the row's name says;
below 1 the peer is faster. Shorter times are better.

"""


def number(value: float | str | None) -> str:
    """Format three significant digits: "5.81", "0.0312" or "3,180"."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_shown(row: Row) -> bool:
    """Return whether the row has a value or a failure to show."""
    is_figure = row.value is not None and bool(row.unit)
    return is_figure or (bool(row.error) and not row.is_unavailable)


def measured_peers(row: Row) -> list[tuple[str, float, str]]:
    """Return the name, value and unit of each available peer.

    A peer without any time has no work on this machine.
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

    A row may already be a ratio of times. It is then its own factor. The result
    is None if nothing can be compared.
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


def screen_cells(row: Row) -> tuple[str, ...]:
    """Return the operation, gpuos' time, the factor, and peers with a note."""
    if row.error:
        return row.name, "failed", "", row.error
    ours = f"{number(row.value)} {row.unit}"
    if row.unit == "x" and row.more_is_better:
        time = row.also.get(TIME_OF_OURS)
        ours = "" if time is None else f"{number(time)} us"
    times = factor(row)
    peers = ", ".join(
        f"{name} {number(value)} {unit}"
        for name, value, unit in measured_peers(row)
    )
    below = "; ".join(filter(None, (peers, row.note)))
    return row.name, ours, "" if times is None else f"{number(times)} x", below


def asked_cells(row: Row) -> tuple[str, ...]:
    """Return name, value, limit, judgement, and peers with modes and note."""
    limit = ""
    if row.asked is not None:
        limit = f"{'>=' if row.more_is_better else '<='} {number(row.asked)}"
    peers = "; ".join(f"{k} {number(v)}" for k, v in row.peers.items())
    also = ", ".join(f"{k} {number(v)}" for k, v in row.also.items())
    below = " | ".join(filter(None, (peers, also, row.note)))
    measured = f"{number(row.value)} {row.unit}".strip()
    return row.name, measured, limit, JUDGEMENT[row.ok], row.error or below


@dataclass(frozen=True)
class View:
    """A kind of table. A terminal shows the last column below a row."""

    heads: tuple[str, ...]
    widths: tuple[int, ...]
    cells: Callable[[Row], tuple[str, ...]]
    note: str = ""

    def lines(self, *cells: str) -> str:
        """Return cells as lines for a terminal."""
        name, *figures, below = cells
        first, *others = self.widths
        text = "".join(
            f"{cell:>{width}}"
            for cell, width in zip(figures, others, strict=True)
        )
        if len(name) > first:
            name += "\n" + first * " "
        indent = 4 * " "
        below = textwrap.fill(
            below, WIDTH, initial_indent=indent, subsequent_indent=indent
        )
        lines = f"{name:<{first}}{text}".rstrip()
        return f"{lines}\n{below}" if below else lines

    def row(self, row: Row) -> str:
        """Return the lines of a row, with the peers below it."""
        return self.lines(*self.cells(row))

    def header(self, environment: dict[str, Any]) -> str:
        """Return the header for a terminal."""
        where = f"{where_of(environment)}, {environment['date'][:10]}"
        head = f"{where}\n\n{self.note}{self.lines(*self.heads)}"
        return f"{head}\n{'-' * sum(self.widths)}"


def where_of(environment: dict[str, Any]) -> str:
    """Return the device, its backend and its driver."""
    parts = [environment["device"], environment["backend"]]
    if environment["driver"] != "none":
        parts.append(f"driver {environment['driver']}")
    return ", ".join(parts)


SCREEN = View(
    ("operation", "gpuos", "factor", "peers"), (51, 15, 12), screen_cells, NOTE
)
ASKED = View(
    ("figure", "measured", "asked", "ok", "peers | also | note"),
    (50, 15, 10, 5),
    asked_cells,
)


def summary(view: View, rows: Sequence[Row]) -> str:
    """Return one sentence about the measured and missing rows."""
    absent = sum(row.is_unavailable for row in rows)
    failed = sum(bool(row.error) for row in rows) - absent
    if view is SCREEN:
        measured = sum(row.value is not None for row in rows)
        text = f"{measured} measured, {failed} failed"
        more = f", {absent} left out (--asked says why)"
        return text + (more if absent else "")
    judged = [row.ok for row in rows if row.ok is not None]
    return (
        f"{sum(judged)} of {len(judged)} figures as asked, "
        f"{absent} not on this machine, {failed} failed"
    )


def write_json(
    path: Path,
    environment: dict[str, Any],
    rows: Sequence[Row],
    series: dict[str, Series],
) -> None:
    """Write all rows so far."""
    content = {
        **environment,
        "rows": [row.to_dict() for row in rows],
        "series": {name: asdict(s) for name, s in series.items()},
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
