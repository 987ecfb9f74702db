"""Find the C++ headers of gpuos."""

from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """Return the folder for a compiler's ``-I``, with ``gpuos/bridge.h``.

    An extension needs it to pass requests to a runtime through the capsule of
    ``gpuos._core._bridge``.
    """
    return str(Path(__file__).parent / "include")
