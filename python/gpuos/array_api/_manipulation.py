"""Other shapes: views where they can be, else copies into slices of a result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.array_methods import concatenate as _concatenate
from gpuos.array_methods import copy as _copy
from gpuos.array_methods import reshape as _reshape
from gpuos.array_methods import squeeze as _squeeze
from gpuos.array_methods import stack as _stack

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = _core.Array

# ---- Views, of the values of fused functions too where NumPy's are.

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


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    (axis,) = axes_of(axis, x.ndim)
    before: tuple[Any, ...] = (slice(None),) * axis
    places = ((*before, i) for i in range(x.shape[axis]))
    return tuple(x[place] for place in places)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes from 0 on; None is all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    for one in axes:
        if not -ndim <= one < ndim:
            raise _core.InvalidArgument(
                f"axis: expected an axis of {ndim}, got {one}"
            )
    return tuple(one % ndim for one in axes)


def along(axis: int, begin: int, end: int | None) -> tuple[slice, ...]:
    """Return the index of a part of one axis, which counts from 0."""
    return (*(slice(None),) * axis, slice(begin, end))


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


def repeat(x: Array, repeats: Any, /, *, axis: int | None = None) -> Array:
    """Repeat each element; an array of counts is waited for."""
    if axis is None:
        x, axis = _reshape(x, -1), 0
    (axis,) = axes_of(axis, x.ndim)
    if isinstance(repeats, Array) and repeats.size != 1:
        return _repeat_each(x, repeats.tolist(), axis)
    return _repeated(x, int(repeats), axis, is_each=True)


def _repeat_each(x: Array, counts: Sequence[int], axis: int) -> Array:
    extent = x.shape[axis]
    if len(counts) != extent:
        raise _core.InvalidArgument(
            f"repeat: expected {extent} counts, got {len(counts)}"
        )
    shape = [*x.shape[:axis], sum(counts), *x.shape[axis + 1 :]]
    made = x.runtime.empty(shape, x.dtype)
    begin = 0
    for i, count in enumerate(counts):
        to = along(axis, begin, begin + count)
        made[to] = x[along(axis, i, i + 1)]
        begin += count
    return made


def _repeated(x: Array, count: int, axis: int, is_each: bool) -> Array:
    """Return each element, or all of them, `count` times along an axis."""
    before, extent, after = (
        x.shape[:axis],
        x.shape[axis],
        x.shape[axis + 1 :],
    )
    flat = _reshape(x, (math.prod(before), extent, math.prod(after)))
    place = 2 if is_each else 1
    shape = list(flat.shape)
    shape.insert(place, count)
    made = broadcast_to(expand_dims(flat, place), shape)
    return made.reshape((*before, extent * count, *after))


def roll(x: Array, /, shift: Any, *, axis: Any = None) -> Array:
    if axis is None:
        return _reshape(roll(_reshape(x, -1), shift, axis=0), x.shape)
    shifts = shift if isinstance(shift, (list, tuple)) else (shift,)
    axes = axes_of(axis, x.ndim)
    for by, one in np.broadcast(shifts, axes):
        x = _rolled(x, int(by), int(one))
    return x


def _rolled(x: Array, shift: int, axis: int) -> Array:
    made = x.runtime.empty(x.shape, x.dtype)
    extent = x.shape[axis]
    by = shift % extent if extent else 0
    made[along(axis, by, None)] = x[along(axis, 0, extent - by)]
    made[along(axis, 0, by)] = x[along(axis, extent - by, None)]
    return made


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    ndim = max(x.ndim, len(repetitions))
    counts = (1,) * (ndim - len(repetitions)) + tuple(repetitions)
    made = _copy(x).reshape((1,) * (ndim - x.ndim) + x.shape)
    for axis, count in enumerate(counts):
        if count != 1:
            made = _repeated(made, count, axis, is_each=False)
    return made
