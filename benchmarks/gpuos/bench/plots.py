"""Draw lines over sizes and counts, as PNG or SVG, with matplotlib."""

import importlib
from itertools import cycle
from pathlib import Path
from typing import Any

from gpuos.bench.row import Series
from gpuos.bench.tables import number

# The tables name our lines so. All other lines are peers.
OURS = (
    *("resident", "burst", "auto", "interpreted", "compiled"),
    "a cell of a session",
)
# Okabe and Ito's palette, which the colour-blind can distinguish. The first
# three colours are ours.
OUR_COLOURS = ("#0072b2", "#56b4e9", "#004a75")
PEER_COLOURS = ("#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000")
MARKERS = "s^Dv*"
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
WIDTH, HEIGHT = 6.6, 4.4  # one plot, in inches
MOST_MARKS = 30
MINUTE = len("2026-11-26 12:34")


def best_of(series: Series, *, ours: bool) -> dict[int, tuple[float, str]]:
    """Return the least y and its line's name for each x, of us or of peers."""
    found: dict[int, tuple[float, str]] = {}
    for name, line in series.lines.items():
        for x, y in zip(series.x, line, strict=False):
            if (name in OURS) is ours and y is not None:
                found[x] = min(found.get(x, (y, name)), (y, name))
    return found


def title_of(series: Series) -> str:
    """Return the plot's summary, including losses."""
    what = f"{series.y_name}, over {series.x_name}"
    ours = best_of(series, ours=True)
    theirs = best_of(series, ours=False)
    found = [theirs[x][0] / ours[x][0] for x in ours if x in theirs]
    if not found:
        return what
    names = {name for _, name in theirs.values()}
    peer = names.pop() if len(names) == 1 else "the best peer"
    least, most = (number(f(found)) for f in (min, max))
    span = least if least == most else f"{least} to {most}"
    return f"gpuos {span} x as fast as {peer}\n{what}"


def _draw(axes: Any, series: Series) -> None:
    unit = SECONDS.get(series.y_name.partition(" ")[0])
    ours, peers, markers = map(cycle, (OUR_COLOURS, PEER_COLOURS, MARKERS))
    for name, line in series.lines.items():
        points = [
            (x, y * (unit or 1.0))
            for x, y in zip(series.x, line, strict=False)
            if y is not None
        ]
        style: dict[str, Any] = {"ms": 5 if len(points) <= MOST_MARKS else 0}
        if name in OURS:
            style |= {"color": next(ours), "marker": "o", "lw": 2.6}
            style["label"] = f"gpuos, {name}"
        else:
            style |= {"color": next(peers), "marker": next(markers), "lw": 1.4}
            style["label"] = name
        if points:
            axes.plot(*zip(*points, strict=True), **style)
    axes.set(xscale="log", yscale="log", xlabel=series.x_name)
    axes.set_title(title_of(series), loc="left", fontsize=11)
    if unit:
        ticker = importlib.import_module("matplotlib.ticker")
        axes.yaxis.set_major_formatter(ticker.EngFormatter("s"))
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def write_plot(
    path: Path, environment: dict[str, Any], series: dict[str, Series]
) -> None:
    """Draw the series side by side. The path's suffix decides the format.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    matplotlib = importlib.import_module("matplotlib.figure")
    size = (WIDTH * len(series), HEIGHT)
    figure = matplotlib.Figure(figsize=size, layout="constrained")
    plots = figure.subplots(1, len(series), squeeze=False)[0]
    for axes, one in zip(plots, series.values(), strict=True):
        _draw(axes, one)
    date = environment["date"][:MINUTE].replace("T", " ")
    figure.supxlabel(f"{environment['device']}, {date}", fontsize=8)
    figure.savefig(path, dpi=120)
