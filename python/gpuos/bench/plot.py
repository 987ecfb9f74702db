"""The lines of a run as a PNG."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gpuos.bench.row import Series


def write_plot(
    path: Path, environment: dict[str, Any], series: dict[str, Series]
) -> None:
    """Draw each series beside the others.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    matplotlib = importlib.import_module("matplotlib.figure")
    size = (5.5 * len(series), 4.5)
    figure = matplotlib.Figure(figsize=size, layout="constrained")
    agg.FigureCanvasAgg(figure)
    figure.suptitle(f"{environment['device']}, {environment['date'][:10]}")
    for index, one in enumerate(series.values()):
        axes = figure.add_subplot(1, len(series), index + 1)
        for name, values in one.lines.items():
            points = [
                (x, y)
                for x, y in zip(one.x, values, strict=False)
                if y is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.set(
            xscale="log", yscale="log", xlabel=one.x_name, ylabel=one.y_name
        )
        axes.grid(visible=True, which="both", alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)
