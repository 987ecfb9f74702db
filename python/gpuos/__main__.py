"""Run `python -m gpuos` and the command `gpuos`."""

from __future__ import annotations

import io
import sys

from gpuos.cli import main


def command() -> int:
    """Run the command line of this process and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may not be valid text. Standard error escapes them too.
        sys.stdout.reconfigure(errors="backslashreplace")
    return main()


if __name__ == "__main__":
    sys.exit(command())
