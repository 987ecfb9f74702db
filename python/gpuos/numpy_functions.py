"""Call NumPy's functions with the values of fused functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, numpy_names, refusals

if TYPE_CHECKING:
    from collections.abc import Callable

Value = _core.Value


def call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Call `function` with values. Raise InvalidArgument if it is unknown."""
    try:
        return _called(function, args, keywords)
    except refusals.ERRORS:
        # NumPy itself computes functions of numbers alone.
        numbers: list[Any] = []
        try:
            told = [_told(x, numbers) for x in (args, keywords)]
        except LookupError:
            numbers.clear()
        if not numbers:
            raise
    return function(*told[0], **told[1])


def _told(x: Any, numbers: list[Any]) -> Any:
    """Replace values by numbers. Raise LookupError if one has no number."""
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
    known = numpy_names.of_values().get(function) or _of_vocabulary(function)
    try:
        return known(*args, **keywords)
    except refusals.ERRORS as error:
        raise refusals.of_call(function, Value, error) from None


def has(function: Callable[..., Any]) -> bool:
    """Return whether call() knows the function."""
    name = getattr(function, "__name__", "")
    is_numpy = getattr(np, name, None) is function
    is_operation = is_numpy and name in numpy_names.OPERATIONS
    return is_operation or function in numpy_names.of_values()


def _of_vocabulary(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the program function of this name, for non-ufuncs such as sinc."""
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
    # Before NumPy 2.2 ufuncs do not have `__module__`.
    return getattr(function, "__module__", None) or "numpy"


# Errors give this advice for functions that programs do not have.
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


def reduce(
    name: str, a: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a value's reduction with arguments that few calls have."""
    if not keywords.keys() & {"correction", "initial", "mean", "where"}:
        raise TypeError(
            f"{name}: expected arguments as NumPy has them, got "
            f"{', '.join(map(repr, (*args, *keywords)))}"
        )
    return call(getattr(np, name), (a, *args), keywords)
