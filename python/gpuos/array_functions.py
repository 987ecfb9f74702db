"""NumPy's functions of arrays that need to know how long they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, array_api, array_methods, arrays
from gpuos.array_api._manipulation import axes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = _core.Array


def _given(x: Any, out: Any) -> Any:
    if out is None:
        return x
    array_methods.set_item(out, ..., x)
    return out


def _diff(
    a: Array,
    n: int = 1,
    axis: int = -1,
    prepend: Any = np._NoValue,
    append: Any = np._NoValue,
) -> Any:
    parts = [x for x in (prepend, a, append) if x is not np._NoValue]
    if len(parts) > 1 and n != 0:
        array_methods.axis_in(axis, a.ndim)
        a = array_methods.concatenate(
            [_rows_beside(x, a, axis) for x in parts], axis
        )
    return arrays.call(np.diff, a, n, axis)


def _rows_beside(x: Any, like: Array, axis: int) -> Any:
    """Return x; if it is a number, one row of it along the axis."""
    if np.ndim(x) > 0:
        return x
    x = array_methods.operand(
        x if isinstance(x, Array) else np.asarray(x), like
    )
    shape = list(like.shape)
    shape[axis] = 1
    return np.broadcast_to(x, shape)


def _running(name: str) -> Callable[..., Any]:
    function = getattr(array_api, name)

    def compute(
        a: Any, axis: int | None = None, dtype: Any = None, out: Any = None
    ) -> Any:
        if axis is None:
            a, axis = array_methods.ravel(a), 0
        return _given(function(a, axis=axis, dtype=dtype), out)

    return compute


def _of_array_api(name: str) -> Callable[..., Any]:
    function = getattr(array_api, name)

    def compute(x: Any, *, out: Any = None, **keywords: Any) -> Any:
        return _given(function(x, **keywords), out)

    return compute


_cumsum = _running("cumulative_sum")
_cumprod = _running("cumulative_prod")


def _nancumsum(a: Any, *args: Any, **keywords: Any) -> Any:
    return _cumsum(np.where(np.isnan(a), 0, a), *args, **keywords)


def _nancumprod(a: Any, *args: Any, **keywords: Any) -> Any:
    return _cumprod(np.where(np.isnan(a), 1, a), *args, **keywords)


def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    if not isinstance(repeats, Array):
        repeats = np.asarray(repeats)
        if repeats.size != 1:
            repeats = a.runtime.array(repeats)
    return array_api.repeat(a, repeats, axis=axis)


def _tile(A: Any, reps: Any) -> Any:
    return array_api.tile(A, tuple(np.atleast_1d(reps).tolist()))


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return array_api.roll(a, shift, axis=axis)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a copy, where NumPy returns a view that nobody can write."""
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
    flat = array_methods.reshape(a, (*rest, rows * columns))
    places = slice(first, first + length * (columns + 1), columns + 1)
    made: Array = array_methods.copy(
        flat[..., places] if length else flat[..., :0]
    )
    return made


def _diag(v: Any, k: int = 0) -> Array:
    if v.ndim != 1:
        return _diagonal(v, k)
    size = v.shape[0] + abs(k)
    made: Array = v.runtime.zeros((size, size), v.dtype)
    first = k if k >= 0 else -k * size
    last = first + v.shape[0] * (size + 1)
    made.reshape(-1)[first : last : size + 1] = v
    return made


def _trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    diagonal = _diagonal(a, offset, axis1, axis2)
    return _given(diagonal.sum(-1, dtype=dtype), out)


def _array_split(
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


def _copyto(
    dst: Any, src: Any, casting: Any = "same_kind", where: Any = True
) -> None:
    dtype = getattr(src, "dtype", None)
    if dtype is not None and not np.can_cast(dtype, dst.dtype, casting):
        raise TypeError(
            f"copyto: expected a src that casts to {dst.dtype} by {casting!r}, "
            f"got {dtype}"
        )
    if where is not True:
        src = np.where(where, src, dst).astype(dst.dtype)
    array_methods.set_item(dst, ..., src)


def _unstack(x: Any, *, axis: int = 0) -> Any:
    return array_api.unstack(x, axis=axis)


def _triangle(name: str) -> Callable[..., Any]:
    function = getattr(array_api, name)

    def compute(m: Any, k: int = 0) -> Any:
        return function(m, k=k)

    return compute


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "array_split": _array_split,
    "copyto": _copyto,
    "cumprod": _cumprod,
    "cumsum": _cumsum,
    "cumulative_prod": _of_array_api("cumulative_prod"),
    "cumulative_sum": _of_array_api("cumulative_sum"),
    "diag": _diag,
    "diagonal": _diagonal,
    "diff": _diff,
    #: _diagonal,
    "nancumprod": _nancumprod,
    "nancumsum": _nancumsum,
    "repeat": _repeat,
    "roll": _roll,
    "tile": _tile,
    "trace": _trace,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "unstack": _unstack,
}
