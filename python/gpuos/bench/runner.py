"""One run of a command: measure, print, save."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench import report
from gpuos.bench.context import Context, Sizes, host_sizes
from gpuos.bench.plot import write_plot
from gpuos.bench.row import fail_rows, run_measure
from gpuos.bench.watchdog import Watchdog

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from gpuos.bench.row import Measure, Row

LIMIT_S = 90.0


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_context(
    backend: str, device: int, *, quick: bool
) -> tuple[Context, dict[str, Any]]:
    """Return the context of a run and the statistics of its runtime."""
    with gpuos.Runtime(backend, device) as rt:
        why = "needs the cuda backend"
        if backend == "auto" and rt.backend == "host":
            why = _why_no_cuda(device)
        return _context_of(rt, device, why, quick=quick)


def _why_no_cuda(device: int) -> str:
    try:
        gpuos.Runtime("cuda", device).close()
    except gpuos.Error as error:
        return f"no GPU: {error}"
    return "GPUOS_BACKEND asks for the host"


def _context_of(
    rt: gpuos.Runtime, device: int, why: str, *, quick: bool
) -> tuple[Context, dict[str, Any]]:
    sizes = Sizes() if rt.backend == "cuda" else host_sizes()
    if quick:
        sizes = sizes.quick()
    return Context(rt.backend, device, sizes, why), rt.stats()


class Run:
    """Measures, prints as it goes, saves after every row."""

    def __init__(
        self,
        options: argparse.Namespace,
        context: Context,
        environment: dict[str, Any],
    ) -> None:
        self.options = options
        self.context = context
        self.environment = environment
        self.rows: list[Row] = []
        self.current: list[Row] = []

    def measure(self, measures: Sequence[Measure]) -> None:
        """Fill and print the rows."""
        watchdog = Watchdog(LIMIT_S, self.last_words)
        for measure in measures:
            for row in measure.rows:
                row.is_judged = self.context.is_cuda or row.on_host
            self.current = measure.rows
            watchdog.feed()
            start = time.perf_counter()
            run_measure(self.context, measure)
            seconds = time.perf_counter() - start
            for row in measure.rows:
                say(report.format_row(row))
            sys.stderr.write(f"[{measure.name}: {seconds:.1f} s]\n")
            self.rows += measure.rows
            self.current = []
            self.save()
        watchdog.stop()

    def save(self) -> None:
        """Write the JSON file, if one is wanted."""
        if self.options.json:
            rows = self.rows + self.current
            report.write_json(
                self.options.json, self.environment, rows, self.context.series
            )

    def last_words(self, reason: str) -> None:
        """Save what there is, because the process must end."""
        fail_rows(self.current, TimeoutError(reason))
        for row in self.current:
            say(report.format_row(row))
        self.save()

    def finish(self) -> None:
        """Write the other files and the summary."""
        judged = [row for row in self.rows if row.ok is not None]
        good = sum(row.ok is True for row in judged)
        absent = sum(row.is_unavailable for row in self.rows)
        failed = sum(bool(row.error) for row in self.rows) - absent
        say(
            f"\n{good} of {len(judged)} figures as asked, "
            f"{absent} not on this machine, {failed} failed"
        )
        if self.options.markdown:
            text = report.markdown(self.environment, self.rows)
            self.options.markdown.write_text(text)
        if self.options.plot and self.context.series:
            try:
                write_plot(
                    self.options.plot, self.environment, self.context.series
                )
            except ModuleNotFoundError as error:
                say(f"no plot: {error.name} is not installed")

    @property
    def has_failed(self) -> bool:
        """Whether a row that can run here did not."""
        return any(row.error and not row.is_unavailable for row in self.rows)
