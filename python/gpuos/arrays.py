"""Run the operations of gpuos.Array as programs.

Programs read and write in the order of the calls. Each call returns at once.
"""

from __future__ import annotations

import math
import numbers
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, complex_functions
from gpuos.fusing import deferred
from gpuos.numpy_names import OPERATIONS
from gpuos.refusals import parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable

Array = _core.Array
Value = _core.Value

# The number of different calls of one function that the caches keep.
_KEPT = 1024


@cache
def operation(name: str) -> _core.Fused:
    """Return the fused function that computes NumPy's function `name`."""
    return deferred(getattr(np, name))


def power(x: Any, exponent: Any) -> Any:
    """Return x ** exponent. The exponent may be a constant of the program."""
    is_two = type(exponent) is int and exponent == 2
    if is_two and type(x) is Array and x.dtype == bool:
        return operation("square")(x)  # only this power is int8
    function, operands = _of_number(np.power, (x, exponent))
    return _fused(function)(*operands)


# A program computes these as a square, x itself, a root or a reciprocal.
_EXPONENTS = (2, 1, 0.5, -1)


def _of_number(
    function: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Make the number a constant of the program if it decides the program."""
    if len(operands) != 2:
        return function, operands
    if function in _COMPARISONS:
        return _of_wide(function, operands)
    if function is not np.power:
        return function, operands
    exponent = operands[1]
    is_integer = type(exponent) is int
    if (is_integer and exponent < 0) or (
        (is_integer or type(exponent) is float) and exponent in _EXPONENTS
    ):
        return _power(exponent, is_integer), operands[:1]
    return function, operands


@lru_cache(_KEPT)
def _power(exponent: float, _is_integer: bool) -> Callable[..., Any]:
    def power(x: Any, dtype: Any = None) -> Any:
        return np.power(x, exponent, dtype=dtype)

    return power


# Their result is known for an integer that the other dtype cannot hold.
_COMPARISONS = (
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.not_equal,
)


def compare(name: str, x: Array, number: int) -> Any:
    """Compare x with a number that its dtype cannot hold."""
    return _fused(_with_number(getattr(np, name), number, 1))(x)


def compare_data(name: str, x: Array, data: Any) -> Any:
    """Compare x element by element with an object that is not an array."""
    is_text = isinstance(data, (str, bytes, dict, set, frozenset))
    is_list = isinstance(data, (list, tuple, range))
    # Copy the list, because reading its elements may run code that changes it.
    other = (
        np.empty((), "S")
        if is_text
        else np.asarray([*data] if is_list else data)
    )
    if other.dtype.kind in "biufc":
        return operation(name)(x, x.runtime.array(other))
    has_numbers = other.ndim > 0 or isinstance(data, numbers.Number)
    if has_numbers and other.dtype.kind == "O":  # Python compares the elements
        made = getattr(np, name)(x.numpy(), other)
        return x.runtime.array(made.astype(bool))
    if name not in ("equal", "not_equal"):
        return NotImplemented
    shape = np.broadcast_shapes(x.shape, other.shape)
    return x.runtime.full(shape, name == "not_equal", bool)


def _of_wide(
    function: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    for place, number in enumerate(operands):
        other = operands[1 - place]
        if type(number) is int and type(other) is Array:
            dtype = other.dtype
            is_known = _LEAST <= number <= _MOST
            if dtype.kind in "iu":
                limits = np.iinfo(dtype)
                is_known = bool(limits.min <= number <= limits.max)
            if not is_known:
                return _with_number(function, number, place), (other,)
    return function, operands


# The range of integers that a program can have.
_LEAST, _MOST = -(2**63), 2**64 - 1


@lru_cache(_KEPT)
def _with_number(
    function: Callable[..., Any], number: int, place: int
) -> Callable[..., Any]:
    def compute(x: Any, **keywords: Any) -> Any:
        pair = (x, number) if place == 1 else (number, x)
        return function(*pair, **keywords)

    compute.__name__ = function.__name__
    return compute


def in_place(name: str, x: Array, y: Any) -> Array:
    """Set x to function(x, y), as NumPy's in-place operators do.

    Return a new array if x is a number, because other names may refer to x.
    """
    function, operands = _of_number(getattr(np, name), (x, y))
    if _core._is_number(x):
        made: Array = _fused(function)(*operands)
        return made
    try:
        write(_into(function, x.dtype), x, *operands)
    except _core.InvalidArgument:
        refuse_shape(name, x.shape, y)
        raise
    return x


def refuse_shape(name: str, to: tuple[int, ...], value: Any) -> None:
    """Raise an error if `value` does not broadcast to the shape `to`."""
    shape = getattr(value, "shape", ())
    if _fits(shape, to):
        return
    text = f"{name}: expected what broadcasts to the array's shape {to}, got {shape}"
    if name in OPERATIONS:
        text += f"; numpy.{name}(a, b) gives a larger array"
    raise _core.InvalidArgument(text) from None


def _fits(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    pairs = zip(reversed(to), reversed(shape), strict=False)
    return len(shape) <= len(to) and all(b in (a, 1) for a, b in pairs)


def write(fused: _core.Fused, to: Array, *operands: Any) -> None:
    """Run `fused` into `to`, as if it read all operands before it writes.

    An operand may overlap `to`, as in x[1:] += x[:-1]. The result then goes to
    new memory first.
    """
    if any(type(x) is Array and _core._overlap(x, to) for x in operands):
        operands = (fused(*operands),)
        fused = operation("copy")
    fused(*operands, out=to)


def refuse(function: Callable[..., Any]) -> None:
    """Raise an error for a NumPy function that programs do not have."""
    module = getattr(function, "__module__", None) or "numpy"
    raise _core.InvalidArgument(
        f"{module}.{function.__name__}: arrays of gpuos have no such function; "
        "call it with y = x.numpy(), which copies; x[...] = y writes back"
    )


# ---- NumPy's ufuncs.

# Other functions compute these.
_MADE = ("divmod", "frexp", "modf", "matmul", "vecdot")


def call_ufunc(
    _: Array,
    ufunc: np.ufunc,
    method: str,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    **others: Any,
) -> Any:
    """Implement NumPy's __array_ufunc__."""
    if any(isinstance(x, Value) for x in inputs):
        return NotImplemented
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(
            f"__array_ufunc__: expected a ufunc, got {type(ufunc).__name__}"
        )
    name = ufunc.__name__
    if not (name in _MADE or name in OPERATIONS):
        refuse(ufunc)
    if method != "__call__":
        raise _core.InvalidArgument(
            f"{name}.{method}: an array has no such method; for a reduction "
            "call sum, prod, max, min, any or all; else call it with "
            "y = x.numpy(), which copies; x[...] = y writes back"
        )
    if others:
        raise _core.InvalidArgument(
            f"{name}: expected no arguments except out, where, dtype and "
            f"casting, got {', '.join(others)}"
        )
    if len(inputs) != ufunc.nin:
        raise TypeError(
            f"{name}: expected {ufunc.nin} arguments, got {len(inputs)}"
        )
    if casting != "same_kind":
        raise _core.InvalidArgument(
            f"{name}: expected casting='same_kind', got {casting!r}"
        )
    is_plain = out is None and where is True and dtype is None
    if is_plain and complex_functions.has(name, inputs[0]):
        return complex_functions.call(name, inputs[0])
    check_operands(name, inputs)
    function, inputs = _of_number(ufunc, inputs)
    if dtype is not None:
        function = _of_dtype(function, np.dtype(dtype))
    out = _one_out(name, out)
    if out is None and where is not True:
        raise _core.InvalidArgument(
            f"{name}: expected out= with where=, got none, so that elements "
            "which are not computed have a value"
        )
    if isinstance(out, tuple) and any(x is None for x in out):
        return _some_into(out, _fused(function)(*inputs))
    if out is None or isinstance(out, tuple):
        return _run(name, _fused(function), inputs, out)
    if _repeats(name, tuple(out.shape), inputs) or where is not True:
        refuse_shape(f"{name}: where", tuple(out.shape), where)
        fused = _where_true(function, out.dtype)
        return _write_to(out, fused, where, out, *inputs)
    into = _into(function, out.dtype)
    return _run(name, _fused(function), inputs, out, into)


def _one_out(name: str, out: Any) -> Any:
    """Return `out`. NumPy passes a single array as a tuple of one."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if not (out is None or isinstance(out, tuple) or hasattr(out, "dtype")):
        raise TypeError(
            f"{name}: out: expected an array, got {type(out).__name__}"
        )
    return out


def _write_to(out: Any, fused: _core.Fused, *inputs: Any) -> Any:
    if type(out) is not Array:
        return fused(*inputs, out=out)
    write(fused, out, *inputs)
    return out


def given(name: str, made: Array, out: Any) -> Any:
    """Return `made`, or write it to `out` and return `out`.

    Raises:
        TypeError: `out` is not an array.
        gpuos.InvalidArgument: The shape or dtype of `out` differs.
    """
    out = _one_out(name, out)
    if out is None:
        return made
    _refuse_out(name, made.shape, tuple(out.shape))
    return _write_to(out, _into(np.copy, out.dtype), made)


def _run(
    name: str,
    fused: _core.Fused,
    operands: tuple[Any, ...],
    out: Any,
    into: _core.Fused | None = None,
) -> Any:
    """Call `fused`, or `into`, which casts its result to the dtype of `out`.

    An error says which `out` fits, in NumPy's terms.
    """
    try:
        if into is not None:
            return _write_to(out, into, *operands)
        return fused(*operands, out=out)
    except _core.InvalidArgument:
        outs = out if isinstance(out, tuple) else (out,)
        if all(isinstance(to, (Array, np.ndarray)) for to in outs):
            made = fused(*operands)  # not computed without foreign memory
            results = made if isinstance(made, tuple) else (made,)
            for one, to in zip(results, outs, strict=False):
                _refuse_out(name, one.shape, to.shape)
                if into is None:
                    _check_cast(name, one.dtype, to.dtype, "no")
        raise


def _refuse_out(name: str, made: Any, out: Any) -> None:
    """Raise an error if the shape of `out` is not that of the result."""
    if out != made:
        raise _core.InvalidArgument(
            f"{name}: expected an out of shape {made}, got {out}"
        )


def check_operands(name: str, operands: tuple[Any, ...]) -> None:
    for x in operands:
        if isinstance(x, (list, tuple, str, type(None))):
            is_list = isinstance(x, (list, tuple))
            raise TypeError(
                f"{name}: expected arrays and numbers as operands, got a "
                f"{type(x).__name__}"
                + ("; np.array(x) makes an array of it" if is_list else "")
            )


def _repeats(
    name: str, shape: tuple[int, ...], inputs: tuple[Any, ...]
) -> bool:
    """Return whether an `out` of this shape repeats elements of the result."""
    shapes = [tuple(getattr(x, "shape", ())) for x in inputs]
    if name in ("matmul", "vecdot") or (
        shape in shapes and all(_fits(x, shape) for x in shapes)
    ):
        return False
    try:
        made = np.broadcast_shapes(*shapes)
    except ValueError:
        return False  # the call raises it with gpuos' words
    if not _fits(made, shape):
        _refuse_out(name, made, shape)
    return made != shape


def _some_into(outs: tuple[Any, ...], made: tuple[Any, ...]) -> Any:
    """Write each result to its array of `outs`, if one is given."""
    for out, result in zip(outs, made, strict=True):
        if out is not None:
            write(_into(np.copy, out.dtype), out, result)
    return tuple(
        result if out is None else out
        for out, result in zip(outs, made, strict=True)
    )


@lru_cache(_KEPT)
def _fused(function: Callable[..., Any]) -> _core.Fused:
    return deferred(function)


@lru_cache(_KEPT)
def _into(function: Any, dtype: np.dtype[Any]) -> _core.Fused:
    """Return the fused function whose result is cast to `dtype`."""

    def compute(*operands: Any) -> Any:
        return _cast(function(*operands), dtype, function)

    return deferred(compute)


@lru_cache(_KEPT)
def _where_true(function: Any, dtype: np.dtype[Any]) -> _core.Fused:
    """Return the function with a mask. Where it is false, `before` stays."""

    def compute(mask: Any, before: Any, *operands: Any) -> Any:
        return np.where(
            mask, _cast(function(*operands), dtype, function), before
        )

    return deferred(compute)


def _cast(made: Any, dtype: np.dtype[Any], function: Any) -> Any:
    _check_cast(function.__name__, made.dtype, dtype, "same_kind")
    return made.astype(dtype)


def _check_cast(name: str, made: Any, dtype: Any, casting: Any) -> None:
    if not np.can_cast(made, dtype, casting):
        raise _core.WrongType(
            f"{name}: expected an out of {made}, got {dtype}; leave out out=, "
            "and write x = x + y for x += y"
        )


@lru_cache(_KEPT)
def _of_dtype(function: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return the function with the argument `dtype`."""

    def compute(*operands: Any) -> Any:
        return function(*operands, dtype=dtype)

    compute.__name__ = function.__name__
    return compute


# ---- Results without axes. They are numbers unless NumPy returns an array.

_OF_ARRAYS = {
    np.broadcast_arrays,
    np.broadcast_to,
    np.isin,
    np.select,
    np.where,
}


def as_numpys(function: Callable[..., Any], made: Any) -> Any:
    """Return `made` as an array if NumPy's `function` returns an array."""
    if function in _OF_ARRAYS:
        for each in made if isinstance(made, tuple) else (made,):
            if each.ndim == 0:
                _core._set_number(each, is_number=False)
    return made


def number_like(x: Array, made: Array) -> Array:
    if made.ndim == 0:
        _core._set_number(made, _core._is_number(x))
    return made


# ---- Other functions. Some of their arguments are not arrays.


def call(
    function: Callable[..., Any], *args: Any, out: Any = None, **keywords: Any
) -> Any:
    """Run `function` as a program with its array arguments as operands.

    All other arguments, such as an axis, select the program. A float selects
    it too, except in functions that compute with the float.
    """
    if len(args) > _LEAST_BEFORE_OUT:
        args, keywords = _named_from_out(function, args, keywords)
        out = keywords.pop("out", out)
    operands: list[Any] = []
    has_numbers = function.__name__ in _WITH_NUMBERS
    if has_numbers:
        given = tuple(x for x in args if x is not None)  # a limit of clip()
        check_operands(function.__name__.strip("_"), given)

    def take(argument: Any) -> Any:
        if has_numbers and isinstance(argument, (float, complex)):
            is_operand = True
        else:
            is_operand = isinstance(argument, np.generic) or hasattr(
                type(argument), "__dlpack__"
            )
        if is_operand:
            operands.append(argument)
            return _PLACE
        return _as_key(argument)

    fixed = tuple(take(x) for x in args)
    named = tuple((name, take(x)) for name, x in keywords.items())
    # The key has types, because 1 == 1.0 == True and 0.0 == -0.0.
    types = tuple(_type_of(x) for x in (*fixed, *(x for _, x in named)))
    of_out = out.dtype if type(out) is Array else None
    try:
        fused = _bound(function, fixed, named, types, of_out)
    except _OfOthersError:
        fused = _bind(function, fixed, named, of_out)
    except TypeError as error:  # not hashable
        raise TypeError(f"{function.__name__}: {error}") from None
    return _run(function.__name__.strip("_"), fused, tuple(operands), out)


# NumPy's functions have at least this many arguments before out=.
_LEAST_BEFORE_OUT = 2


def _named_from_out(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Pass `out` and all arguments after it by keyword."""
    names = parameters_of(function)
    if "out" not in names[: len(args)]:
        return args, keywords
    place = names.index("out")
    named = zip(names[place:], args[place:], strict=False)
    return args[:place], {**keywords, **dict(named)}


# Programs call these with new numbers each time, so numbers are operands.
_WITH_NUMBERS = ("clip", "where", "nan_to_num", "add", "subtract")


class _Place:
    """Marks the position of an operand among the other arguments."""


_PLACE = _Place()


def _type_of(argument: Any) -> Any:
    kind = type(argument)
    if kind is tuple:
        return tuple(map(_type_of, argument))
    if kind is float:
        return kind if argument else (kind, math.copysign(1, argument))
    if isinstance(argument, (complex, np.inexact)):
        return kind, repr(argument)
    return kind


def _as_key(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return tuple(_as_key(x) for x in argument)
    return argument


@lru_cache(_KEPT)
def _bound(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: tuple[tuple[str, Any], ...],
    _types: tuple[Any, ...],
    of_out: np.dtype[Any] | None,
) -> _core.Fused:
    if not _is_plain((*args, *(x for _, x in keywords))):
        raise _OfOthersError
    return _bind(function, args, keywords, of_out)


class _OfOthersError(Exception):
    """An argument is an object of the user, which the cache must not keep."""


_NAMES = (None, ..., np._NoValue)
_PLAIN = {bool, int, float, complex, str, bytes, _Place, *map(type, _NAMES)}


def _is_plain(argument: Any) -> bool:
    if type(argument) is tuple:
        return all(map(_is_plain, argument))
    return type(argument) in _PLAIN or isinstance(
        argument, (type, np.dtype, np.generic)
    )


def _bind(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: tuple[tuple[str, Any], ...],
    of_out: np.dtype[Any] | None,
) -> _core.Fused:
    def compute(*operands: Any) -> Any:
        given = iter(operands)

        def of(argument: Any) -> Any:
            return next(given) if argument is _PLACE else argument

        positional = [of(x) for x in args]
        made = function(*positional, **{name: of(x) for name, x in keywords})
        if of_out is None or not isinstance(made, Value):
            return made
        return _cast(made, of_out, function)

    compute.__name__ = function.__name__
    return deferred(compute)
