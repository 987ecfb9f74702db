"""`python -m gpuos bench`: measure this machine."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench import report
from gpuos.bench.context import Context, Sizes, host_sizes
from gpuos.bench.environment import describe
from gpuos.bench.measures import queue_measures
from gpuos.bench.plot import write_plot
from gpuos.bench.row import fail_rows, run_measure
from gpuos.bench.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gpuos.bench.row import Measure, Row

LIMIT_S = 90.0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `bench`."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuos bench", description="Measure this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    queue = commands.add_parser(
        "queue",
        help="the queue against launches, graphs, PyTorch, CuPy and NumPy",
        description="Measure the queue; peers are measured in the same run.",
    )
    names = [measure.name for measure in queue_measures()]
    queue.add_argument(
        "--backend", choices=["auto", "host", "cuda"], default="auto"
    )
    queue.add_argument("--device", type=int, default=0, metavar="N")
    queue.add_argument("--quick", action="store_true", help="fewer repetitions")
    queue.add_argument(
        "--only",
        nargs="+",
        choices=names,
        metavar="NAME",
        help="some measurements: " + ", ".join(names),
    )
    for name, what in (
        ("json", "everything, for programs"),
        ("plot", "a PNG of time over size and batch"),
        ("markdown", "the table for docs/measurements.md"),
    ):
        queue.add_argument(
            f"--{name}", type=Path, metavar="PATH", help=f"write {what}"
        )
    return parser


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
                _say(report.format_row(row))
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
            _say(report.format_row(row))
        self.save()

    def finish(self) -> None:
        """Write the other files and the summary."""
        judged = [row for row in self.rows if row.ok is not None]
        good = sum(row.ok is True for row in judged)
        absent = sum(row.is_unavailable for row in self.rows)
        failed = sum(bool(row.error) for row in self.rows) - absent
        _say(
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
                _say(f"no plot: {error.name} is not installed")

    @property
    def has_failed(self) -> bool:
        """Whether a row that can run here did not."""
        return any(row.error and not row.is_unavailable for row in self.rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `bench`; return 0, or 1 if a row failed (not if it is slow)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = make_parser().parse_args(arguments)
    # What an earlier run compiled would count as compiled now.
    os.environ["GPUOS_CACHE_DIR"] = "off"
    context, stats = make_context(
        options.backend, options.device, quick=options.quick
    )
    environment = describe(stats, arguments)
    measures = [
        measure
        for measure in queue_measures()
        if not options.only or measure.name in options.only
    ]
    _say(report.format_header(environment))
    run = Run(options, context, environment)
    run.measure(measures)
    run.finish()
    return 1 if run.has_failed else 0
