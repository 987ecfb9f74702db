"""Implement NumPy's functions for fused functions' values and for arrays.

They use indices and other functions of NumPy. A function without an underscore
implements NumPy's function of its name. See `numpy_names.py`.
"""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable

Value = _core.Value

# ---- Attributes of an array.


def attribute_of(name: str) -> Callable[..., Any]:
    return lambda a: getattr(a, name)


imag = attribute_of("imag")
matrix_transpose = attribute_of("mT")
ndim = attribute_of("ndim")
real = attribute_of("real")
shape = attribute_of("shape")


def size(a: Any, axis: int | None = None) -> int:
    count: int = a.size if axis is None else a.shape[axis]
    return count


def iscomplexobj(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


def result_type(*operands: Any) -> np.dtype[Any]:
    return np.result_type(
        *(
            x.dtype.type(0).item()
            if isinstance(x, Value) and x._is_number
            else x.dtype
            if isinstance(x, (Value, _core.Array))
            else x
            for x in operands
        )
    )


# ---- Axes.


def along(axis: int, index: Any) -> tuple[Any, ...]:
    """Return the index for a part of one axis. Axes count from 0."""
    return (*(slice(None),) * axis, index)


def as_integer(number: Any, name: str) -> int:
    """Return a number as an integer. A program may ask the call for it."""
    if not isinstance(number, (int, np.integer, Value)):
        raise _core.WrongType(
            f"{name}: expected an integer, got {type(number).__name__}"
        )
    return operator.index(number)


def place_of(a: Any, axis: int, name: str) -> int:
    axis = as_integer(axis, name)
    if not -a.ndim <= axis < a.ndim:
        raise _core.InvalidArgument(
            f"{name}: expected an axis of {-a.ndim} to {a.ndim - 1}, got {axis}"
            if a.ndim
            else f"{name}: expected a value with axes, got one without"
        )
    return axis if axis >= 0 else axis + int(a.ndim)


def transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(axes)


permute_dims = transpose


def flip(m: Any, axis: Any = None) -> Any:
    if isinstance(axis, Value):
        axis = as_integer(axis, "flip")
    axes = range(m.ndim) if axis is None else axis
    index = [slice(None)] * m.ndim
    for one in (axes,) if isinstance(axes, int) else axes:
        place = place_of(m, one, "flip")
        if index[place] != slice(None):
            raise _core.InvalidArgument(
                f"flip: expected each axis once, got {one} twice"
            )
        index[place] = slice(None, None, -1)
    return m[tuple(index)]


def fliplr(m: Any) -> Any:
    return flip(m, 1)


def flipud(m: Any) -> Any:
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    if len(axes) != 2 or (axes[0] - axes[1]) % max(m.ndim, 1) == 0:
        raise _core.InvalidArgument(
            f"rot90: expected two axes that differ, got {axes}"
        )
    one, other = axes
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return np.flip(np.flip(m, one), other)
    if k % 4 == 1:
        return np.swapaxes(np.flip(m, other), one, other)
    return np.flip(np.swapaxes(m, one, other), other)


# ---- Parts.


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    place = place_of(ary, axis, "split")
    if np.ndim(indices_or_sections) == 0:
        count = as_integer(indices_or_sections, "split")
        return _sections(ary, count, place)
    bounds = [0, *indices_or_sections, None]
    return [
        ary[along(place, slice(start, stop))]
        for start, stop in itertools.pairwise(bounds)
    ]


def _sections(a: Any, count: Any, place: int) -> list[Any]:
    """Return parts of the same size along one axis."""
    if isinstance(a, Value):
        return _core._split(a, count, place)
    if count < 1 or a.shape[place] % count != 0:
        raise _core.InvalidArgument(
            "split: expected a number of sections that divides "
            f"{a.shape[place]}, got {count}"
        )
    size = a.shape[place] // count
    bounds = range(0, size * count, size) if size else [0] * count
    return [a[along(place, slice(start, start + size))] for start in bounds]


def _split_along(axis: int) -> Callable[..., Any]:
    least = 1 if axis == 1 else max(axis + 1, 2)

    def split(ary: Any, indices_or_sections: Any) -> Any:
        if ary.ndim < least:
            raise _core.InvalidArgument(
                f"{'vhd'[axis]}split: expected {least} axes or more, got "
                f"{ary.ndim}"
            )
        # A row only has one axis.
        along = 0 if axis == 1 and ary.ndim == 1 else axis
        return np.split(ary, indices_or_sections, along)

    return split


vsplit, hsplit, dsplit = map(_split_along, range(3))


# ---- More axes, and joined arrays.


def _at_least(ndim: int) -> Callable[..., Any]:
    index: dict[int, Any] = {
        0: (None,) * ndim,
        1: (None, slice(None), None)[:ndim],
        2: (slice(None), slice(None), None),
    }

    def widen(*arrays: Any) -> Any:
        made = tuple(a if a.ndim >= ndim else a[index[a.ndim]] for a in arrays)
        return made if len(made) != 1 else made[0]

    return widen


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (1, 2, 3))


def hstack(tup: Any, **keywords: Any) -> Any:
    parts = [np.atleast_1d(a) for a in tup]
    axis = 0 if parts[0].ndim == 1 else 1
    return np.concatenate(parts, axis, **keywords)


def vstack(tup: Any, **keywords: Any) -> Any:
    return np.concatenate([atleast_2d(a) for a in tup], **keywords)


def dstack(tup: Any) -> Any:
    return np.concatenate([atleast_3d(a) for a in tup], axis=2)


def column_stack(tup: Any) -> Any:
    return np.concatenate(
        [atleast_2d(a).T if a.ndim < 2 else a for a in tup], 1
    )


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise _core.InvalidArgument(
            f"meshgrid: indexing: expected 'xy' or 'ij', got {indexing!r}"
        )
    order = list(range(len(xi)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    made = tuple(
        np.ravel(x)[tuple(slice(None) if i == own else None for i in order)]
        for own, x in enumerate(xi)
    )
    if sparse:
        return tuple(np.copy(x) for x in made) if copy else made
    return made if len(made) < 2 else tuple(np.broadcast_arrays(*made))


# ---- Choices and differences.


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) == 0 or len(condlist) != len(choicelist):
        raise _core.InvalidArgument(
            "select: expected as many choices as conditions, and one at least, "
            f"got {len(condlist)} conditions and {len(choicelist)} choices"
        )
    for condition in condlist:
        if np.result_type(condition) != bool:
            raise _core.WrongType(
                "select: expected conditions of bool, got "
                f"{np.result_type(condition)}"
            )
    made = default
    for condition, choice in zip(
        reversed(condlist), reversed(choicelist), strict=True
    ):
        made = np.where(condition, choice, made)
    return made


def gradient(
    f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1
) -> Any:
    if edge_order not in (1, 2):
        raise _core.InvalidArgument(
            f"gradient: edge_order: expected 1 or 2, got {edge_order}"
        )
    given = range(f.ndim) if axis is None else np.atleast_1d(axis).tolist()
    axes = [place_of(f, each, "gradient") for each in given]
    if len(set(axes)) != len(axes):
        raise _core.InvalidArgument(
            f"gradient: expected each axis once, got {axis}"
        )
    # A program knows shapes only when it is called.
    if not isinstance(f, Value) and any(f.shape[i] <= edge_order for i in axes):
        raise _core.InvalidArgument(
            f"gradient: expected {edge_order + 1} elements or more along each "
            f"axis, got shape {f.shape}"
        )
    steps = varargs or (1.0,)
    if len(steps) == 1 and np.ndim(steps[0]) == 0:
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError(
            f"gradient: expected one number or {len(axes)} spacings, got "
            f"{len(steps)}"
        )
    if f.dtype.kind == "b":
        raise _core.WrongType("gradient: expected numbers, got bool")
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    made = tuple(
        np.moveaxis(
            _slope(np.moveaxis(f, along, -1), step, edge_order), -1, along
        ).astype(f.dtype)
        for along, step in zip(axes, steps, strict=True)
    )
    return made[0] if len(made) == 1 else made


def _slope(f: Any, step: Any, edge_order: int) -> Any:
    """Return the gradient along the last axis."""
    if f.shape[-1] <= edge_order:
        raise _core.InvalidArgument(
            f"gradient: expected more than {edge_order} elements along the "
            f"axis, got {f.shape[-1]}"
        )
    if np.ndim(step) == 0:
        before = after = step
        inner = (f[..., 2:] - f[..., :-2]) / (2.0 * step)
        one, other = (step, step), (step, step)
    else:
        if step.shape != f.shape[-1:]:
            raise _core.InvalidArgument(
                f"gradient: expected {f.shape[-1:]} places along the axis, got "
                f"{step.shape}"
            )
        # Differences of unsigned integers would wrap.
        gaps = np.diff(step.astype("f8") if step.dtype.kind in "iu" else step)
        before, after = gaps[:-1], gaps[1:]
        both = before + after
        inner = (
            f[..., :-2] * (-after / (before * both))
            + f[..., 1:-1] * ((after - before) / (before * after))
            + f[..., 2:] * (before / (after * both))
        )
        one, other = (gaps[:1], gaps[1:2]), (gaps[-1:], gaps[-2:-1])
    # These indices raise an error if the axis is too short.
    begin, end = (
        [f[..., i, None] for i in places[: edge_order + 1]]
        for places in ((0, 1, 2), (-1, -2, -3))
    )
    return np.concatenate(
        [_at_end(begin, one), inner, -_at_end(end, other)], axis=-1
    )


def _at_end(f: list[Any], steps: tuple[Any, Any]) -> Any:
    """Return the slope at f[0] from the first elements and their distances."""
    a, b = steps
    if len(f) == 2:
        return (f[1] - f[0]) / a
    both = a + b
    return (
        f[0] * (-(a + both) / (a * both))
        + f[1] * (both / (a * b))
        - f[2] * (a / (b * both))
    )
