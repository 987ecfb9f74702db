"""`python -m gpuos info`: shows which libraries were found or are missing."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from typing import TYPE_CHECKING

import gpuos
from gpuos import choosing
from gpuos.diagnosis import wrapped

if TYPE_CHECKING:
    import argparse
    from typing import Any


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "info",
        help="devices, driver, compilers and headers: found where, or what to "
        "install",
        description="Show what gpuos finds on this machine and where; for "
        "what is missing, what to install.",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="all that a report of a bug needs, as one JSON object",
    )
    parser.set_defaults(function=main)


# gpuos computes with these packages, or finds NVRTC in them.
PACKAGES = (
    *("numpy", "ml_dtypes", "torch", "cupy", "numba"),
    *("nvidia-cuda-nvrtc", "nvidia-nvjitlink"),
    *("nvidia-cuda-nvrtc-cu12", "nvidia-nvjitlink-cu12"),
)
# Variables that select libraries, compiler and processors, except GPUOS_* and
# CUDA_*.
VARIABLES = ("CXX", "LD_LIBRARY_PATH", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS")
FINDING = ("what", "found", "version", "where", "hint", "searched")


def version_of(package: str) -> str | None:
    """Return the version that is installed, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def report() -> dict[str, Any]:
    """Return versions, findings and a runtime for a bug report."""
    runtime: dict[str, Any]
    try:
        with gpuos.Runtime() as rt:
            runtime = dict(rt.stats())
    except gpuos.Error as error:
        runtime = {"error": f"{type(error).__name__}: {error}"}
    return {
        "gpuos": gpuos.__version__,
        "python": sys.version,
        "executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "processors": os.cpu_count(),
        "packages": {name: version_of(name) for name in PACKAGES},
        "environment": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(("GPUOS_", "CUDA_")) or name in VARIABLES
        },
        "findings": [
            {name: getattr(finding, name) for name in FINDING}
            for finding in gpuos.diagnose()
        ],
        "runtime": runtime,
        "torch": state_of_torch(),
    }


def state_of_torch() -> str:
    """Return which bridge `gpuos.torch` uses here."""
    if version_of("torch") is None:
        return "none: PyTorch is not installed"
    try:
        return choosing.describe()
    except (OSError, ValueError) as error:
        return f"none: PyTorch is damaged: {error}"


def main(arguments: argparse.Namespace) -> int:
    """Print the table, or the report."""
    if arguments.json:
        print(json.dumps(report(), indent=2, default=str))
        return 0
    print(f"gpuos {gpuos.__version__}")
    findings = gpuos.diagnose()
    print(findings)
    if places := findings.places():
        print(places)
    with gpuos.Runtime() as rt:
        stats = rt.stats()
        print(
            wrapped(
                f"backend 'auto' is {rt.backend}: {stats['device']}, "
                f"{stats['workers']} workers"
            )
        )
    print(wrapped(f"bridge to PyTorch: {state_of_torch()}"))
    return 0
