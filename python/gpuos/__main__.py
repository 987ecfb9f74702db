"""`python -m gpuos`."""

from __future__ import annotations

import sys

from gpuos.cli import main

if __name__ == "__main__":
    sys.exit(main())
