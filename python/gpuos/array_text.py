"""Format gpuos.Array for repr() and print()."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np

from gpuos import _core

Array = _core.Array


def _shown(x: Array) -> np.ndarray[Any, Any]:
    """Copy x to host memory. Copy only what NumPy prints of a large array."""
    options = np.get_printoptions()
    edge = options["edgeitems"]
    if x.size <= options["threshold"]:
        return x.numpy()
    ends = [
        (slice(edge), slice(-edge, None)) if n > 2 * edge else (slice(None),)
        for n in x.shape
    ]
    shown = np.empty(x.shape, x.dtype)
    for corner in itertools.product(*ends):
        shown[corner] = x[corner].numpy()
    return shown


def values_text(x: Array) -> str:
    """Return the values as repr() shows them."""
    return np.array2string(_shown(x), separator=", ", prefix="gpuos.Array(")


def print_text(x: Array) -> str:
    """Return the values as print() shows them."""
    return str(_shown(x))


def object_text(x: Array) -> str:
    """Return the repr()."""
    is_freed = _core._is_freed(x)
    values = ""
    # An error must not hide the array in a debugger.
    with contextlib.suppress(Exception):
        values = "" if is_freed else f"{values_text(x)}, "
    form = f"shape={x.shape}, dtype={_core._dtype_name(x)}"
    end = ", freed" if is_freed else ""
    return f"gpuos.Array({values}{form}, device={x.device}{end})"
