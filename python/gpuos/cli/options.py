"""Parses arguments that several commands take."""

from __future__ import annotations

import argparse
import math

import gpuos

MIB = 1 << 20
# More bytes than any disk or memory has, and what C++ can count.
MOST_MIB = (1 << 62) // MIB


class KeepsLines(argparse.HelpFormatter):
    """Leaves a text of several lines as it is, such as an example."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def bad_input(text: str) -> gpuos.InvalidArgument:
    """Return the error that ends a command with exit code 2."""
    return gpuos.InvalidArgument(text)


def number_of_bytes(option: str, mib: float, least: float = 0) -> int:
    """Return the bytes of `mib` MiB; refuse an invalid size."""
    if not least <= mib <= MOST_MIB:
        message = f"{option}: expected {least} to {MOST_MIB} MiB, got {mib}"
        raise bad_input(message)
    return int(mib * MIB)


def number_of_seconds(option: str, seconds: float) -> float:
    """Return `seconds`; refuse an invalid duration."""
    if not (seconds > 0 and math.isfinite(seconds)):
        message = f"{option}: expected more than 0 seconds, got {seconds}"
        raise bad_input(message)
    return seconds


def device_number(text: str) -> int:
    """Return the number of a device, which C++ takes as an int."""
    number = int(text)
    if not 0 <= number < 1 << 31:
        message = f"expected a number of 0 or more, got {text}"
        raise argparse.ArgumentTypeError(message)
    return number


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add `--backend` and `--device`."""
    parser.add_argument(
        "--backend",
        choices=["auto", "host", "cuda"],
        default="auto",
        help="where to run (default: a GPU if there is one)",
    )
    parser.add_argument(
        "--device",
        type=device_number,
        default=0,
        metavar="N",
        help="number of the GPU",
    )
