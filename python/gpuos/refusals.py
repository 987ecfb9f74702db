"""Make the errors of a call name NumPy's function instead of ours.

Also make the errors of pybind11 say what was expected.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable

_PREFIX = re.compile(r"(?:[\w.<>]+\(\)|([\w.]+):) ")
# Python begins its errors of a call with this text.
_OF_PYTHON = re.compile(r"[\w.<>]+\(\) (got|missing|takes) ")
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_OF_FUSED = (
    ("values of the fused function", "arrays"),
    ("; an array must be an argument of the function", ""),
    ("a value of a fused function", "an array"),
    (" in a fused function", ""),
    ("a fused function has", "arrays of gpuos have"),
    ("this one with arguments or results, and of arrays", "it"),
    ("call this one with arguments or results", "call it with x.numpy()"),
)


# The text of pybind11: "empty(): incompatible function arguments. ...", and in a
# later line "    1. (self: gpuos.Runtime, shape: object) -> ...".
_OF_PYBIND11 = re.compile(
    r"(.*?)\(\): incompatible .*?\n    1\. ([^\n(]*)"
    r"\((?:(?:self|arg0): ([^,)]*)(?:, )?)?([^\n]*?)\)(?: -> [^\n]*)?(?:\n|$)",
    re.DOTALL,
)


def reworded(
    text: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> str | None:
    """Return the text of an error of pybind11 in our words, or None."""
    found = _OF_PYBIND11.match(text)
    if found is None:
        return None
    call, made, own, wanted = (
        (part or "").replace("gpuos._core.", "gpuos.")
        for part in found.groups()
    )
    name = (found[2] or call).replace("gpuos._core.", "")
    expected = f"({wanted.lstrip()})"
    if own and args and not _is_of_class(args[0], own):
        expected, args, keywords = f"a {own} as self", args[:1], {}
    elif own or made:
        args = args[1:]
    given = [_core._kind_shown(value) for value in args]
    given += [f"{key}={_core._kind_shown(x)}" for key, x in keywords.items()]
    where = f"{name}: " if name else ""
    return f"{where}expected {expected}, got ({', '.join(given)})"


def _is_of_class(x: object, name: str) -> bool:
    names = (f"{k.__module__}.{k.__qualname__}" for k in type(x).__mro__)
    return "." not in name or any(
        n.replace("gpuos._core.", "gpuos.") == name for n in names
    )


# of_call() accepts these errors.
ERRORS = (_core.InvalidArgument, AttributeError, TypeError)


# Functions in C that have a signature only since NumPy 2.4.
_UNTOLD = {
    "concatenate": ("arrays", "axis", "out"),
    "dot": ("a", "b", "out"),
    "inner": ("a", "b"),
    "vdot": ("a", "b"),
    "where": ("condition", "x", "y"),
}


@cache
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters' names, or none if there is no signature."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return _UNTOLD.get(getattr(function, "__name__", ""), ())


def of_call(
    function: Callable[..., Any], kind: type, error: Exception
) -> Exception:
    """Return the error of a call with objects of `kind`. It names `function`.

    An argument is invalid if NumPy has it and our function lacks it. An object
    that is not an array is invalid, too.
    """
    name = function.__name__
    known = parameters_of(function)
    if isinstance(error, _core.InvalidArgument):
        error.args = (_of_kind(kind, _renamed(name, known, str(error))),)
        return error
    if isinstance(error, AttributeError):
        # NumPy also asks other arguments than the first, such as where=.
        if error.name is None or isinstance(error.obj, kind):
            return error
        text = (
            f"{name}: expected values of the fused function, got "
            f"{type(error.obj).__name__}"
        )
        return _core.WrongType(_of_kind(kind, text))
    text = _renamed(name, known, str(error))
    lacking = _KEYWORD.search(text)
    if lacking is not None:
        text = (
            f"{name}: expected no argument {lacking[1]}=, which gpuos does not "
            "have; leave it out"
        )
        if kind is _core.Array:
            text += ", or call NumPy with x.numpy()"
    elif kind is _core.Array and not _OF_PYTHON.match(str(error)):
        return error
    return _core.WrongType(text)


def _renamed(name: str, parameters: tuple[str, ...], text: str) -> str:
    """Return the text of the error after the name that the user called."""
    found = _PREFIX.match(text)
    if found is not None and found[1] == "reshape":
        return text  # an earlier line may have caused it
    if found is None or found[1] in parameters:
        return f"{name}: {text}"
    return f"{name}: {text[found.end() :]}"


def _of_kind(kind: type, text: str) -> str:
    if kind is not _core.Array:
        return text
    for ours, of_arrays in _OF_FUSED:
        text = text.replace(ours, of_arrays)
    return text
