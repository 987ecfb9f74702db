"""Run a function on values that stand for its arguments."""

from __future__ import annotations

import copy
import enum
import linecache
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

_OWN_FOLDERS = tuple(
    f"{Path(module).parent}{os.sep}" for module in (__file__, np.__file__)
)

_CHANGES_NOTHING = (
    "; what is assigned to an argument, as x += 1, changes no array: return x, "
    "and give out=x to the call"
)

Rebuild = Any  # None, or a type or function that takes all arrays


def trace(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> tuple[list[_core.Value], Rebuild]:
    """Return the values that `function` returns, and how to rebuild the result.

    Raises
    ------
    InvalidArgument
        If a program cannot do what the function does. The last line of the
        message is the line of the function.
    """
    try:
        result = function(*args, **keywords)
    except _core.InvalidArgument as error:
        place = _place_of(error.__traceback__)
        if place is not None and not hasattr(error, "fused_line"):
            # Keep the error, because its traceback also leads to the line.
            error.args = (f"{error}{place}",)
            error.fused_line = place  # type: ignore[attr-defined]
        raise
    leaves: list[_core.Value] = []
    rebuild = _take_apart(result, leaves, function)
    if not leaves:
        _refuse_result(function, f"{result!r}{_CHANGES_NOTHING}")
    if isinstance(result, _core.Value):
        return leaves, None
    if type(result) is tuple and all(map(_is_value, result)):
        return leaves, tuple
    return leaves, lambda arrays: rebuild(iter(arrays))


def _is_value(x: Any) -> bool:
    return isinstance(x, _core.Value)


def _place_of(traceback: TracebackType | None) -> str | None:
    """Return `file:line: text` of the innermost line of the user's code."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_OWN_FOLDERS):
            line = traceback.tb_lineno
            text = linecache.getline(file, line).strip()
            place = f"\n  {file}:{line}" + (f": {text}" if text else "")
        traceback = traceback.tb_next
    return place


def warn_of_many(
    function: Callable[..., Any],
    name: str,
    count: int,
    most: int,
    deciding: list[int | str],
    asks_shapes: bool,
    traceback: TracebackType | None,
) -> None:
    """Warn that each call may trace a function, and say why.

    `deciding` has the positions or names of arguments whose values select the
    program.
    """
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    told = [
        repr(names[each] if each < len(names) else f"argument {each}")
        if isinstance(each, int)
        else repr(each)
        for each in deciding
    ]
    asked = [f"the value of {', '.join(told)}"] if told else []
    asked += ["shapes"] if asks_shapes else []
    place = _place_of(traceback) or _line_of(function)
    warnings.warn(
        f"{name}: expected few programs of a function, got {count}: it asks for "
        f"{' and '.join(asked)}, so each new one is traced again, and the last {most} are "
        "kept; use NumPy's functions, as np.cos(t) for math.cos(t) and "
        f"np.where(t > 1, a, b) for if, or give an array{place}",
        RuntimeWarning,
        stacklevel=_level_of_user(),
    )


def warn_of_many_shapes(
    function: Callable[..., Any], name: str, count: int, most: int
) -> None:
    """Warn that new lengths of lists or new keys of dicts are traced again."""
    warnings.warn(
        f"{name}: expected few programs of a function, got {count}: each new "
        "length of a list and each new key of a dict is traced again, and the "
        f"last {most} are kept; give an array with one axis more, or lists of "
        "one length"
        f"{_line_of(function)}",
        RuntimeWarning,
        stacklevel=_level_of_user(),
    )


def _level_of_user() -> int:
    """Return the stack level of the user's line, for warnings."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(
        _OWN_FOLDERS
    ):
        level, frame = level + 1, frame.f_back
    return level


def _line_of(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f"\n  {code.co_filename}:{code.co_firstlineno}" if code else ""


# Results of these types keep their value from the time of tracing.
_CONSTANTS = (bool, int, float, complex, str, bytes, enum.Enum, np.dtype, type)


def _take_apart(
    result: Any, leaves: list[_core.Value], function: Callable[..., Any]
) -> Callable[[Any], Any]:
    if isinstance(result, _core.Value):
        if result._is_number:
            _refuse_result(function, "a number that depends on no array")
        leaves.append(result)
        return next
    if result is None or isinstance(result, _CONSTANTS):
        return lambda _: result
    if isinstance(result, dict):
        named = [
            (key, _take_apart(part, leaves, function))
            for key, part in result.items()
        ]
        return _dict_maker(result, named)
    if not isinstance(result, (tuple, list)):
        _refuse_result(function, f"{result!r}")
    parts = [_take_apart(part, leaves, function) for part in result]
    kind = type(result)
    if hasattr(kind, "_make"):  # a named tuple
        return lambda arrays: kind._make([part(arrays) for part in parts])
    return lambda arrays: kind([part(arrays) for part in parts])


def _dict_maker(
    like: dict[Any, Any], named: list[tuple[Any, Callable[[Any], Any]]]
) -> Callable[[Any], dict[Any, Any]]:
    empty = copy.copy(like)  # keeps its class and attributes
    empty.clear()

    def make(arrays: Any) -> dict[Any, Any]:
        made = copy.copy(empty)
        for key, part in named:
            made[key] = part(arrays)
        return made

    return make


def _refuse_result(function: Callable[..., Any], got: str) -> NoReturn:
    name = getattr(function, "__name__", "fuse")
    raise _core.InvalidArgument(
        f"{name}: expected arrays computed from the arguments as results, got "
        f"{got}{_line_of(function)}"
    )
