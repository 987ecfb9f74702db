"""Implement NumPy's functions that need the lengths of arrays.

A function without an underscore implements NumPy's function of its name. See
`numpy_names.py`. `gpuos.array_api` also uses functions of this module.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.array_methods import (
    as_bool,
    axis_in,
    concatenate,
    copy,
    is_of_runtime,
    of_host,
    operand,
    ravel,
    reshape,
    set_item,
)
from gpuos.arrays import call, given, in_place
from gpuos.shared_functions import along

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = _core.Array

# ---- Parts of axes.


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes counted from 0. None stands for all axes."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    for one in axes:
        if not -ndim <= one < ndim:
            known = f"an axis of {-ndim} to {ndim - 1}"
            if ndim == 0:
                known = "no axis of a value without axes"
            raise _core.InvalidArgument(f"axis: expected {known}, got {one}")
    return tuple(one % ndim for one in axes)


def axis_of(axis: Any, ndim: int) -> int:
    """Return one axis counted from 0."""
    return axes_of(operator.index(axis), ndim)[0]


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    axis = axis_of(axis, x.ndim)
    before: tuple[Any, ...] = (slice(None),) * axis
    places = ((*before, i) for i in range(x.shape[axis]))
    return tuple(x[place] for place in places)


# ---- Copies.


def repeat(a: Array, repeats: Any, axis: int | None = None) -> Array:
    """Repeat each element. Wait for `repeats` if it is an array."""
    if axis is None:
        a, axis = reshape(a, -1), 0
    axis = axis_of(axis, a.ndim)
    counts = repeats if isinstance(repeats, Array) else np.asarray(repeats)
    if counts.size == 1:
        return _repeated(a, int(counts.item()), axis, is_each=True)
    return _repeat_each(a, counts.tolist(), axis)


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
        to = along(axis, slice(begin, begin + count))
        made[to] = x[along(axis, slice(i, i + 1))]
        begin += count
    return made


def _repeated(x: Array, count: int, axis: int, is_each: bool) -> Array:
    """Repeat each element, or the whole array, `count` times along an axis."""
    before, extent, after = (
        x.shape[:axis],
        x.shape[axis],
        x.shape[axis + 1 :],
    )
    flat = reshape(x, (math.prod(before), extent, math.prod(after)))
    place = 2 if is_each else 1
    shape = list(flat.shape)
    shape.insert(place, count)
    made: Any = np.broadcast_to(np.expand_dims(flat, place), shape)
    return reshape(made, (*before, extent * count, *after))


def roll(a: Array, shift: Any, axis: Any = None) -> Array:
    if axis is None:
        made: Array = reshape(roll(reshape(a, -1), shift, axis=0), a.shape)
        return made
    shifts = shift.numpy() if isinstance(shift, Array) else np.asarray(shift)
    if shifts.ndim > 1 or shifts.dtype.kind not in "biu":
        raise _core.InvalidArgument(
            f"roll: expected shift as integers, got {shifts.dtype} of shape "
            f"{shifts.shape}"
        )
    if a.ndim == 0:
        raise _core.InvalidArgument(
            f"roll: expected axis=None for a value without axes, got {axis}"
        )
    for by, one in np.broadcast(shifts, axes_of(axis, a.ndim)):
        a = _rolled(a, int(by), int(one))
    return a


def _rolled(x: Array, shift: int, axis: int) -> Array:
    made = x.runtime.empty(x.shape, x.dtype)
    extent = x.shape[axis]
    by = shift % extent if extent else 0
    made[along(axis, slice(by, None))] = x[along(axis, slice(0, extent - by))]
    made[along(axis, slice(0, by))] = x[along(axis, slice(extent - by, None))]
    return made


def tile(A: Array, reps: Any) -> Array:
    counts = np.atleast_1d(reps).tolist()
    counts = [1] * (A.ndim - len(counts)) + counts
    made = copy(A).reshape((1,) * (len(counts) - A.ndim) + A.shape)
    for axis, count in enumerate(counts):
        if count != 1:
            made = _repeated(made, count, axis, is_each=False)
    return made


def tril(m: Array, k: int = 0) -> Any:
    is_left = distance_from_diagonal(m.runtime, m.shape, k) <= 0
    return np.where(is_left, m, m.dtype.type(0))


def triu(m: Array, k: int = 0) -> Any:
    is_right = distance_from_diagonal(m.runtime, m.shape, k) >= 0
    return np.where(is_right, m, m.dtype.type(0))


def distance_from_diagonal(
    runtime: _core.Runtime, shape: tuple[int, ...], k: int
) -> Array:
    """Return how far right of the k-th diagonal each element of a matrix is.

    A row stands for a square matrix, as in NumPy.
    """
    rows, columns = (shape[-2:] * 2)[-2:]
    # No element is farther away than this.
    k = max(-rows, min(k, columns))
    right = runtime.arange(-k, columns - k, dtype="int64")
    return right - runtime.arange(rows, dtype="int64")[:, None]


# ---- Running sums. There are log2(n) steps. Each step adds the element at a
# distance. The distance doubles, and so does the number of summed elements.


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: Any = False,
    out: Any = None,
) -> Any:
    made = _running("multiply", 1, x, axis, dtype, include_initial)
    return given("cumulative_prod", made, out)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: Any = False,
    out: Any = None,
) -> Any:
    made = _running("add", 0, x, axis, dtype, include_initial)
    return given("cumulative_sum", made, out)


def _running(
    name: str,
    start: int,
    x: Array,
    axis: int | None,
    dtype: Any,
    has_start: Any = False,
) -> Array:
    if axis is None and x.ndim > 1:
        raise _core.InvalidArgument(
            f"cumulative {name}: expected an axis for shape {x.shape}, got None"
        )
    axis = axis_of(0 if axis is None else axis, x.ndim)
    first = 1 if has_start else 0
    shape = list(x.shape)
    shape[axis] += first
    made = x.runtime.empty(shape, dtype or _dtype_of_sum(x.dtype))
    if has_start:
        made[along(axis, slice(0, 1))] = start
    sums = made[along(axis, slice(first, None))]
    sums[...] = x
    step = 1
    while step < x.shape[axis]:
        later = sums[along(axis, slice(step, None))]
        in_place(name, later, sums[along(axis, slice(0, -step))])
        step *= 2
    return made


def _dtype_of_sum(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a sum. Integers are summed in 64 bits."""
    wide = {"b": "int64", "i": "int64", "u": "uint64"}.get(dtype.kind)
    return dtype if wide is None else np.dtype(wide)


# ---- Functions with NumPy's names.


def diff(
    a: Array,
    n: int = 1,
    axis: int = -1,
    prepend: Any = np._NoValue,
    append: Any = np._NoValue,
) -> Any:
    if n == 0:
        return a
    parts = [x for x in (prepend, a, append) if x is not np._NoValue]
    if len(parts) > 1:
        axis_in(axis, a.ndim)
        a = concatenate([_rows_beside(x, a, axis) for x in parts], axis)
    return call(np.diff, a, n, axis)


def _rows_beside(x: Any, like: Array, axis: int) -> Any:
    """Return x. Broadcast a number to one row along the axis."""
    if np.ndim(x) > 0:
        return x
    x = operand(x if isinstance(x, Array) else np.asarray(x), like)
    shape = list(like.shape)
    shape[axis] = 1
    return np.broadcast_to(x, shape)


def _scanned(name: str, start: int) -> Callable[..., Any]:
    def compute(
        a: Any, axis: int | None = None, dtype: Any = None, out: Any = None
    ) -> Any:
        if axis is None:
            a, axis = ravel(a), 0
        return given(name, _running(name, start, a, axis, dtype), out)

    return compute


def _without_nan(function: Callable[..., Any], neutral: int) -> Any:
    def compute(a: Any, *args: Any, **keywords: Any) -> Any:
        a = np.where(np.isnan(a), neutral, a)
        return function(a, *args, **keywords)

    return compute


cumprod, cumsum = _scanned("multiply", 1), _scanned("add", 0)
nancumprod, nancumsum = _without_nan(cumprod, 1), _without_nan(cumsum, 0)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a copy. NumPy returns a read-only view."""
    one, other = axes_of((axis1, axis2), a.ndim)
    if one == other:
        raise _core.InvalidArgument(
            f"diagonal: expected two axes that differ, got {axis1} and {axis2}"
        )
    a = np.moveaxis(a, (one, other), (-2, -1))
    rows, columns = a.shape[-2:]
    rest = a.shape[:-2]
    length = max(0, min(rows, rows + offset, columns, columns - offset))
    first = offset if offset >= 0 else -offset * columns
    flat = reshape(a, (*rest, rows * columns))
    places = slice(first, first + length * (columns + 1), columns + 1)
    made: Array = copy(flat[..., places] if length else flat[..., :0])
    return made


def diag(v: Any, k: int = 0) -> Array:
    if v.ndim not in (1, 2):
        raise _core.InvalidArgument(
            f"diag: expected one axis or two, got {v.ndim}"
        )
    if v.ndim == 2:
        return diagonal(v, k)
    size = v.shape[0] + abs(k)
    made: Array = v.runtime.zeros((size, size), v.dtype)
    first = k if k >= 0 else -k * size
    last = first + v.shape[0] * (size + 1)
    made.reshape(-1)[first : last : size + 1] = v
    return made


def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    made = diagonal(a, offset, axis1, axis2).sum(-1, dtype=dtype)
    return given("trace", made, out)


def array_split(
    ary: Any, indices_or_sections: Any, axis: int = 0
) -> Sequence[Any]:
    if np.ndim(indices_or_sections) == 0:
        count = int(indices_or_sections)
        if count < 1:
            raise _core.InvalidArgument(
                f"array_split: expected 1 section or more, got {count}"
            )
        size, longer = divmod(ary.shape[axis], count)
        sizes = [size + (i < longer) for i in range(count)]
        indices_or_sections = np.cumsum(sizes[:-1]).tolist()
    parts: Sequence[Any] = np.split(ary, indices_or_sections, axis)
    return parts


def copyto(
    dst: Any, src: Any, casting: Any = "same_kind", where: Any = True
) -> None:
    if not isinstance(dst, Array):
        of_host(np.copyto)(dst, src, casting, where)
        return
    dtype = getattr(src, "dtype", None)
    if isinstance(src, (bool, int, float, complex)):
        dtype = np.result_type(dst.dtype, src)
    if dtype is not None and not np.can_cast(dtype, dst.dtype, casting):
        raise TypeError(
            f"copyto: expected a src that casts to {dst.dtype} by {casting!r}, "
            f"got {dtype}"
        )
    if where is not True:
        src = np.where(where, src, dst).astype(dst.dtype)
    set_item(dst, ..., src)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    if isinstance(a, Array) and isinstance(b, Array):
        return _core._overlap(_core._view_at(a, None), b)
    # NumPy knows how its own arrays in host memory overlap.
    return np.may_share_memory(np.asarray(a), np.asarray(b), max_work=max_work)


# ---- Comparisons.


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if not (is_of_runtime(a1) and is_of_runtime(a2)):
        x, y = (x.numpy() if isinstance(x, Array) else x for x in (a1, a2))
        return np.array_equal(x, y, equal_nan=equal_nan)
    if tuple(a1.shape) != tuple(a2.shape):
        return False
    is_same = a1 == a2
    if equal_nan:
        is_same = is_same | (np.isnan(a1) & np.isnan(a2))
    return as_bool(is_same.all())


def allclose(a: Any, b: Any, *args: Any, **keywords: Any) -> bool:
    return as_bool(np.isclose(a, b, *args, **keywords).all())
