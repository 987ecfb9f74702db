"""Find the headers and libraries of gpuos, and those of CUDA's wheels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from gpuos import _core


def get_include() -> str:
    """Return the folder for a compiler's ``-I``, with ``gpuos/gpuos.h``."""
    return str(Path(__file__).parent / "include")


def get_library() -> str:
    """Return the path of the shared library, for a linker.

    An extension that links it uses the runtimes of this process. A program
    without Python also needs its folder as a run path.
    """
    version = _core.__version__.rpartition(".")[0]
    return str(Path(_core.__file__).with_name(f"libgpuos.so.{version}"))


def announce_wheels() -> None:
    """Tell the library the folders of the `nvidia` wheels.

    Nothing is loaded from there.
    """
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        _core._add_library_dir(folder)
