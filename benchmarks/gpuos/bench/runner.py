"""Run one command: measure, print, save."""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

from gpuos.bench import plots, tables
from gpuos.bench.apart import Result
from gpuos.bench.row import Measure, Row, Series
from gpuos.cli.progress import ProgressLine


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Bench(Protocol):
    """An object that measures here or in another process."""

    environment: dict[str, Any]

    def measure(self, measure: Measure, /) -> Result: ...


class Run:
    """Measures and prints row by row, and saves after every measurement."""

    def __init__(self, options: argparse.Namespace, bench: Bench) -> None:
        self.options = options
        self.bench = bench
        self.rows: list[Row] = []
        self.series: dict[str, Series] = {}
        self._view = tables.ASKED if options.asked else tables.SCREEN
        self._line = ProgressLine()
        say(self._view.header(bench.environment))

    def measure(self, measures: Sequence[Measure]) -> None:
        """Fill and print all rows."""
        start = time.monotonic()
        for done, measure in enumerate(measures):
            text = f"measurement {done + 1} of {len(measures)}: {measure.name}"
            if done:  # the expected time of the rest
                each = (time.monotonic() - start) / done
                text += f", about {each * (len(measures) - done):.0f} s left"
            self._line.show(text[: tables.WIDTH - 1])
            rows, series = self.bench.measure(measure)
            self._line.clear()
            self.rows += rows
            self.series |= series
            # An interrupted run keeps its measured rows.
            self._save()
            for row in self._shown(rows):
                say(self._view.row(row))

    def _shown(self, rows: Sequence[Row]) -> list[Row]:
        return [r for r in rows if self.options.asked or tables.is_shown(r)]

    def _save(self) -> None:
        path, environment = self.options.json, self.bench.environment
        if path:
            tables.write_json(path, environment, self.rows, self.series)

    def finish(self) -> int:
        """Write the files and the summary. Return the exit code."""
        self._line.clear()
        self._save()
        say("\n" + tables.summary(self._view, self.rows))
        if self.options.plot and self.series:
            environment = self.bench.environment
            try:
                plots.write_plot(self.options.plot, environment, self.series)
            except ModuleNotFoundError as error:
                say(f"no plot: {error.name} is not installed")
        failed = [r for r in self.rows if r.error and not r.is_unavailable]
        return 1 if failed else 0
