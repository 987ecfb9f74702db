"""Implement the methods of gpuos.Value, which stands for an array in a trace.

A value that is computed of numbers alone has a number in each call. A method
that needs it calls `_told()`, which makes the number decide what is traced.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, numpy_functions
from gpuos.numpy_names import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Value = _core.Value

_NO_VALUE = (
    ": a traced value has no number yet; return it to read, print or format "
    "it; use where() instead of a branch, & | ~ instead of and, or, not, and "
    "maximum() and minimum() instead of max() and min()"
)
_NO_COUNT = (
    ": a traced value has no number yet, so that it is no count of a loop, no "
    "index and no size; take those from numbers and from shapes"
)
_NO_ELEMENTS = (
    ": a function goes through at most 64 elements of a traced value, each of "
    "which is a view; operators and reductions work on all of them"
)
_NO_CHANGE = (
    ": a traced value cannot be changed; where() and concatenate() make a new "
    "one, which the function returns"
)
_NO_MEMORY = (
    ": a traced value has no memory; use functions of NumPy that work on "
    "arrays of any kind"
)
_OUTSIDE = (
    "; a program has elementwise functions, reductions and views; call this "
    "one with arguments or results"
)
_MOST_ROWS = 64  # a call has no more arguments, and each row is a view of one


# ---- Methods that need the number of a value.

_UNKNOWN = object()


def _number(x: Value) -> Any:
    try:
        return x._told()
    except KeyError:
        return _UNKNOWN


def _asker(
    name: str, why: str, convert: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a method that converts the number and refuses other values."""

    def method(x: Value, *args: Any, **keywords: Any) -> Any:
        number = _number(x)
        if number is not _UNKNOWN:
            return convert(number, *args, **keywords)
        x._ask()
        raise _core.InvalidArgument(name + why)

    return method


def _refuser(name: str, why: str) -> Callable[..., Any]:
    def method(*_: Any, **__: Any) -> Any:
        raise _core.InvalidArgument(name + why)

    return method


def _truth(x: Value) -> Any:
    # The truth of a number decides, and not its value.
    truth = _core._number_result(operator.truth, (x,))
    if truth is not None and type(truth) is not Value:
        return truth
    return _as_bool(x if truth is None else truth)


_as_bool = _asker("__bool__", _NO_VALUE, lambda number: number)


def _text(x: Value) -> str:
    number = _number(x)
    return repr(x) if number is _UNKNOWN else str(number)


def _format(x: Value, form: str) -> str:
    number = _number(x)
    if number is _UNKNOWN and form:
        raise _core.InvalidArgument("__format__" + _NO_VALUE)
    return format(repr(x) if number is _UNKNOWN else number, form)


def _array(x: Value, *args: Any, **keywords: Any) -> Any:
    number = _number(x)
    if number is _UNKNOWN:
        raise _core.InvalidArgument("__array__" + _NO_MEMORY)
    return np.array(number, *args, **keywords)


def _rounder(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(*args: Any) -> Any:
        made = _core._number_result(function, args)
        if made is None:
            raise TypeError(
                f"{name}: expected a number, got an array; call np.{name}"
            )
        return made

    return method


def _of_number_or(
    name: str, function: Callable[..., Any], *more: Any
) -> Callable[..., Any]:
    """Return a method that calls Python's function, or the operation."""

    def method(x: Value) -> Any:
        made = _core._number_result(function, (x, *more))
        return _core._apply(name, (x,)) if made is None else made

    return method


def _attribute(x: Value, name: str) -> Any:
    is_special = name.startswith("__")
    # A Python number may have the attribute, such as bit_length().
    number = _UNKNOWN if is_special else _number(x)
    if number is not _UNKNOWN and hasattr(number, name):
        return getattr(number, name)
    raise AttributeError(
        f"{name}: a traced value has no such attribute"
        + ("" if is_special else _OUTSIDE)
    )


# ---- Reductions.


def _typed(x: Value, dtype: Any) -> Value:
    return x if dtype is None else x._astype(dtype)


def _reduction(name: str, *parameters: str) -> Callable[..., Any]:
    """Return the method of a reduction with NumPy's parameters."""
    is_mean = name in ("mean", "var", "std")

    def method(x: Value, *args: Any, **keywords: Any) -> Any:
        given = dict(zip(parameters, args, strict=False)) | keywords
        is_known = given.keys() <= set(parameters)
        if not is_known or len(given) < len(args) + len(keywords):
            return numpy_functions.reduce(name, x, args, keywords)
        if given.get("out") is not None:
            raise _core.InvalidArgument(
                f"{name}: expected no out= in a fused function; give out= to "
                "its call"
            )
        dtype = given.get("dtype")
        x = _typed(x, dtype)
        # NumPy's means in integers are neither exact nor means.
        if is_mean and dtype is not None and x.dtype.kind in "biu":
            raise _core.WrongType(
                f"{name}: dtype: expected a real or complex one, got {x.dtype}"
            )
        axis, keepdims = given.get("axis"), given.get("keepdims", False)
        made = _core._reduce(name, x, axis, keepdims, given.get("ddof", 0.0))
        return made if name == "mean" else _typed(made, dtype)

    return method


_PLAIN = ("axis", "out", "keepdims")
_TYPED = ("axis", "dtype", "out", "keepdims")
_SPREAD = ("axis", "dtype", "out", "ddof", "keepdims")


# ---- Views.


def _is_place(part: Any) -> bool:
    """Return whether the part is an integer. Arrays claim to be one."""
    if type(part) is Value:
        part._ask()
    if type(part) in (Value, _core.Array, bool):
        return False
    is_array = isinstance(part, np.ndarray) and part.ndim > 0
    return hasattr(type(part), "__index__") and not is_array


def _check_index(part: Any) -> None:
    """Raise InvalidArgument unless it is one of the parts that views have."""
    if isinstance(part, slice):
        for bound in (part.step, part.start, part.stop):
            if bound is not None and not isinstance(bound, bool):
                _check_place(bound)
    elif part is not None and part is not Ellipsis:
        _check_place(part)


def _check_place(part: Any) -> None:
    if not _is_place(part):
        got = "a value; where() chooses elements by a condition"
        if type(part) is not Value:
            got = (
                _core._kind_shown(part) + "; a program has no indices by arrays"
            )
        raise _core.InvalidArgument(
            "[]: expected integers, slices, None or ... that are known when "
            f"the function is traced, got {got}"
        )


def _item(x: Value, index: Any) -> Value:
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        _check_index(part)
    rests = sum(part is Ellipsis for part in parts)
    if rests > 1:
        raise _core.InvalidArgument(
            f"[]: expected at most one ..., got {rests}"
        )
    named = sum(part is not None and part is not Ellipsis for part in parts)
    if named > x.ndim:
        raise _core.InvalidArgument(
            f"[]: expected at most {x.ndim} indices, one for each axis, got "
            f"{named}"
        )
    places: list[Any] = []
    dims: list[int] = []  # remaining axes, and -1 for a new one
    for part in parts if rests else (*parts, Ellipsis):
        if part is None:
            dims.append(-1)
            continue
        is_rest = part is Ellipsis
        places += [None] * (x.ndim - named) if is_rest else [part]
        kept = x.ndim - named if is_rest else isinstance(part, slice)
        left = sum(d >= 0 for d in dims)
        dims += range(left, left + kept)
    return x._index(places, dims)


def _check_order(name: str, order: str) -> None:
    if order != "C":
        raise _core.InvalidArgument(
            f"{name}: expected order='C', got '{order}'"
        )


def _reshape(x: Value, *shape: Any, order: str = "C") -> Value:
    _check_order("reshape", order)
    return x._reshape(shape[0] if len(shape) == 1 else shape)


def _flattener(name: str) -> Callable[..., Value]:
    def method(x: Value, order: str = "C") -> Value:
        _check_order(name, order)
        return x._reshape(-1)

    return method


def _squeeze(x: Value, axis: Any = None) -> Value:
    if axis is None:
        axis = [d for d, extent in enumerate(x.shape) if extent == 1]
    return x._squeeze(axis)


def _transpose(x: Value, *axes: Any) -> Value:
    if len(axes) == 1 and not hasattr(type(axes[0]), "__index__"):
        return x._transpose(axes[0])
    return x._transpose(axes or None)


def _length(x: Value) -> int:
    if x.ndim == 0:
        raise TypeError("len: expected a value with axes, got one without")
    return x.shape[0]


def _rows(x: Value) -> Iterator[Value]:
    length = _length(x)
    if length > _MOST_ROWS:
        raise _core.InvalidArgument("__iter__" + _NO_ELEMENTS)
    return iter([x[i] for i in range(length)])


# ---- NumPy's protocols.


def _call_function(
    _: Value, function: Any, __: Any, args: Any, keywords: Any
) -> Any:
    made = _core._numbers_result(function, args, keywords)
    if made is not None:
        return made
    return numpy_functions.call(function, args, keywords)


def _check_keywords(name: str, keywords: dict[str, Any]) -> None:
    """Accept only dtype=. NumPy omits an out of None."""
    for keyword in keywords.keys() - {"dtype"}:
        instead = {
            "out": "return what is computed, and give out= to the call",
            "where": "return what is computed of where()",
        }.get(keyword, "values come by their place")
        raise _core.InvalidArgument(
            f"{name}: expected no {keyword}= in a fused function; {instead}"
        )


def _call_ufunc(
    _: Value, ufunc: Any, method: str, *inputs: Any, **keywords: Any
) -> Any:
    name = getattr(ufunc, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(f"ufunc: expected a str, got {type(name).__name__}")
    if method != "__call__":
        raise _core.InvalidArgument(
            f"{name}.{method}: a fused function has no such method; for a "
            "reduction call sum, prod, max, min, any or all"
        )
    if keywords:
        _check_keywords(name, keywords)
    if name in OPERATIONS or name in ("divmod", "modf", "frexp"):
        made = _core._numbers_result(ufunc, inputs, keywords)
        if made is not None:
            return made
    dtype = keywords.get("dtype")
    if dtype is None:
        return _compute(ufunc, name, inputs)
    return _compute_in(np.dtype(dtype), ufunc, name, inputs)


def _compute(ufunc: Any, name: str, operands: Sequence[Any]) -> Any:
    wanted = 2 if name == "divmod" else OPERATIONS.get(name)
    if wanted is None:
        return numpy_functions.call(ufunc, tuple(operands), {})
    # NumPy counts them, but a direct call of __array_ufunc__ does not.
    if len(operands) != wanted:
        raise _core.InvalidArgument(
            f"{name}: expected {wanted} operands, got {len(operands)}"
        )
    if name == "divmod":
        return divmod(operands[0], operands[1])
    return _core._apply(name, tuple(operands))


def _compute_in(
    dtype: np.dtype[Any], ufunc: Any, name: str, operands: Sequence[Any]
) -> Any:
    """Return results of `dtype`, as NumPy computes them.

    The operands have this dtype, or one that leads to it, as bool is the result
    of comparisons.
    """

    def is_cast(i: int, x: Any) -> bool:
        # A Python number has no dtype of its own, but an exponent has one.
        is_array = type(x) is Value and not x._is_number
        return is_array and (name != "ldexp" or i == 0)

    cast = [
        x._astype(dtype)
        if is_cast(i, x) and _core._can_cast(x.dtype, dtype)
        else x
        for i, x in enumerate(operands)
    ]
    is_all = all(
        not is_cast(i, x) or _core._can_cast(x.dtype, dtype)
        for i, x in enumerate(operands)
    )
    for given in (cast, operands) if is_all else (operands,):
        made = _compute(ufunc, name, given)
        results = made if isinstance(made, tuple) else (made,)
        if all(type(x) is Value and x.dtype == dtype for x in results):
            return made
    got = ", ".join(
        str(x.dtype)
        if type(x) is Value
        else f"{type(x).__module__}.{type(x).__qualname__}"
        for x in operands
    )
    raise _core.WrongType(
        f"{name}: expected operands that cast to {dtype} by 'same_kind', got "
        f"{got}"
    )


def _numpys(name: str) -> Callable[..., Any]:
    def method(*args: Any, **keywords: Any) -> Any:
        return numpy_functions.call(getattr(np, name), args, keywords)

    return method


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **keywords: getattr(x, name)(*args, **keywords)


_OF_NUMBERS = ("item", "tolist")

# bindings/values/register_value.cpp lists these names.
METHODS: dict[str, Callable[..., Any]] = {
    **{name: _reduction(name, *_PLAIN) for name in ("max", "min", "ptp")},
    **{name: _reduction(name, *_PLAIN) for name in ("any", "all")},
    **{name: _reduction(name, *_PLAIN) for name in ("argmax", "argmin")},
    **{name: _reduction(name, *_TYPED) for name in ("sum", "prod", "mean")},
    **{name: _reduction(name, *_SPREAD) for name in ("var", "std")},
    **{name: _numpys(name) for name in ("clip", "round", "dot")},
    **{name: _asker(name, _NO_VALUE, _method(name)) for name in _OF_NUMBERS},
    "__array__": _array,
    "__array_function__": _call_function,
    "__array_ufunc__": _call_ufunc,
    "__bool__": _truth,
    "__ceil__": _rounder("ceil", math.ceil),
    "__complex__": _asker("__complex__", _NO_VALUE, complex),
    "__contains__": _refuser("__contains__", _NO_ELEMENTS),
    "__delitem__": _refuser("__delitem__", _NO_CHANGE),
    "__float__": _asker("__float__", _NO_VALUE, float),
    "__floor__": _rounder("floor", math.floor),
    "__format__": _format,
    "__getattr__": _attribute,
    "__getitem__": _item,
    "__index__": _asker("__index__", _NO_COUNT, operator.index),
    "__int__": _asker("__int__", _NO_VALUE, int),
    "__iter__": _rows,
    "__len__": _length,
    "__round__": _rounder("round", round),
    "__setitem__": _refuser("__setitem__", _NO_CHANGE),
    "__str__": _text,
    "__trunc__": _rounder("trunc", math.trunc),
    "astype": lambda x, dtype, **_: x._astype(dtype),
    "conj": _of_number_or("conjugate", operator.methodcaller("conj")),
    "conjugate": _of_number_or("conjugate", operator.methodcaller("conjugate")),
    "copy": lambda x, *_: x,
    "flatten": _flattener("flatten"),
    "imag": _of_number_or("imag", getattr, "imag"),
    "ravel": _flattener("ravel"),
    "real": _of_number_or("real", getattr, "real"),
    "reshape": _reshape,
    "size": lambda x: math.prod(x.shape),
    "squeeze": _squeeze,
    "transpose": _transpose,
}

# Python's errors about arguments have these names.
for _name, _method in METHODS.items():
    setattr(_method, "__qualname__", _name)  # noqa: B010
