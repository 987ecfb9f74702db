"""Make Python functions run as one submission."""

from __future__ import annotations

import inspect
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, overload

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable

# These keywords belong to the call of a fused function.
_RESERVED = ("out", "stream")


@overload
def fuse(
    function: Callable[..., Any], *, runtime: _core.Runtime | None = None
) -> _core.Fused: ...
@overload
def fuse(
    function: None = None, *, runtime: _core.Runtime | None = None
) -> Callable[[Callable[..., Any]], _core.Fused]: ...
def fuse(
    function: Callable[..., Any] | None = None,
    *,
    runtime: _core.Runtime | None = None,
) -> Any:
    """Make one program of a function of operators and NumPy functions.

    gpuos traces the function once for each structure. A structure has dtypes
    and numbers of axes, but no shapes. Values stand for the arguments while it
    is traced. Every call then runs the recorded operations. docs/programs.md
    says what the function may do.

    Parameters
    ----------
    function : callable
        Returns an array, or a tuple, list, dict or named tuple of arrays.
        Without it, fuse() returns a decorator.
    runtime : Runtime or None
        The runtime that runs the program. None selects the runtime of the first
        gpuos.Array of a call. If no argument is one, the device of the first
        array of another library selects the default runtime. The results are
        then arrays of that library.

    Returns
    -------
    Fused

    Raises
    ------
    InvalidArgument
        If the function has a parameter `out` or `stream`, because every call
        has these. A call raises it if the function does what a program cannot
        do. The message names the line.
    """
    if function is None:
        return partial(fuse, runtime=runtime)
    _check_parameters(function, _name_of(function))
    return _make(function, runtime, is_deferred=False)


def deferred(function: Callable[..., Any]) -> _core.Fused:
    """Return a fused function whose calls wait until a result is read."""
    return _make(function, None, is_deferred=True)


def _make(
    function: Callable[..., Any],
    runtime: _core.Runtime | None,
    *,
    is_deferred: bool,
) -> _core.Fused:
    # Only programs that fuse import NumPy.
    from gpuos.tracing import trace  # noqa: PLC0415

    fused = _core._make_fused(
        function, trace, runtime, _name_of(function), is_deferred
    )
    update_wrapper(fused, function)
    return fused


def _replacement(
    fused: _core.Fused, function: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the Python function that replaces that of a fused function.

    Fused.replace() calls it.
    """
    if isinstance(function, _core.Fused):
        function = vars(function)["__wrapped__"]
    name, own = _name_of(fused), vars(fused)["__wrapped__"]
    _check_parameters(function, name)
    known, given = (_parameters_of(f) for f in (own, function))
    if known != given:
        raise _core.InvalidArgument(
            f"replace: expected the parameters of {name}, {known}, got {given}"
        )
    return function


def _parameters_of(function: Callable[..., Any]) -> str:
    """Return names, kinds and defaults as text, without annotations."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=each.empty)
        for each in signature.parameters.values()
    ]
    return str(
        signature.replace(
            parameters=parameters, return_annotation=signature.empty
        )
    )


def _name_of(function: Callable[..., Any]) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def _check_parameters(function: Callable[..., Any], name: str) -> None:
    if not callable(function):
        raise TypeError(f"fuse: expected a function, got {function!r}")
    if not inspect.isfunction(function):  # ufuncs have `out`
        return
    for reserved in _RESERVED:
        if reserved in inspect.signature(function).parameters:
            raise _core.InvalidArgument(
                f"fuse: {name}: expected no parameter named {reserved!r}, "
                f"which is an argument of every call"
            )
