"""Lines over sizes and counts, as PNG or SVG: who is faster, where, by how much.

Needs matplotlib. Lines have their names at their ends, not in a legend.
"""

from __future__ import annotations

import importlib
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from gpuos.bench.report import number
from gpuos.bench.row import Series

# The names of our lines in the tables. All others are peers.
OURS = (
    *("resident", "burst", "auto", "interpreted", "compiled"),
    "a cell of a session",
)
# Okabe and Ito's, which the colour-blind tell apart. The first two are ours.
OUR_COLOURS = ("#0072b2", "#56b4e9", "#004a75")
PEER_COLOURS = ("#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000")
MARKERS = "s^Dv*"
NANO = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
WIDTH, HEIGHT = 6.6, 4.4  # inches of one plot
MOST_TICKS, MOST_MARKS = 12, 30
LINE_GAP = 0.05  # of the axes' height, between two names
MINUTE = len("2026-11-26 12:34")


def time_text(value: float, unit: str) -> str:
    """Return "200 ns", "2 us" or "1.5 ms"."""
    ns = value * NANO[unit]
    fitting = [name for name, many in NANO.items() if many <= ns * (1 + 1e-9)]
    best = fitting[-1] if fitting else "ns"
    return f"{number(ns / NANO[best])} {best}"


def pairs(series: Series, name: str) -> dict[int, float]:
    """Return y by x where the line has a value."""
    values = zip(series.x, series.lines[name], strict=False)
    return {x: y for x, y in values if y is not None}


def is_ours(name: str) -> bool:
    """Whether a line is gpuos's."""
    return name in OURS


def best_of(series: Series, *, ours: bool) -> dict[int, tuple[float, str]]:
    """Return the least y and its line's name by x, of our lines or peers'."""
    found: dict[int, tuple[float, str]] = {}
    for name in series.lines:
        if is_ours(name) is ours:
            for x, y in pairs(series, name).items():
                found[x] = min(found.get(x, (y, name)), (y, name))
    return found


def ratios(series: Series) -> dict[int, float]:
    """Return by x how many times as fast as the best peer we are."""
    ours = best_of(series, ours=True)
    theirs = best_of(series, ours=False)
    return {x: theirs[x][0] / ours[x][0] for x in ours if x in theirs}


def title_of(series: Series) -> str:
    """Return what the plot shows, losses too."""
    what = f"{series.y_name}, over {series.x_name}"
    found = ratios(series)
    if not found:
        return what
    names = {name for _, name in best_of(series, ours=False).values()}
    peer = names.pop() if len(names) == 1 else "the best peer"
    least, most = (number(f(found.values())) for f in (min, max))
    span = least if least == most else f"{least} to {most}"
    return f"gpuos {span} x as fast as {peer}\n{what}"


def apart(places: list[float], gap: float) -> list[float]:
    """Return the places moved so that two of them are `gap` apart, or more."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for before, index in pairwise(order):
        moved[index] = max(moved[index], moved[before] + gap)
    # Half of what the topmost was moved: the group stays where it was.
    if order:
        shift = (moved[order[-1]] - places[order[-1]]) / 2
        moved = [place - shift for place in moved]
    return moved


def ticks_of(x: list[int]) -> list[int]:
    """Return where an axis has numbers: everywhere, or at some of many."""
    if len(x) <= MOST_TICKS:
        return x
    wanted = [many * 10**k for k in range(10) for many in (1, 2, 5)]
    return [value for value in wanted if min(x) <= value <= max(x)]


def _style(names: list[str]) -> dict[str, dict[str, Any]]:
    ours, peers, markers = map(cycle, (OUR_COLOURS, PEER_COLOURS, MARKERS))
    styles = {}
    for name in names:
        if is_ours(name):
            styles[name] = {"color": next(ours), "marker": "o", "lw": 2.6}
        else:
            marker = next(markers)
            styles[name] = {"color": next(peers), "marker": marker, "lw": 1.4}
    return styles


def _draw(axes: Any, series: Series) -> None:
    ticker = importlib.import_module("matplotlib.ticker")
    unit = series.y_name.partition(" ")[0]
    styles = _style(list(series.lines))
    drawn = [name for name in series.lines if pairs(series, name)]
    for name in drawn:
        points = pairs(series, name)
        size = 5 if len(points) <= MOST_MARKS else 0
        axes.plot([*points], [*points.values()], ms=size, **styles[name])
    axes.set(xscale="log", yscale="log", xlabel=series.x_name)
    axes.set_title(title_of(series), loc="left", fontsize=11)
    ticks = ticks_of(series.x)
    axes.set_xticks(ticks, [f"{x:,}" for x in ticks], rotation=30, ha="right")
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    subs = (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=subs, numticks=12))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    if unit in NANO:
        text = ticker.FuncFormatter(lambda y, _: time_text(y, unit))
        axes.yaxis.set_major_formatter(text)
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    _name_lines(axes, series, drawn, styles)
    _mark_factor(axes, series)


def _name_lines(
    axes: Any, series: Series, drawn: list[str], styles: dict[str, Any]
) -> None:
    # The last point of each, as a part of the axes' height.
    to_axes = axes.transScale + axes.transLimits
    ends = [list(pairs(series, name).items())[-1] for name in drawn]
    heights = [float(to_axes.transform(end)[1]) for end in ends]
    for name, height in zip(drawn, apart(heights, LINE_GAP), strict=True):
        axes.annotate(
            f"gpuos, {name}" if is_ours(name) else name,
            (1.01, height),
            xycoords="axes fraction",
            va="center",
            color=styles[name]["color"],
            weight="bold" if is_ours(name) else "normal",
            fontsize=9,
        )


def _mark_factor(axes: Any, series: Series) -> None:
    """Draw a bar between us and the best peer where x is largest."""
    found = ratios(series)
    if not found:
        return
    x = max(found)
    ends = best_of(series, ours=True)[x][0], best_of(series, ours=False)[x][0]
    axes.plot([x, x], ends, color="#666666", lw=1, ls=":", marker="_")
    axes.annotate(
        f"{number(found[x])} x",
        (x, (ends[0] * ends[1]) ** 0.5),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        color="#444444",
        fontsize=9,
    )


def write_plot(
    path: Path, environment: dict[str, Any], series: dict[str, Series]
) -> None:
    """Draw each series beside the others; the path's end says the format.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    matplotlib = importlib.import_module("matplotlib.figure")
    count = len(series)
    figure = matplotlib.Figure(figsize=(WIDTH * count, HEIGHT))
    figure.subplots_adjust(
        left=0.6 / WIDTH / count + 0.02,
        right=1 - 1.35 / WIDTH / count,
        wspace=0.6,
        bottom=0.2,
        top=0.84,
    )
    date = environment["date"][:MINUTE].replace("T", " ")
    text = f"{environment['device']}, {date}"
    figure.text(0.01, 0.015, text, fontsize=8, color="#555555")
    for index, one in enumerate(series.values()):
        _draw(figure.add_subplot(1, count, index + 1), one)
    figure.savefig(path, dpi=120)
