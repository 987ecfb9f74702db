"""The module path of the programs that tests start."""

from __future__ import annotations

import os
from pathlib import Path


def python_path(*folders: Path) -> str:
    """Return a PYTHONPATH of folders, followed by that of this process.

    The latter may be needed to find gpuos.
    """
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [*map(str, folders), *filter(None, found)]
    return os.pathsep.join(dict.fromkeys(paths))
