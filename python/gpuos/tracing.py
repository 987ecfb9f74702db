"""Running a function on values that stand for its arguments."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_OWN_FOLDERS = tuple(
    f"{Path(module).parent}{os.sep}" for module in (__file__, np.__file__)
)

Rebuild = Any  # None, a type or a function of the tuple of all arrays


def trace(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> tuple[list[_core.Value], Rebuild]:
    """Return the values that `function` gives, and how to put them together.

    Raises
    ------
    InvalidArgument
        What a program cannot do; below it the line of the function that
        did it.
    """
    try:
        result = function(*args, **keywords)
    except _core.InvalidArgument as error:
        place = _place_of(error.__traceback__)
        if place is not None and not hasattr(error, "fused_line"):
            # One error with one traceback: it leads to the line too.
            error.args = (f"{error}{place}",)
            error.fused_line = place  # type: ignore[attr-defined]
        raise
    leaves: list[_core.Value] = []
    rebuild = _take_apart(result, leaves, function)
    if isinstance(result, _core.Value):
        return leaves, None
    if type(result) is tuple and all(
        isinstance(part, _core.Value) for part in result
    ):
        return leaves, tuple
    return leaves, lambda arrays: rebuild(iter(arrays))


def _place_of(traceback: TracebackType | None) -> str | None:
    """A line `file:line: text` of the innermost place that is the user's."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_OWN_FOLDERS):
            line = traceback.tb_lineno
            text = linecache.getline(file, line).strip()
            place = f"\n  {file}:{line}" + (f": {text}" if text else "")
        traceback = traceback.tb_next
    return place


def _take_apart(
    result: Any, leaves: list[_core.Value], function: Callable[..., Any]
) -> Callable[[Any], Any]:
    if isinstance(result, _core.Value):
        if result._is_number:
            _refuse_result(function, "a number that depends on no array")
        leaves.append(result)
        return next
    if isinstance(result, dict) and result:
        named = [
            (key, _take_apart(part, leaves, function))
            for key, part in result.items()
        ]
        return lambda arrays: {key: part(arrays) for key, part in named}
    if not isinstance(result, (tuple, list)):
        _refuse_result(function, f"{result!r}")
    parts = [_take_apart(part, leaves, function) for part in result]
    if not parts:
        _refuse_result(function, f"{result!r}")
    kind = type(result)
    if hasattr(kind, "_make"):  # a named tuple
        return lambda arrays: kind._make([part(arrays) for part in parts])
    return lambda arrays: kind([part(arrays) for part in parts])


def _refuse_result(function: Callable[..., Any], got: str) -> None:
    code = getattr(function, "__code__", None)
    place = f"\n  {code.co_filename}:{code.co_firstlineno}" if code else ""
    name = getattr(function, "__name__", "fuse")
    raise _core.InvalidArgument(
        f"{name}: expected arrays computed from the arguments as results, got "
        f"{got}{place}"
    )
