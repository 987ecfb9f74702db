"""`python -m gpuos`."""

from __future__ import annotations

import io
import sys

from gpuos.cli import main

if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files need not be text; standard error does the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())
