"""A run in this process; `python -m gpuos bench` begins one of these."""

from __future__ import annotations

import sys

from gpuos.bench import main

if __name__ == "__main__":
    sys.exit(main())
