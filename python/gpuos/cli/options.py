"""Arguments that several commands take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add `--backend` and `--device`."""
    parser.add_argument(
        "--backend",
        choices=["auto", "host", "cuda"],
        default="auto",
        help="where to run (default: a GPU if there is one)",
    )
    parser.add_argument(
        "--device", type=int, default=0, metavar="N", help="number of the GPU"
    )
