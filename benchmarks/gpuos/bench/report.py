"""A run's rows beside what is asked: a table, Markdown, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # scripts/measurements_table runs this file by itself
    from gpuos.bench.row import Row, Series

JUDGEMENT = {True: "yes", False: "NO", None: "-"}


def number(value: float | str | None) -> str:
    """Return three digits that count, such as "5.81", "0.0312" or "3,180"."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def asked(row: Row) -> str:
    """Return "<= 8", or "" if nothing is asked."""
    if row.asked is None:
        return ""
    return f"{'>=' if row.more_is_better else '<='} {number(row.asked)}"


def details(row: Row) -> str:
    """Return peers, other modes and the note as one line."""
    if row.error:
        return row.error
    text = "; ".join(f"{k} {number(v)}" for k, v in row.peers.items())
    also = ", ".join(f"{k} {number(v)}" for k, v in row.also.items())
    return " | ".join(part for part in (text, also, row.note) if part)


def line(row: Row) -> tuple[str, str, str, str, str]:
    """Return the columns of a row."""
    measured = f"{number(row.value)} {row.unit}".strip()
    return row.name, measured, asked(row), JUDGEMENT[row.ok], details(row)


HEADER = ("figure", "measured", "asked", "ok", "peers | also | note")


def format_row(row: Row) -> str:
    """Return the lines of the terminal's table for one row."""
    name, measured, limit, judgement, more = line(row)
    text = f"{name:<50} {measured:>14} {limit:>9} {judgement:>4}"
    return text + (f"\n      {more}" if more else "")


def format_header(environment: dict[str, Any]) -> str:
    """Return what stands above the terminal's table."""
    name, measured, limit, judgement, more = HEADER
    head = f"{name:<50} {measured:>14} {limit:>9} {judgement:>4}\n      {more}"
    return (
        f"{environment['device']} ({environment['backend']}), "
        f"driver {environment['driver']}, {environment['date']}\n\n{head}"
    )


def summary(rows: Sequence[Row]) -> str:
    """Return one sentence: how many figures are as asked, and what is none."""
    judged = [row for row in rows if row.ok is not None]
    good = sum(row.ok is True for row in judged)
    absent = sum(row.is_unavailable for row in rows)
    failed = sum(bool(row.error) for row in rows) - absent
    return (
        f"{good} of {len(judged)} figures as asked, "
        f"{absent} not on this machine, {failed} failed"
    )


def markdown(environment: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return a section of Markdown with all that was measured."""
    versions = ", ".join(f"{k} {v}" for k, v in environment["versions"].items())
    head = (
        f"{environment['device']}, driver {environment['driver']}, "
        f"{environment['date']}; {versions}; "
        f"{environment['workers']}, worker image {environment['worker_image']}."
    )
    lines = [
        head,
        "",
        f"    {environment['command']}",
        "",
        "| figure | measured | asked | ok | peers; also; note |",
        "|---|---:|---:|---|---|",
    ]
    for row in rows:
        cells = [cell.replace(" | ", "; ") for cell in line(row)]
        lines.append(
            "| " + " | ".join(c.replace("|", "/") for c in cells) + " |"
        )
    return "\n".join(lines) + "\n"


def write_json(
    path: Path,
    environment: dict[str, Any],
    rows: Sequence[Row],
    series: dict[str, Series],
) -> None:
    """Write everything that was measured so far."""
    content = {
        **environment,
        "rows": [row.to_dict() for row in rows],
        "series": {name: asdict(s) for name, s in series.items()},
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
