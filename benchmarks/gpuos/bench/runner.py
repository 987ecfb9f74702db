"""One run of a command: measure, print, save."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import gpuos
from gpuos.bench import report
from gpuos.bench.context import Context, Sizes, host_sizes
from gpuos.bench.row import Measure, Row, fail_rows, run_measure
from gpuos.bench.timing import seconds

EXIT_CODE = 3  # of a run that hangs
PACKAGES = ("numpy", "torch", "cuda-core", "cupy-cuda13x", "cupy-cuda12x")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_context(
    options: argparse.Namespace,
) -> tuple[Context, dict[str, Any]]:
    """Return the context of a run and the statistics of its runtime."""
    backend = "host" if options.backend == "cpu" else options.backend
    with gpuos.Runtime(backend, options.device) as rt:
        why = "needs the cuda backend"
        if backend == "auto" and rt.backend == "host":
            why = _why_no_cuda(options.device)
        sizes = Sizes() if rt.backend == "cuda" else host_sizes()
        sizes = sizes.quick() if options.quick else sizes
        if options.no_compile:
            sizes = replace(sizes, torch_compiles=False)
        if options.cells:
            sizes = replace(sizes, session_cells=options.cells)
        made = Context(rt.backend, options.device, sizes, why, options.arch)
        return made, rt.stats()


def _why_no_cuda(device: int) -> str:
    try:
        gpuos.Runtime("cuda", device).close()
    except gpuos.Error as error:
        return f"no GPU: {error}"
    return "GPUOS_BACKEND asks for the host"


def describe(stats: dict[str, Any], command: list[str]) -> dict[str, Any]:
    """Return date, device, driver, versions and command.

    Parameters
    ----------
    stats : dict
        Of a runtime of this run.
    command : list of str
        After `python -m gpuos bench`.
    """
    versions = {"gpuos": gpuos.__version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    found = {f.what: f.version for f in gpuos.diagnose() if f.found}
    if "nvrtc" in found:
        versions["nvrtc"] = found["nvrtc"]
    now = dt.datetime.now(dt.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "command": "python -m gpuos bench " + " ".join(command),
        "backend": str(stats["backend"]),
        "device": str(stats["device"]),
        "worker_image": str(stats["worker_image"]),
        "workers": f"{stats['workers']} x {stats['threads_per_worker']} threads",
        "driver": found.get("driver") or "none",
        "system": f"{platform.system()} {platform.release()}, {sys.platform}",
        "versions": versions,
    }


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
        for measure in measures:
            self.current = measure.rows
            for row in measure.rows:
                row.is_judged = self.context.is_cuda or row.on_host
            # A call that hangs may have no deadline of its own.
            watchdog = threading.Timer(
                measure.limit_s, self.end, [measure.limit_s]
            )
            watchdog.daemon = True
            watchdog.start()
            took = seconds(lambda one=measure: run_measure(self.context, one))  # type: ignore[misc]
            watchdog.cancel()
            for row in measure.rows:
                say(report.format_row(row))
            sys.stderr.write(f"[{measure.name}: {took:.1f} s]\n")
            self.rows += measure.rows
            self.current = []
            self.save()

    def save(self) -> None:
        """Write the JSON file, if one is wanted."""
        if self.options.json:
            rows = self.rows + self.current
            report.write_json(
                self.options.json, self.environment, rows, self.context.series
            )

    def end(self, limit_s: float) -> None:
        """Save what there is and end the process."""
        try:
            late = TimeoutError(f"did not end within {limit_s:g} s")
            fail_rows(self.current, late)
            for row in self.current:
                say(report.format_row(row))
            self.save()
        finally:
            os._exit(EXIT_CODE)  # the other threads may never come back

    def finish(self) -> int:
        """Write the other files and the summary; return the exit code."""
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
                report.write_plot(
                    self.options.plot, self.environment, self.context.series
                )
            except ModuleNotFoundError as error:
                say(f"no plot: {error.name} is not installed")
        return 1 if failed else 0
