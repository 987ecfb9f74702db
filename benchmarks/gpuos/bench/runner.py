"""One run of a command: measure, print, save."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import gpuos
from gpuos.bench import plots, tables
from gpuos.bench.apart import LATE, State
from gpuos.bench.context import Context, Sizes, host_sizes
from gpuos.bench.row import Measure, Row, fail_rows, run_measure
from gpuos.cli.progress import ProgressLine
from gpuos.typing import Backend, Stats

PACKAGES = ("numpy", "torch", "cuda-core", "cupy-cuda13x", "cupy-cuda12x")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_context(
    options: argparse.Namespace,
) -> tuple[Context, Stats]:
    """Return the context of a run and the statistics of its runtime."""
    backend: Backend = options.backend
    if options.backend == "cpu":
        backend = "host"
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


def describe(stats: Stats, command: list[str]) -> dict[str, Any]:
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
    """Measures, prints as it goes, saves after every row.

    Parameters
    ----------
    state : State
        What processes before this one have measured.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        context: Context,
        environment: dict[str, Any],
        state: State,
    ) -> None:
        self.options = options
        self.context = context
        self.environment = environment
        self.rows = state.rows
        self.current: list[Row] = []
        self._state = state
        self._view = tables.ASKED if options.asked else tables.SCREEN
        self._line = ProgressLine()
        context.series.update(state.series)
        if not self.rows and not state.died_in:
            say(self._view.header(environment))

    def measure(self, measures: Sequence[Measure]) -> None:
        """Fill and print the rows that no process before this one tried."""
        left = [one for one in measures if one.name not in self._state.done]
        start = time.monotonic()
        for index, measure in enumerate(left):
            if not self._state.is_wanted():
                break
            self._show_progress(measures, left[index:], start)
            self.current = measure.rows
            for row in measure.rows:
                row.is_judged = self.context.is_cuda or row.on_host
            if measure.name == self._state.died_in:
                fail_rows(measure.rows, RuntimeError(self._state.reason))
            else:
                self._run(measure)
            self._line.clear()
            self._keep(measure)

    def _show_progress(
        self, measures: Sequence[Measure], left: Sequence[Measure], start: float
    ) -> None:
        """Say how far it is, and how long the rest takes if it goes on so."""
        done = len(measures) - len(left)
        text = f"measurement {done + 1} of {len(measures)}: {left[0].name}"
        tried = done - len(self._state.before)
        if tried:
            each = (time.monotonic() - start) / tried
            text += f", about {each * len(left):.0f} s left"
        self._line.show(text[: tables.WIDTH - 1])

    def _run(self, measure: Measure) -> None:
        self._state.save(self.rows, self.context.series, measure.name)
        # A call that hangs may have no deadline of its own.
        watchdog = threading.Timer(
            measure.limit_s, self.end, [measure, measure.limit_s]
        )
        watchdog.daemon = True
        watchdog.start()
        try:
            run_measure(self.context, measure)
        finally:
            watchdog.cancel()

    def _keep(self, measure: Measure) -> None:
        self.rows += measure.rows
        self.current = []
        self._state.done.append(measure.name)
        self._state.save(self.rows, self.context.series)
        self.save()
        # Measured rows are saved, whenever the run is interrupted.
        for row in self._shown(measure.rows):
            say(self._view.row(row))

    def _shown(self, rows: Sequence[Row]) -> list[Row]:
        return [r for r in rows if self.options.asked or tables.is_shown(r)]

    def save(self) -> None:
        """Write the JSON file, if one is wanted."""
        if self.options.json:
            rows = self.rows + self.current
            tables.write_json(
                self.options.json, self.environment, rows, self.context.series
            )

    def end(self, measure: Measure, limit_s: float) -> None:
        """Save what there is and end the process."""
        try:
            late = TimeoutError(f"did not end within {limit_s:g} s")
            fail_rows(measure.rows, late)
            self._line.clear()
            self._keep(measure)
        finally:
            os._exit(LATE)  # the other threads may never come back

    def finish(self) -> int:
        """Write the files and the summary; return the exit code."""
        self._line.clear()
        self.save()
        say("\n" + tables.summary(self._view, self.rows))
        if self.options.markdown:
            rows = self._shown(self.rows)
            text = self._view.markdown(self.environment, rows)
            self.options.markdown.write_text(text)
        if self.options.plot and self.context.series:
            try:
                plots.write_plot(
                    self.options.plot, self.environment, self.context.series
                )
            except ModuleNotFoundError as error:
                say(f"no plot: {error.name} is not installed")
        failed = [r for r in self.rows if r.error and not r.is_unavailable]
        return 1 if failed else 0
