"""`python -m gpuos build-torch`: the bridge to PyTorch, ahead of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gpuos

if TYPE_CHECKING:
    import argparse
    from typing import Any


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "build-torch",
        help="compile the bridge to the PyTorch that is installed",
        description="Compile the bridge that gpuos.torch needs, unless there "
        "is one that fits; else the first scheduler would have it compiled in "
        "the background.",
    )
    parser.set_defaults(function=build)


def build(_arguments: argparse.Namespace) -> int:
    """Compile the bridge unless it exists, and print each step."""
    try:
        from gpuos.torch import building  # noqa: PLC0415 (needs PyTorch)
    except ModuleNotFoundError as error:
        text = f"build-torch: expected PyTorch to be installed: {error}"
        raise gpuos.BackendUnavailable(text) from None
    print(building.build(print))
    return 0
