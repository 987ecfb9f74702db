"""What a measurement was made with."""

from __future__ import annotations

import datetime as dt
import platform
import sys
from importlib import metadata

import gpuos

PACKAGES = ("numpy", "torch", "cuda-core", "cupy-cuda13x", "cupy-cuda12x")


def describe(
    stats: dict[str, object], command: list[str]
) -> dict[str, str | dict[str, str]]:
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
    driver = ""
    for finding in gpuos.diagnose():
        if finding.what == "driver" and finding.found:
            driver = finding.version
        if finding.what == "nvrtc" and finding.found:
            versions["nvrtc"] = finding.version
    now = dt.datetime.now(dt.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "command": "python -m gpuos bench " + " ".join(command),
        "backend": str(stats["backend"]),
        "device": str(stats["device"]),
        "worker_image": str(stats["worker_image"]),
        "workers": f"{stats['workers']} x {stats['threads_per_worker']} threads",
        "driver": driver or "none",
        "system": f"{platform.system()} {platform.release()}, {sys.platform}",
        "versions": versions,
    }
