"""Measure a command in this process, and describe the process."""

import contextlib
import datetime as dt
import importlib.util
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import gpuos
from gpuos.bench import context
from gpuos.bench.apart import Result
from gpuos.bench.command import make_parser
from gpuos.bench.row import Measure, run_measure
from gpuos.bench.runner import say
from gpuos.typing import Backend, Stats

PACKAGES = (
    *("numpy", "torch", "cuda-core", "cupy-cuda13x", "cupy-cuda12x"),
    *("transformers", "torchdiffeq", "torchmetrics"),
)


class Here:
    """Measures the rows that the words after `bench` name.

    Parameters
    ----------
    arguments : sequence of str
        After `python -m gpuos bench`.

    Raises
    ------
    gpuos.Error
        The backend or device does not exist.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        options = make_parser().parse_args(arguments)
        backend: Backend = options.backend
        if options.backend == "cpu":
            backend = "host"
        with gpuos.Runtime(backend, options.device) as rt:
            stats, found = rt.stats(), rt.backend
        why = "needs the cuda backend"
        if backend == "auto" and found == "host":
            why = _why_no_cuda(options.device)
        is_cuda = found == "cuda"
        sizes = context.Sizes() if is_cuda else context.host_sizes()
        sizes = sizes.quick() if options.quick else sizes
        if options.no_compile:
            sizes = replace(sizes, torch_compiles=False)
        if options.cells:
            sizes = replace(sizes, session_cells=options.cells)
        self.context = context.Context(
            found, options.device, sizes, why, options.arch
        )
        self.environment = describe(stats, arguments)
        self.measures = {one.name: one for one in options.chosen.measures()}
        if options.chosen.name == "torch":
            _compile_bridge()

    def measure(self, measure: Measure) -> Result:
        """Return the rows of one measurement, and all plots' lines so far."""
        for row in measure.rows:
            row.is_judged = self.context.is_cuda or row.on_host
        run_measure(self.context, measure)
        return measure.rows, self.context.series

    def close(self) -> None:
        """Do nothing, because there is no other process."""


def _why_no_cuda(device: int) -> str:
    try:
        gpuos.Runtime("cuda", device).close()
    except gpuos.Error as error:
        return f"no GPU: {error}"
    return "GPUOS_BACKEND asks for the host"


def _compile_bridge() -> None:
    # It takes minutes, once. A row that waits for it would exceed its limit.
    if importlib.util.find_spec("torch") is None:
        return
    # The rows report missing parts.
    with contextlib.suppress(gpuos.Error):
        importlib.import_module("gpuos.torch").build(say)


def describe(stats: Stats, command: Sequence[str]) -> dict[str, Any]:
    """Return date, device, driver, versions and command.

    Parameters
    ----------
    stats : dict
        The stats of a runtime of this run.
    command : sequence of str
        After `python -m gpuos bench`.
    """
    versions = {"gpuos": gpuos.__version__, "python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
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
