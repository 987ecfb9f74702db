"""NumPy's functions that are no ufuncs, for the values of fused functions."""

from __future__ import annotations

import importlib
import itertools
import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import (
    _core,
    functions,
    made_functions,
    numpy_reductions,
    refusals,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Value = _core.Value

# Methods of a value with the arguments of NumPy's function.
_METHODS = (
    "argmax",
    "argmin",
    "copy",
    "ptp",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
)


def call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Call `function` with values. Raises InvalidArgument if it is unknown."""
    try:
        return _called(function, args, keywords)
    except refusals.ERRORS:
        # NumPy has all functions of numbers alone.
        numbers: list[Any] = []
        try:
            told = [_told(x, numbers) for x in (args, keywords)]
        except LookupError:
            numbers.clear()
        if not numbers:
            raise
    return function(*told[0], **told[1])


def _told(x: Any, numbers: list[Any]) -> Any:
    """Return x with numbers in place of values. Raises LookupError: one is none."""
    if isinstance(x, Value):
        numbers.append(x._told())
        return numbers[-1]
    if isinstance(x, dict):
        return {key: _told(part, numbers) for key, part in x.items()}
    if type(x) in (tuple, list):
        return type(x)(_told(part, numbers) for part in x)
    return x


def _called(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(
            "__array_function__: expected a function of NumPy, got "
            f"{type(function).__name__}"
        )
    known = _handlers().get(function) or _of_vocabulary(function)
    try:
        return known(*args, **keywords)
    except refusals.ERRORS as error:
        raise refusals.of_call(function, Value, error) from None


def has(function: Callable[..., Any]) -> bool:
    """Whether call() knows it."""
    name = getattr(function, "__name__", "")
    is_numpy = getattr(np, name, None) is function
    return function in _handlers() or (is_numpy and _core._is_operation(name))


def handler(name: str) -> Callable[..., Any]:
    """Return what stands for NumPy's function of this name."""
    function = getattr(np, name)
    return lambda *args, **keywords: call(function, args, keywords)


def _of_vocabulary(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call the function of programs of this name, which is no ufunc: sinc."""
    name = function.__name__

    def compute(*args: Any, **keywords: Any) -> Any:
        given = (*args, *keywords.values())
        value = next(x for x in given if isinstance(x, Value))
        return value.__array_ufunc__(function, "__call__", *args, **keywords)

    if not has(function):
        raise _core.InvalidArgument(
            f"{_module_of(function)}.{name}: a fused function has no such "
            f"operation; {_INSTEAD.get(name, _OUTSIDE)}"
        )
    return compute


def _module_of(function: Callable[..., Any]) -> str:
    # Before NumPy 2.2 ufuncs had none.
    return getattr(function, "__module__", None) or "numpy"


# The advice for functions that programs do not have.
_OUTSIDE = (
    "it has elementwise functions, reductions and views; call this one with "
    "arguments or results"
)
_CHOSEN = "where() chooses by a condition"
_INSTEAD = {
    "array_split": "split() makes parts of one size or between given places",
    "choose": _CHOSEN,
    "copyto": "where() makes a new one, which the function returns",
}


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise _core.InvalidArgument(
            "where: expected a condition and two values: the shape of what "
            "a condition alone selects is not known before the call"
        )
    return functions.where(condition, *choices)


def _clip(
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


def _norm(
    x: Any,
    ord: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    if isinstance(axis, Value):
        axis = _integer(axis, "norm")
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


def _expand_dims(a: Any, axis: Any) -> Any:
    return functions.expand_dims(a, axis)


def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return _core._Functions.moveaxis(a, source, destination)


# ---- Views: of values and of arrays.


def _flip(m: Any, axis: Any = None) -> Any:
    if isinstance(axis, Value):
        axis = _integer(axis, "flip")
    axes = range(m.ndim) if axis is None else axis
    index = [slice(None)] * m.ndim
    for one in (axes,) if isinstance(axes, int) else axes:
        place = _place_of(m, one, "flip")
        if index[place] != slice(None):
            raise _core.InvalidArgument(
                f"flip: expected each axis once, got {one} twice"
            )
        index[place] = slice(None, None, -1)
    return m[tuple(index)]


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    place = _place_of(ary, axis, "split")
    if np.ndim(indices_or_sections) == 0:
        count = _integer(indices_or_sections, "split")
        return _sections(ary, count, place)
    bounds = [0, *indices_or_sections, None]
    return [
        _along(ary, slice(start, stop), place)
        for start, stop in itertools.pairwise(bounds)
    ]


def _sections(a: Any, count: Any, place: int) -> list[Any]:
    """Return parts of the same size along one axis."""
    if isinstance(a, Value):
        return _core._Functions.split(a, count, place)
    if count < 1 or a.shape[place] % count != 0:
        raise _core.InvalidArgument(
            "split: expected a number of sections that divides "
            f"{a.shape[place]}, got {count}"
        )
    size = a.shape[place] // count
    bounds = range(0, size * count, size) if size else [0] * count
    return [_along(a, slice(start, start + size), place) for start in bounds]


# Each takes one more view of what it is computed of.
_MOST_DIFFERENCES = 63


def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    place = _place_of(a, axis, "diff")
    n = _integer(n, "diff")
    if not 0 <= n <= _MOST_DIFFERENCES:
        raise _core.InvalidArgument(
            f"diff: expected n of 0 to {_MOST_DIFFERENCES}, got {n}"
        )
    for _ in range(n):
        after = _along(a, slice(1, None), place)
        before = _along(a, slice(None, -1), place)
        is_bool = a.dtype.kind == "b"
        a = after != before if is_bool else after - before
    return a


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose() if axes is None else a.transpose(axes)


def _concatenate(
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
    arrays = made_functions.in_dtype("concatenate", arrays, dtype, casting)
    return _core._Functions.concatenate(arrays, axis)


def _stack(
    arrays: Any, axis: int = 0, out: None = None, **keywords: Any
) -> Any:
    parts = [_expand_dims(a, axis) for a in arrays]
    return _concatenate(parts, axis, out, **keywords)


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None and a.ndim == 0 and np.ndim(shift) < 2:
        return a
    if axis is None:
        if a.ndim != 1:
            raise _core.InvalidArgument(
                f"roll: expected axis= of a value with {a.ndim} axes, got none"
            )
        axis = 0
    if isinstance(shift, Value):
        shift = _integer(shift, "roll")
    if isinstance(axis, Value):
        axis = _integer(axis, "roll")
    is_flat = np.ndim(shift) < 2 and np.ndim(axis) < 2
    shifts, axes = np.broadcast_arrays(shift, axis) if is_flat else ((), ())
    if np.size(shifts) == 0:
        raise _core.InvalidArgument(
            "roll: expected shift and axis as integers or tuples of them"
        )
    for one, along in zip(np.ravel(shifts), np.ravel(axes), strict=True):
        a = _core._Functions.roll(a, int(one), int(along))
    return a


def _broadcast_to(array: Any, shape: Any) -> Any:
    return array._broadcast_to(shape)


def _along(a: Any, index: Any, place: int) -> Any:
    """Return a[index] along one axis."""
    whole = (*(slice(None),) * place, index)
    return a[whole]


def _integer(number: Any, name: str) -> int:
    """One of the call is asked for."""
    if not isinstance(number, (int, np.integer, Value)):
        raise _core.InvalidArgument(
            f"{name}: expected an integer, got {type(number).__name__}"
        )
    return operator.index(number)


def _place_of(a: Any, axis: int, name: str) -> int:
    axis = _integer(axis, name)
    if not -a.ndim <= axis < a.ndim:
        raise _core.InvalidArgument(
            f"{name}: expected an axis of {-a.ndim} to {a.ndim - 1}, got {axis}"
            if a.ndim
            else f"{name}: expected a value with axes, got one without"
        )
    return axis if axis >= 0 else axis + int(a.ndim)


# ---- Others.


def _nan_to_num(
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
            _nan_to_num(part, copy, nan, posinf, neginf)
            for part in (x.real, x.imag)
        )
        return next(parts) + 1j * next(parts)
    dtype = x.dtype
    largest = _largest(dtype)
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    x = np.where(np.isnan(x), nan, x)
    # Not `x == inf`: a dtype without infinity would make a number of that.
    x = np.where(np.isinf(x) & (x > 0), high, x)
    return np.where(np.isinf(x) & (x < 0), low, x).astype(dtype)


def _largest(dtype: np.dtype[Any]) -> float:
    """The largest number of a real dtype."""
    # NumPy's finfo() knows its own dtypes only.
    if dtype.isbuiltin == 1:
        return float(np.finfo(dtype).max)
    return float(importlib.import_module("ml_dtypes").finfo(dtype).max)


def reduce(
    name: str, a: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a value's reduction with what few calls have."""
    if not keywords.keys() & {"correction", "initial", "mean", "where"}:
        raise TypeError(
            f"{name}: expected arguments as NumPy has them, got "
            f"{', '.join(map(repr, (*args, *keywords)))}"
        )
    return call(getattr(np, name), (a, *args), keywords)


def _angle(z: Any, deg: bool = False) -> Any:
    is_complex = z.dtype.kind == "c"
    angle = np.arctan2(z.imag, z.real) if is_complex else np.arctan2(0, z)
    return np.degrees(angle) if deg else angle


def _result_type(*operands: Any) -> np.dtype[Any]:
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


def _method(name: str) -> Callable[..., Any]:
    def call_method(a: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(a, name)(*args, **keywords)

    return call_method


def _property(name: str) -> Callable[..., Any]:
    def get(a: Any) -> Any:
        return getattr(a, name)

    return get


@cache
def _handlers() -> dict[Any, Callable[..., Any]]:
    known: dict[str, Callable[..., Any]] = {
        name: _method(name) for name in _METHODS
    }
    known |= {name: _property(name) for name in ("real", "imag", "ndim")}
    known |= {
        "angle": _angle,
        "broadcast_to": _broadcast_to,
        "astype": lambda x, dtype, /, **_: x.astype(dtype),
        "clip": _clip,
        "concatenate": _concatenate,
        "count_nonzero": functions.count_nonzero,
        "diff": _diff,
        "expand_dims": _expand_dims,
        "fix": np.trunc,
        "flip": _flip,
        "fliplr": lambda m: _flip(m, 1),
        "flipud": lambda m: _flip(m, 0),
        "iscomplexobj": lambda x: x.dtype.kind == "c",
        "isrealobj": lambda x: x.dtype.kind != "c",
        "matrix_transpose": _property("mT"),
        "moveaxis": _moveaxis,
        "nan_to_num": _nan_to_num,
        "permute_dims": _transpose,
        "result_type": _result_type,
        "roll": _roll,
        "shape": _property("shape"),
        "size": _property("size"),
        "split": _split,
        "stack": _stack,
        "transpose": _transpose,
        "where": _where,
    }
    known |= {**made_functions.FUNCTIONS, **numpy_reductions.FUNCTIONS}
    handlers = {
        getattr(np, name): handler
        for name, handler in known.items()
        if hasattr(np, name)  # NumPy 1 has not all
    }
    handlers[np.linalg.norm] = _norm
    return handlers
