"""Convert arguments of NumPy's functions in calls with gpuos arrays.

NumPy converts lists and some numbers to arrays. An array of integers may stand
for a number such as `axis=`. The conversion waits for such an array.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.refusals import ERRORS, of_call, parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable

Array = _core.Array

# The names of NumPy's parameters, in three groups: arrays, lists of arrays, and
# options of the computation.
_ARRAYS = frozenset(
    (
        *("A", "a", "a_max", "a_min", "append", "args", "arr"),
        *(
            "array",
            "ary",
            "arys",
            "b",
            "choices",
            "condition",
            "default",
            "element",
            "f",
        ),
        *("m", "max", "min", "p", "prepend", "v", "values", "varargs"),
        *("weights", "where", "x", "x1", "x2", "xi", "y"),
    )
)
_LISTS = frozenset(("arrays", "choicelist", "condlist", "tup"))
_HOW = frozenset(
    (
        *("axes", "axis", "axis1", "axis2", "constant_values", "correction"),
        *("ddof", "decimals", "destination", "indices_or_sections", "k"),
        *("keepdims", "n", "newshape", "offset", "ord", "pad_width", "reps"),
        *("shape", "shift", "source"),
    )
)
_NUMBERS = (int, float, complex)
# These parameters and functions treat a number as an array with a dtype.
_STRONG = frozenset(
    (
        *("args", "arrays", "arys", "tup", "xi"),
        *("append", "dot", "inner", "outer", "vdot"),
    )
)


def called(
    function: Callable[..., Any],
    own: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Run `own` with the arguments of a call of NumPy's `function`."""
    is_taken = _takes_numbers_as_arrays(function)
    while True:
        try:
            if is_taken:
                args, keywords = _taken(function, args, keywords)
            return own(*args, **keywords)
        except ERRORS as error:
            # Few calls have lists, so the search for lists follows an error.
            if is_taken:
                raise of_call(function, Array, error) from None
        is_taken = True


def _taken(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert the arguments of a call of `function` as NumPy does."""
    names = _places_of(function)
    runtime = _runtime_of((*args, *keywords.values()))

    def of(name: str, x: Any) -> Any:
        if name in _HOW:
            return _number(x)
        is_strong = name in _STRONG or function.__name__ in _STRONG
        if name in _LISTS and isinstance(x, (list, tuple)):
            return [as_array(each, is_strong) for each in x]
        return as_array(x, is_strong) if name in _ARRAYS else x

    def as_array(x: Any, is_strong: bool) -> Any:
        is_number = is_strong and isinstance(x, _NUMBERS)
        if runtime is None or not (is_number or isinstance(x, (list, tuple))):
            return x
        # Copy the list, because reading elements may run code that changes it.
        return runtime.array(np.asarray([*x] if isinstance(x, list) else x))

    last = names[-1] if names else ""
    given = tuple(
        of(names[i] if i < len(names) else last, x) for i, x in enumerate(args)
    )
    return given, {name: of(name, x) for name, x in keywords.items()}


@cache
def _takes_numbers_as_arrays(function: Callable[..., Any]) -> bool:
    """Return whether the function treats numbers as arrays with a dtype."""
    return bool(_STRONG & {function.__name__, *parameters_of(function)})


@cache
def _places_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of positional parameters. The last takes the rest."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return parameters_of(function)
    kinds = [each.kind for each in parameters]
    rest = inspect.Parameter.VAR_POSITIONAL
    count = kinds.index(rest) + 1 if rest in kinds else len(kinds)
    return parameters_of(function)[:count]


def _number(x: Any) -> Any:
    if isinstance(x, (Array, np.generic)):
        return x.tolist()
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(map(_number, x))
    return x


def _runtime_of(x: Any) -> _core.Runtime | None:
    if isinstance(x, Array):
        runtime: _core.Runtime = x.runtime
        return runtime
    if isinstance(x, (list, tuple)):
        return next(filter(None, map(_runtime_of, x)), None)
    return None
