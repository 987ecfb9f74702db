"""Implement NumPy's functions of fused functions' values by other functions.

A function without an underscore implements NumPy's function of its name. See
`numpy_names.py`.
"""

from __future__ import annotations

import importlib
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, functions
from gpuos._core import InvalidArgument, OutOfRange
from gpuos.shared_functions import along, as_integer, place_of

if TYPE_CHECKING:
    from collections.abc import Callable

Value = _core.Value

# ---- Numbers.


def isclose(
    a: Any,
    b: Any,
    rtol: Any = 1e-5,
    atol: Any = 1e-8,
    equal_nan: bool = False,
) -> Any:
    if np.result_type(b).kind in "biu":  # integers would wrap
        b = b * np.float64(1)
    is_near = np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b))
    is_near = is_near | (a == b)
    return is_near | (np.isnan(a) & np.isnan(b)) if equal_nan else is_near


def allclose(a: Any, b: Any, *args: Any, **keywords: Any) -> Any:
    return isclose(a, b, *args, **keywords).all()


def is_float(x: Any) -> bool:
    # The dtype of a short float may have the kind of a structure.
    return x.dtype.kind not in "biuc"


def _as_float(x: Any) -> Any:
    """Convert x to the dtype that NumPy's float functions compute it in."""
    return x if is_float(x) else np.rint(x)


def modf(x: Any) -> tuple[Any, Any]:
    x = _as_float(x)
    whole = np.trunc(x)
    part = np.where(np.isinf(x), 0, x - whole)
    return np.copysign(part, x), whole


def frexp(x: Any) -> tuple[Any, Any]:
    x = _as_float(x)
    is_number = np.isfinite(x) & (x != 0)
    size = np.where(is_number, np.abs(x), 1)
    exponent = np.floor(np.log2(size)).astype("int32") + 1
    # The logarithm is rounded, so the exponent may be wrong by one.
    rough = np.ldexp(size, -exponent)
    exponent = exponent + (rough >= 1) - (rough < 0.5).astype("int32")
    mantissa = np.copysign(np.ldexp(size, -exponent), x)
    return np.where(is_number, mantissa, x), np.where(is_number, exponent, 0)


def round(a: Any, decimals: int = 0) -> Any:
    decimals = operator.index(decimals)
    if a.dtype.kind in "biu" and decimals >= 0:
        return a if a.dtype.kind != "b" else np.rint(a)
    if a.dtype.kind in "iu":
        return round(a.astype(np.float64), decimals).astype(a.dtype)
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


around = round


def fix(x: Any) -> Any:
    return np.trunc(x)


def isposinf(x: Any) -> Any:
    return np.isinf(x) & (x > 0)


def isneginf(x: Any) -> Any:
    return np.isinf(x) & (x < 0)


def iscomplex(x: Any) -> Any:
    return x.imag != 0


def isreal(x: Any) -> Any:
    return x.imag == 0


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Any:
    if not copy:
        raise _core.InvalidArgument(
            "nan_to_num: expected copy=True in a fused function, got "
            f"{copy!r}; return what is computed, and give out=x to the call"
        )
    if x.dtype.kind in "biu":
        return x
    if x.dtype.kind == "c":
        parts = (
            nan_to_num(part, copy, nan, posinf, neginf)
            for part in (x.real, x.imag)
        )
        return next(parts) + 1j * next(parts)
    dtype = x.dtype
    largest = _largest(dtype)
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    x = np.where(np.isnan(x), nan, x)
    # A dtype without infinity would convert the inf of `x == inf` to a number.
    x = np.where(np.isinf(x) & (x > 0), high, x)
    return np.where(np.isinf(x) & (x < 0), low, x).astype(dtype)


def _largest(dtype: np.dtype[Any]) -> float:
    """Return the largest number of a real dtype."""
    # NumPy's finfo() only knows NumPy's dtypes.
    if dtype.isbuiltin == 1:
        return float(np.finfo(dtype).max)
    return float(importlib.import_module("ml_dtypes").finfo(dtype).max)


def angle(z: Any, deg: bool = False) -> Any:
    is_complex = z.dtype.kind == "c"
    angle = np.arctan2(z.imag, z.real) if is_complex else np.arctan2(0, z)
    return np.degrees(angle) if deg else angle


def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    low = a_min if min is None else min
    high = a_max if max is None else max
    return functions.clip(a, low, high)


# ---- Products and norms.


def check_same_shape(name: str, a: Any, b: Any) -> None:
    """Refuse shapes that differ, because NumPy does not broadcast here."""
    if a.shape != b.shape:
        raise _core.InvalidArgument(
            f"{name}: expected arrays of one shape, got {a.shape} and {b.shape}"
        )


def _ndim(x: Any) -> int:
    """Return the number of axes without reading a list, which may change."""
    ndim: int = getattr(x, "ndim", 0)
    return ndim


def matmul(a: Any, b: Any) -> Any:
    """Return the product of two rows. Raise an error for other operands."""
    if _ndim(a) != 1 or _ndim(b) != 1:
        raise _core.InvalidArgument(
            f"matmul: expected two rows, got {_ndim(a)} and {_ndim(b)} axes: "
            "a program has elementwise operations and reductions, no products "
            "of matrices; multiply outside of the function, or with x.numpy()"
        )
    check_same_shape("matmul", a, b)
    products = a * b
    if products.dtype.kind == "b":
        return products.any()
    return products.sum(dtype=products.dtype)


def dot(a: Any, b: Any) -> Any:
    return a * b if _ndim(a) == 0 or _ndim(b) == 0 else matmul(a, b)


inner = dot


def vdot(a: Any, b: Any) -> Any:
    return matmul(np.conjugate(a) if a.dtype.kind == "c" else a, b)


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
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


def outer(a: Any, b: Any) -> Any:
    return np.ravel(a)[:, None] * np.ravel(b)


def norm(
    x: Any,
    ord: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    if isinstance(axis, Value):
        axis = as_integer(axis, "norm")
    axes = x.ndim if axis is None else np.size(axis)
    if ord is not None and axes != (2 if ord == "fro" else 1):
        raise _core.InvalidArgument(
            f"norm: expected {'two axes' if ord == 'fro' else 'one axis'} for "
            f"ord={ord!r}, got axis={axis!r} of {x.ndim} axes"
        )
    if axis is not None and axes not in (1, 2):
        raise _core.InvalidArgument(
            f"norm: expected one or two axes, got axis={axis!r}"
        )
    order = 2.0 if ord is None or ord == "fro" else float(ord)
    return functions.norm(x, order, axis, keepdims)


# ---- Views.


def method_of(name: str) -> Callable[..., Any]:
    def call_method(a: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(a, name)(*args, **keywords)

    return call_method


ravel, squeeze, swapaxes = map(method_of, ("ravel", "squeeze", "swapaxes"))


def copy(a: Any, order: str = "K") -> Any:
    if order not in ("C", "K", "A"):
        raise _core.InvalidArgument(f"copy: expected order='C', got {order!r}")
    return a.copy()


def reshape(a: Any, shape: Any, order: str = "C") -> Any:
    return a.reshape(shape, order=order)


def astype(x: Any, dtype: Any, /, **_: Any) -> Any:
    return x.astype(dtype)


def expand_dims(a: Any, axis: Any) -> Any:
    return functions.expand_dims(a, axis)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return _core._moveaxis(a, source, destination)


def broadcast_to(array: Any, shape: Any) -> Any:
    return array._broadcast_to(shape)


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    for a in args:
        if not isinstance(a, Value):
            raise _core.InvalidArgument(
                "broadcast_arrays: expected values of the fused function, got "
                f"{type(a).__name__}"
            )
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return tuple(np.broadcast_to(a, shape) if shape else a for a in args)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None and a.ndim == 0 and np.ndim(shift) < 2:
        return a
    if axis is None:
        if a.ndim != 1:
            raise _core.InvalidArgument(
                f"roll: expected axis= of a value with {a.ndim} axes, got none"
            )
        axis = 0
    if isinstance(shift, Value):
        shift = as_integer(shift, "roll")
    if isinstance(axis, Value):
        axis = as_integer(axis, "roll")
    is_flat = np.ndim(shift) < 2 and np.ndim(axis) < 2
    shifts, axes = np.broadcast_arrays(shift, axis) if is_flat else ((), ())
    if np.size(shifts) == 0:
        raise _core.InvalidArgument(
            "roll: expected shift and axis as integers or tuples of them"
        )
    for one, place in zip(np.ravel(shifts), np.ravel(axes), strict=True):
        a = _core._roll(a, int(one), int(place))
    return a


# ---- Joined arrays.


def in_dtype(name: str, arrays: Any, dtype: Any, casting: Any) -> Any:
    """Convert the arrays to `dtype`, if it is given."""
    if dtype is None:
        return arrays
    dtype = np.dtype(dtype)
    for a in arrays:
        if not np.can_cast(a.dtype, dtype, casting):
            raise _core.WrongType(
                f"{name}: expected arrays that cast to {dtype} by {casting!r}, "
                f"got {a.dtype}"
            )
    return [a.astype(dtype) for a in arrays]


def concatenate(
    arrays: Any,
    axis: Any = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    if out is not None:
        raise _core.InvalidArgument(
            "concatenate: expected no out= in a fused function; give out= to "
            "its call"
        )
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    arrays = in_dtype("concatenate", arrays, dtype, casting)
    return _core._concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, **keywords: Any) -> Any:
    for a in arrays:
        if a.ndim != arrays[0].ndim:
            raise InvalidArgument(
                f"stack: expected arrays of {arrays[0].ndim} axes, got one of "
                f"{a.ndim}"
            )
    parts = [expand_dims(a, axis) for a in arrays]
    return concatenate(parts, axis, out, **keywords)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return np.concatenate([arr, values], axis=axis)


def tile(A: Any, reps: Any) -> Any:
    counts = np.atleast_1d(reps).tolist()
    A = A[(None,) * (len(counts) - A.ndim)] if len(counts) > A.ndim else A
    for axis, count in zip(range(-len(counts), 0), counts, strict=True):
        if count != 1:
            A = np.concatenate([A] * count, axis)
    return A


def pad(
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
        ends = _PADS[mode](array, axis, before, after, numbers[axis])
        parts = zip((ends[0], array, ends[1]), (before, 1, after), strict=True)
        array = np.concatenate([part for part, width in parts if width], axis)
    return array


def _spread(row: Any, axis: int, width: int) -> Any:
    """Repeat the only row along an axis `width` times."""
    shape = list(row.shape)
    shape[axis] = width
    return np.broadcast_to(row, shape)


def _constant(
    x: Any, axis: int, before: int, after: int, numbers: Any
) -> list[Any]:
    row = x[along(axis, slice(1))]
    return [
        _spread(np.full_like(row, number), axis, width)
        for width, number in zip((before, after), numbers, strict=True)
    ]


def _edge(x: Any, axis: int, before: int, after: int, _: Any) -> list[Any]:
    return [
        _spread(x[along(axis, place)], axis, width)
        for width, place in ((before, slice(1)), (after, slice(-1, None)))
    ]


def _mirrored(first: int, *, is_wrapped: bool = False) -> Callable[..., Any]:
    """Return a function that pads by elements from index `first` on."""

    def ends(x: Any, axis: int, before: int, after: int, _: Any) -> list[Any]:
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
            return [x[along(axis, low)], x[along(axis, high)]]
        return [np.flip(x[along(axis, one)], axis) for one in (low, high)]

    return ends


_PADS: dict[str, Any] = {
    "constant": _constant,
    "edge": _edge,
    "reflect": _mirrored(1),
    "symmetric": _mirrored(0),
    "wrap": _mirrored(0, is_wrapped=True),
}


# ---- Differences and sums along an axis.


# Each difference needs one more view of the array.
_MOST_DIFFERENCES = 63


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    place = place_of(a, axis, "diff")
    n = as_integer(n, "diff")
    if not 0 <= n <= _MOST_DIFFERENCES:
        raise _core.InvalidArgument(
            f"diff: expected n of 0 to {_MOST_DIFFERENCES}, got {n}"
        )
    for _ in range(n):
        after = a[along(place, slice(1, None))]
        before = a[along(place, slice(None, -1))]
        is_bool = a.dtype.kind == "b"
        a = after != before if is_bool else after - before
    return a


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = np.moveaxis(y, axis, -1)
    if x is None:
        step = dx
    else:
        step = np.diff(x) if x.ndim == 1 else np.diff(x, axis=axis)
        step = step if x.ndim == 1 else np.moveaxis(step, axis, -1)
    return (step * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


trapz = trapezoid


# ---- Choices.


def where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise _core.InvalidArgument(
            "where: expected a condition and two values: the shape of what "
            "a condition alone selects is not known before the call"
        )
    return functions.where(condition, *choices)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Compare each element with each. Ignore NumPy's choice of a method."""
    del assume_unique, kind
    if isinstance(test_elements, Value):
        is_in = (np.expand_dims(element, -1) == np.ravel(test_elements)).any(-1)
    else:
        numbers = np.ravel(test_elements).tolist() or [np.nan]
        is_in = element == numbers[0]
        for number in numbers[1:]:
            is_in = is_in | (element == number)
    return ~is_in if invert else is_in


# ---- Functions of one number.


def _assigned(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast x as an assignment does. Drop its leading axes of length 1."""
    more = max(x.ndim - len(shape), 0)
    if x.shape[:more] == (1,) * more:
        x = x[(0,) * more]
    return np.broadcast_to(x, shape)


def whole(number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as it is assigned to elements of `dtype`.

    Integers get a float's whole part, as in NumPy. A program then checks its
    range.
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
    """Return the first number of a reduction in the dtype of its result."""
    if isinstance(initial, Value):
        return initial.astype(dtype)
    if isinstance(initial, np.generic):
        initial = initial.item()
    return bool(initial) if dtype == bool else whole(initial, dtype)


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    if isinstance(fill_value, Value):
        if fill_value.ndim > 0:
            fill_value = _assigned(fill_value, a.shape)
    else:  # NumPy casts the number
        # The cast of ml_dtypes would make a NaN of a number that is too large.
        of = dtype if dtype.isbuiltin == 1 else np.float64
        fill_value = np.full((), whole(fill_value, dtype), of)
    return a._filled(fill_value, dtype)


def _filled_with(number: int) -> Callable[..., Any]:
    return lambda a, dtype=None: full_like(a, number, dtype)


ones_like = _filled_with(1)
empty_like = zeros_like = _filled_with(0)
