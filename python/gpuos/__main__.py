"""`python -m gpuos`, and the command `gpuos`."""

from __future__ import annotations

import io
import sys

from gpuos.cli import main


def command() -> int:
    """Run the command line of this process and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files need not be text; standard error does the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    return main()


if __name__ == "__main__":
    sys.exit(command())
