"""`python -m gpuos info`: what was found where, and what to install."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gpuos

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
    parser.set_defaults(function=main)


def main(_arguments: argparse.Namespace) -> int:
    """Print the table."""
    print(f"gpuos {gpuos.__version__}")
    findings = gpuos.diagnose()
    print(findings)
    if places := findings.places():
        print(places)
    with gpuos.Runtime() as rt:
        stats = rt.stats()
        print(
            f"backend 'auto' is {rt.backend}: {stats['device']}, "
            f"{stats['workers']} workers"
        )
    return 0
