"""What runs when gpuos.Array computes: each operation is a program.

So it reads and writes in the order in which it was written, and returns at once.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, complex_functions
from gpuos.fusing import deferred

if TYPE_CHECKING:
    from collections.abc import Callable

Array = _core.Array
Value = _core.Value

# Different calls of one function that are remembered.
_KEPT = 1024


@cache
def operation(name: str) -> _core.Fused:
    """Return the fused function of NumPy's function `name`."""
    return deferred(getattr(np, name))


def power(x: Array, exponent: Any) -> Any:
    """Return x ** exponent, as a fused function with that number has it."""
    function, operands = _of_number(np.power, (x, exponent))
    return _fused(function)(*operands)


# Exponents that stand for another function: a square, a root, a reciprocal.
_EXPONENTS = (2, 1, 0.5, -1)


def _of_number(
    function: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the same with what a number in the text of a program decides."""
    if function is not np.power or len(operands) != 2:
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
    def power(x: Any) -> Any:
        return x**exponent

    return power


def in_place(name: str, x: Array, y: Any) -> Array:
    """Set x to function(x, y), as NumPy's in-place operators do."""
    function, operands = _of_number(getattr(np, name), (x, y))
    write(_into(function, x.dtype), x, *operands)
    return x


def write(fused: _core.Fused, to: Array, *operands: Any) -> None:
    """Run `fused` into `to`, as if all operands were read before.

    Where one of them overlaps it, as in x[1:] += x[:-1], the result is made in
    memory of its own first.
    """
    if any(type(x) is Array and _core._overlap(x, to) for x in operands):
        operands = (fused(*operands),)
        fused = operation("copy")
    fused(*operands, out=to)


def refuse(function: Callable[..., Any]) -> None:
    """Raise for a function of NumPy that programs have not."""
    module = getattr(function, "__module__", None) or "numpy"
    raise _core.InvalidArgument(
        f"{module}.{function.__name__}: arrays of gpuos have no such function; "
        "call it with x.numpy(), which waits and copies"
    )


# ---- NumPy's ufuncs.

# Those that are made of others.
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
) -> Any:
    """Run what NumPy's __array_ufunc__ is called for."""
    if any(isinstance(x, Value) for x in inputs):
        return NotImplemented
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(
            f"__array_ufunc__: expected a ufunc, got {type(ufunc).__name__}"
        )
    name = ufunc.__name__
    if not (name in _MADE or _core._is_operation(name)):
        refuse(ufunc)
    if method != "__call__":
        raise _core.InvalidArgument(
            f"{name}.{method}: an array has no such method; for a reduction "
            "call sum, prod, max, min, any or all"
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
    function, inputs = _of_number(ufunc, inputs)
    if dtype is not None:
        function = _of_dtype(function, np.dtype(dtype))
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if out is None and where is not True:
        raise _core.InvalidArgument(
            f"{name}: expected out= beside where=, got none, so that elements "
            "which are not computed have a value"
        )
    if not (out is None or isinstance(out, tuple) or hasattr(out, "dtype")):
        raise TypeError(
            f"{name}: out: expected an array, got {type(out).__name__}"
        )
    if out is None or isinstance(out, tuple):
        return _fused(function)(*inputs, out=out)
    fused = _into(function, out.dtype)
    if where is not True:
        fused = _where_true(function, out.dtype)
        inputs = (where, out, *inputs)
    if type(out) is not Array:
        return fused(*inputs, out=out)
    write(fused, out, *inputs)
    return out


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
    """Return the same beside a mask: where it is false, `before` stays."""

    def compute(mask: Any, before: Any, *operands: Any) -> Any:
        return np.where(
            mask, _cast(function(*operands), dtype, function), before
        )

    return deferred(compute)


def _cast(made: Any, dtype: np.dtype[Any], function: Any) -> Any:
    if not np.can_cast(made.dtype, dtype, "same_kind"):
        raise _core.InvalidArgument(
            f"{function.__name__}: expected an out of {made.dtype}, got {dtype}"
        )
    return made.astype(dtype)


@lru_cache(_KEPT)
def _of_dtype(function: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return the function of operands that are cast to `dtype` first."""

    def compute(*operands: Any) -> Any:
        return function(
            *(x.astype(dtype) if isinstance(x, Value) else x for x in operands)
        )

    compute.__name__ = function.__name__
    return compute


# ---- Other functions, with arguments that are no arrays.


def call(
    function: Callable[..., Any], *args: Any, out: Any = None, **keywords: Any
) -> Any:
    """Run `function` as a program of the arrays that it is given.

    Everything else, such as an axis, decides what the program is; so does a
    float, but for functions that compute with it.
    """
    operands: list[Any] = []
    has_numbers = function.__name__ in _WITH_NUMBERS

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
    # 1, 1.0 and True are equal.
    types = tuple(type(x) for x in (*fixed, *(x for _, x in named)))
    try:
        fused = _bound(function, fixed, named, types)
    except TypeError as error:  # it cannot be a key
        raise TypeError(f"{function.__name__}: {error}") from None
    return fused(*operands, out=out)


# Called with ever new numbers.
_WITH_NUMBERS = ("clip", "where", "nan_to_num", "add", "subtract")


class _Place:
    """Where an operand stands among the other arguments."""


_PLACE = _Place()


def _as_key(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return tuple(_as_key(x) for x in argument)
    return argument


@lru_cache(_KEPT)
def _bound(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: tuple[tuple[str, Any], ...],
    _types: tuple[type, ...],
) -> _core.Fused:
    def compute(*operands: Any) -> Any:
        given = iter(operands)

        def of(argument: Any) -> Any:
            return next(given) if argument is _PLACE else argument

        positional = [of(x) for x in args]
        return function(*positional, **{name: of(x) for name, x in keywords})

    compute.__name__ = function.__name__
    return deferred(compute)
