"""Change shapes by views, or by copies into slices of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.array_functions import axes_of
from gpuos.array_methods import concatenate as _concatenate
from gpuos.array_methods import copy as _copy
from gpuos.array_methods import reshape as _reshape
from gpuos.array_methods import squeeze as _squeeze
from gpuos.array_methods import stack as _stack

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = _core.Array

# ---- Views. NumPy's functions also accept values of fused functions.

_expand: Any = np.expand_dims
_move: Any = np.moveaxis
_grid: Any = np.meshgrid


def expand_dims(x: Array, /, axis: Any) -> Array:
    made: Array = _expand(x, axis)
    return made


def flip(x: Array, /, *, axis: Any = None) -> Array:
    chosen = axes_of(axis, x.ndim)
    backwards = slice(None, None, -1)
    return x[
        tuple(backwards if i in chosen else slice(None) for i in range(x.ndim))
    ]


def matrix_transpose(x: Array, /) -> Array:
    return x.mT


def moveaxis(x: Array, source: Any, destination: Any, /) -> Array:
    made: Array = _move(x, source, destination)
    return made


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    return x.transpose(tuple(axes)) if x.ndim else x[...]


def reshape(x: Array, /, shape: Any, *, copy: Any = None) -> Array:
    if copy is False:
        return x.reshape(shape)
    return _reshape(_copy(x) if copy else x, shape)


def squeeze(x: Array, /, axis: Any) -> Array:
    return _squeeze(x, axis)


# ---- Copies.


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    return np.broadcast_shapes(*shapes)


def broadcast_to(x: Array, /, shape: Any) -> Array:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if broadcast_shapes(x.shape, shape) != shape:
        raise _core.InvalidArgument(
            f"broadcast_to: expected a shape that {x.shape} broadcasts to, "
            f"got {shape}"
        )
    made = x.runtime.empty(shape, x.dtype)
    made[...] = x
    return made


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(
        x if x.shape == shape else broadcast_to(x, shape) for x in arrays
    )


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    return tuple(_grid(*arrays, indexing=indexing))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    return _concatenate(_checked("concat", arrays), axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    return _stack(_checked("stack", arrays), axis)


def _checked(name: str, arrays: Sequence[Array]) -> Sequence[Array]:
    kinds = {type(x).__name__ for x in arrays if not isinstance(x, Array)}
    if not arrays or kinds:
        raise _core.InvalidArgument(
            f"{name}: expected a sequence of gpuos.Array, got "
            f"{', '.join(sorted(kinds)) or 'none'}"
        )
    return arrays
