"""Where the programs that tests start look for modules."""

from __future__ import annotations

import os
from pathlib import Path


def python_path(*folders: Path) -> str:
    """Return a PYTHONPATH of folders, followed by the one of this process.

    Without the latter, a gpuos that is found through it would be lost.
    """
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [*map(str, folders), *filter(None, found)]
    return os.pathsep.join(dict.fromkeys(paths))
