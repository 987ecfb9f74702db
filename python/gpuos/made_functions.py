"""NumPy's functions that are made of others, for the values of fused functions."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos._core import InvalidArgument, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable

Value = _core.Value

# ---- Numbers.


def _is_close(
    a: Any,
    b: Any,
    rtol: Any = 1e-5,
    atol: Any = 1e-8,
    equal_nan: bool = False,
) -> Any:
    if np.result_type(b).kind in "biu":  # differences of integers wrap
        b = b * np.float64(1)
    is_near = np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b))
    is_near = is_near | (a == b)
    return is_near | (np.isnan(a) & np.isnan(b)) if equal_nan else is_near


def _all_close(a: Any, b: Any, *args: Any, **keywords: Any) -> Any:
    return _is_close(a, b, *args, **keywords).all()


def is_float(x: Any) -> bool:
    # The kind of a short float may be that of a structure.
    return x.dtype.kind not in "biuc"


def _as_float(x: Any) -> Any:
    """The dtype that NumPy's functions of floats have for it."""
    return x if is_float(x) else np.rint(x)


def _modf(x: Any) -> tuple[Any, Any]:
    x = _as_float(x)
    whole = np.trunc(x)
    part = np.where(np.isinf(x), 0, x - whole)
    return np.copysign(part, x), whole


def _frexp(x: Any) -> tuple[Any, Any]:
    x = _as_float(x)
    is_number = np.isfinite(x) & (x != 0)
    size = np.where(is_number, np.abs(x), 1)
    exponent = np.floor(np.log2(size)).astype("int32") + 1
    # The logarithm was rounded.
    rough = np.ldexp(size, -exponent)
    exponent = exponent + (rough >= 1) - (rough < 0.5).astype("int32")
    mantissa = np.copysign(np.ldexp(size, -exponent), x)
    return np.where(is_number, mantissa, x), np.where(is_number, exponent, 0)


def _round(a: Any, decimals: int = 0) -> Any:
    decimals = operator.index(decimals)
    if a.dtype.kind in "biu" and decimals >= 0:
        return a if a.dtype.kind != "b" else np.rint(a)
    if a.dtype.kind in "iu":
        return _round(a.astype(np.float64), decimals).astype(a.dtype)
    if not is_float(a) and decimals != 0:
        raise _core.InvalidArgument(
            f"round: expected decimals=0 for {a.dtype}, got {decimals}"
        )
    if decimals == 0:
        return np.rint(a)
    scale = 10.0 ** abs(decimals) if abs(decimals) <= 308 else math.inf
    if decimals > 0:
        return np.rint(a * scale) / scale
    return np.rint(a / scale) * scale


# ---- Products.


def check_same_shape(name: str, a: Any, b: Any) -> None:
    """Programs broadcast; this function of NumPy does not."""
    if a.shape != b.shape:
        raise _core.InvalidArgument(
            f"{name}: expected arrays of one shape, got {a.shape} and {b.shape}"
        )


def _ndim(x: Any) -> int:
    """How many axes: NumPy may not look into a list that changes meanwhile."""
    ndim: int = getattr(x, "ndim", 0)
    return ndim


def _matmul(a: Any, b: Any) -> Any:
    """The product of two rows: of others there is none."""
    if _ndim(a) != 1 or _ndim(b) != 1:
        raise _core.InvalidArgument(
            f"matmul: expected two rows, got {_ndim(a)} and {_ndim(b)} axes: "
            "a program has elementwise operations and reductions, no products "
            "of matrices; call this one with arguments or results, and of "
            "arrays with x.numpy()"
        )
    check_same_shape("matmul", a, b)
    products = a * b
    if products.dtype.kind == "b":
        return products.any()
    return products.sum(dtype=products.dtype)


def _dot(a: Any, b: Any) -> Any:
    return a * b if _ndim(a) == 0 or _ndim(b) == 0 else _matmul(a, b)


def _vdot(a: Any, b: Any) -> Any:
    return _matmul(np.conjugate(a) if a.dtype.kind == "c" else a, b)


def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    a, b = np.shape(x1), np.shape(x2)
    has_axis = all(-len(shape) <= axis < len(shape) for shape in (a, b))
    if not has_axis or a[axis] != b[axis]:
        raise _core.InvalidArgument(
            f"vecdot: expected as many elements along axis {axis}, got {a} and {b}"
        )
    left = np.conjugate(x1) if x1.dtype.kind == "c" else x1
    products = np.moveaxis(left, axis, -1) * np.moveaxis(x2, axis, -1)
    if products.dtype.kind == "b":
        return products.any(-1)
    return products.sum(-1, dtype=products.dtype)


# ---- Views.


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


_rows = _at_least(2)
_slabs = _at_least(3)


def in_dtype(name: str, arrays: Any, dtype: Any, casting: Any) -> Any:
    """Return them in the dtype that is asked for, if any."""
    if dtype is None:
        return arrays
    dtype = np.dtype(dtype)
    for a in arrays:
        if not np.can_cast(a.dtype, dtype, casting):
            raise _core.InvalidArgument(
                f"{name}: expected arrays that cast to {dtype} by {casting!r}, "
                f"got {a.dtype}"
            )
    return [a.astype(dtype) for a in arrays]


def _hstack(tup: Any, **keywords: Any) -> Any:
    parts = [np.atleast_1d(a) for a in tup]
    axis = 0 if parts[0].ndim == 1 else 1
    return np.concatenate(parts, axis, **keywords)


def _vstack(tup: Any, **keywords: Any) -> Any:
    return np.concatenate([_rows(a) for a in tup], **keywords)


def _column_stack(tup: Any) -> Any:
    return np.concatenate([_rows(a).T if a.ndim < 2 else a for a in tup], 1)


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    return np.concatenate([arr, values], axis=axis)


def _broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    for a in args:
        if not isinstance(a, Value):
            raise _core.InvalidArgument(
                "broadcast_arrays: expected values of the fused function, got "
                f"{type(a).__name__}"
            )
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return tuple(np.broadcast_to(a, shape) if shape else a for a in args)


def _rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
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


def _outer(a: Any, b: Any) -> Any:
    return np.ravel(a)[:, None] * np.ravel(b)


def _split_along(axis: int) -> Callable[..., Any]:
    least = 1 if axis == 1 else max(axis + 1, 2)

    def split(ary: Any, indices_or_sections: Any) -> Any:
        if ary.ndim < least:
            raise _core.InvalidArgument(
                f"{'vhd'[axis]}split: expected {least} axes or more, got "
                f"{ary.ndim}"
            )
        # A row has one axis only.
        along = 0 if axis == 1 and ary.ndim == 1 else axis
        return np.split(ary, indices_or_sections, along)

    return split


def _tile(A: Any, reps: Any) -> Any:
    counts = np.atleast_1d(reps).tolist()
    A = A[(None,) * (len(counts) - A.ndim)] if len(counts) > A.ndim else A
    for axis, count in zip(range(-len(counts), 0), counts, strict=True):
        if count != 1:
            A = np.concatenate([A] * count, axis)
    return A


def _meshgrid(
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


def _along(axis: int, *index: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, *index)


def _pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
) -> Any:
    if mode not in _PADS:
        raise _core.InvalidArgument(
            f"pad: mode: expected one of {', '.join(_PADS)}, got {mode!r}"
        )
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    numbers = np.broadcast_to(np.array(constant_values), (array.ndim, 2))
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            raise _core.InvalidArgument(
                f"pad: pad_width: expected 0 or more, got {(before, after)}"
            )
        if mode == "constant":
            ends = [
                _constant(array, axis, width, number)
                for width, number in zip(
                    (before, after), numbers[axis], strict=True
                )
            ]
        else:
            ends = _PADS[mode](array, axis, before, after)
        parts = [ends[0], array, ends[1]]
        kept = [width > 0 for width in (before, 1, after)]
        array = np.concatenate(
            [
                part
                for part, is_kept in zip(parts, kept, strict=True)
                if is_kept
            ],
            axis,
        )
    return array


def _constant(x: Any, axis: int, width: int, number: Any) -> Any:
    shape = list(x.shape)
    shape[axis] = width
    row = np.full_like(x[_along(axis, slice(1))], number)
    return np.broadcast_to(row, shape)


def _edge(x: Any, axis: int, before: int, after: int) -> list[Any]:
    ends = []
    for width, place in ((before, slice(1)), (after, slice(-1, None))):
        shape = list(x.shape)
        shape[axis] = width
        ends.append(np.broadcast_to(x[_along(axis, place)], shape))
    return ends


def _mirrored(first: int, *, is_wrapped: bool = False) -> Callable[..., Any]:
    """Return the pads of what lies beyond the `first` elements at each end."""

    def ends(x: Any, axis: int, before: int, after: int) -> list[Any]:
        length = x.shape[axis]
        if max(before, after) > length - first:
            raise _core.InvalidArgument(
                f"pad: pad_width: expected at most {length - first} along axis "
                f"{axis}, got {max(before, after)}; pad in several steps"
            )
        low = slice(first, first + before)
        high = slice(length - first - after, length - first)
        if is_wrapped:
            low, high = slice(length - before, length), slice(0, after)
            return [x[_along(axis, low)], x[_along(axis, high)]]
        return [np.flip(x[_along(axis, one)], axis) for one in (low, high)]

    return ends


_PADS: dict[str, Any] = {
    "constant": None,
    "edge": _edge,
    "reflect": _mirrored(1),
    "symmetric": _mirrored(0),
    "wrap": _mirrored(0, is_wrapped=True),
}

# ---- Differences and sums along an axis.


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = np.moveaxis(y, axis, -1)
    if x is None:
        step = dx
    else:
        step = np.diff(x) if x.ndim == 1 else np.diff(x, axis=axis)
        step = step if x.ndim == 1 else np.moveaxis(step, axis, -1)
    return (step * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


def _gradient(
    f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1
) -> Any:
    if edge_order not in (1, 2):
        raise _core.InvalidArgument(
            f"gradient: edge_order: expected 1 or 2, got {edge_order}"
        )
    axes = range(f.ndim) if axis is None else np.atleast_1d(axis).tolist()
    if len({along % f.ndim for along in axes}) != len(axes):
        raise _core.InvalidArgument(
            f"gradient: expected each axis once, got {axis}"
        )
    # A program learns of shapes when it is called.
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
        raise _core.InvalidArgument("gradient: expected numbers, got bool")
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
    """Return the differences along the last axis."""
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
        gaps = np.diff(step)
        before, after = gaps[:-1], gaps[1:]
        both = before + after
        inner = (
            f[..., :-2] * (-after / (before * both))
            + f[..., 1:-1] * ((after - before) / (before * after))
            + f[..., 2:] * (before / (after * both))
        )
        one, other = (gaps[:1], gaps[1:2]), (gaps[-1:], gaps[-2:-1])
    # Places, which are refused where there are too few.
    begin, end = (
        [f[..., i, None] for i in places[: edge_order + 1]]
        for places in ((0, 1, 2), (-1, -2, -3))
    )
    return np.concatenate(
        [_at_end(begin, one), inner, -_at_end(end, other)], axis=-1
    )


def _at_end(f: list[Any], steps: tuple[Any, Any]) -> Any:
    """Return the slope at f[0], from the first elements and their distances."""
    a, b = steps
    if len(f) == 2:
        return (f[1] - f[0]) / a
    both = a + b
    return (
        f[0] * (-(a + both) / (a * both))
        + f[1] * (both / (a * b))
        - f[2] * (a / (b * both))
    )


# ---- Choices.


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) == 0 or len(condlist) != len(choicelist):
        raise _core.InvalidArgument(
            "select: expected as many choices as conditions, and one at least, "
            f"got {len(condlist)} conditions and {len(choicelist)} choices"
        )
    for condition in condlist:
        if np.result_type(condition) != bool:
            raise _core.InvalidArgument(
                "select: expected conditions of bool, got "
                f"{np.result_type(condition)}"
            )
    made = default
    for condition, choice in zip(
        reversed(condlist), reversed(choicelist), strict=True
    ):
        made = np.where(condition, choice, made)
    return made


def _isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Compare each with each; how NumPy does it is of no matter here."""
    del assume_unique, kind
    if isinstance(test_elements, Value):
        is_in = (np.expand_dims(element, -1) == np.ravel(test_elements)).any(-1)
    else:
        numbers = np.ravel(test_elements).tolist() or [np.nan]
        is_in = element == numbers[0]
        for number in numbers[1:]:
            is_in = is_in | (element == number)
    return ~is_in if invert else is_in


# ---- Of one number.


def _assigned(x: Any, shape: tuple[int, ...]) -> Any:
    """Return x as an assignment spreads it: axes of one in front may be left out."""
    more = max(x.ndim - len(shape), 0)
    if x.shape[:more] == (1,) * more:
        x = x[(0,) * more]
    return np.broadcast_to(x, shape)


def whole(number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number that is assigned to elements of `dtype`.

    Integers get a float's whole part, as in NumPy, which a program then checks.
    """
    if dtype.kind in "iu" and type(number) is int and abs(number) >= 2**64:
        raise OutOfRange(
            f"array: expected a number that fits {dtype}, got one of "
            f"{number.bit_length()} bits"
        )
    if dtype.kind in "iu" and isinstance(number, np.integer):
        return int(number)
    if dtype.kind not in "iu" and type(number) is int:  # of any size
        return bool(number) if dtype.kind == "b" else float(number)
    if dtype.kind not in "iu" or not isinstance(number, (float, np.floating)):
        return number
    if np.isfinite(number):
        return int(number)
    kind = InvalidArgument if np.isnan(number) else OutOfRange
    raise kind(f"array: expected a number that fits {dtype}, got {number}")


def start_of(initial: Any, dtype: np.dtype[Any]) -> Any:
    """Return the first number of a reduction, which does not decide its dtype."""
    if isinstance(initial, Value):
        return initial.astype(dtype)
    if isinstance(initial, np.generic):
        initial = initial.item()
    return bool(initial) if dtype == bool else whole(initial, dtype)


def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    if isinstance(fill_value, Value):
        if fill_value.ndim > 0:
            fill_value = _assigned(fill_value, a.shape)
    else:  # as NumPy casts it
        # But not as ml_dtypes does: what is too large would be a NaN.
        of = dtype if dtype.isbuiltin == 1 else np.float64
        fill_value = np.full((), whole(fill_value, dtype), of)
    return a._filled(fill_value, dtype)


# The fused function for NumPy's function of each name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "allclose": _all_close,
    "append": _append,
    "around": _round,
    "atleast_1d": _at_least(1),
    "atleast_2d": _rows,
    "atleast_3d": _slabs,
    "broadcast_arrays": _broadcast_arrays,
    "column_stack": _column_stack,
    "dot": _dot,
    "dsplit": _split_along(2),
    "dstack": lambda tup: np.concatenate([_slabs(a) for a in tup], axis=2),
    "empty_like": lambda a, dtype=None: _full_like(a, 0, dtype),
    "frexp": _frexp,
    "full_like": _full_like,
    "gradient": _gradient,
    "hstack": _hstack,
    "hsplit": _split_along(1),
    "inner": _dot,
    "iscomplex": lambda x: x.imag != 0,
    "isclose": _is_close,
    "isin": _isin,
    "isneginf": lambda x: np.isinf(x) & (x < 0),
    "isposinf": lambda x: np.isinf(x) & (x > 0),
    "isreal": lambda x: x.imag == 0,
    "matmul": _matmul,
    "meshgrid": _meshgrid,
    "modf": _modf,
    "ones_like": lambda a, dtype=None: _full_like(a, 1, dtype),
    "outer": _outer,
    "pad": _pad,
    "rot90": _rot90,
    "round": _round,
    "select": _select,
    "tile": _tile,
    "trapezoid": _trapezoid,
    "trapz": _trapezoid,
    "vdot": _vdot,
    "vecdot": _vecdot,
    "vsplit": _split_along(0),
    "vstack": _vstack,
    "zeros_like": lambda a, dtype=None: _full_like(a, 0, dtype),
}
