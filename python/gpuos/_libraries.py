"""Tell the compiled part where the wheels' CUDA libraries are."""

from __future__ import annotations

import importlib.util

from gpuos import _core


def announce() -> None:
    """Announce the folders of the `nvidia` wheels without loading them."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        _core._add_library_dir(folder)
