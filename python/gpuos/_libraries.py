"""Tells the compiled part where the wheels' CUDA libraries are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from gpuos import _core


def folders() -> list[str]:
    """Return the library folders of the `nvidia` wheels, best first.

    Newer wheels share one folder for each CUDA version (nvidia/cu13/lib),
    older ones have one for each library (nvidia/cuda_nvrtc/lib).
    """
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    found = [
        folder
        for place in spec.submodule_search_locations
        for folder in Path(place).glob("*/lib")
    ]
    found.sort(key=lambda folder: folder.parent.name, reverse=True)
    found.sort(key=lambda folder: not folder.parent.name.startswith("cu1"))
    return [str(folder) for folder in found]


def announce() -> None:
    """Announce every folder; nothing is loaded before it is needed."""
    for folder in folders():
        _core._add_library_dir(folder)
