"""Implement the methods of gpuos.Runtime that no task waits for."""

from __future__ import annotations

import importlib
import operator
from typing import TYPE_CHECKING, Any

from gpuos import _core, definitions

if TYPE_CHECKING:
    from collections.abc import Callable

Runtime = _core.Runtime
Array = _core.Array


def _numpy() -> Any:
    # Only programs that compute import NumPy.
    return importlib.import_module("numpy")


def _filled(array: Array, value: Any) -> Array:
    array.fill(value)  # a task, as for everything that arrays compute
    return array


def ones(self: Runtime, shape: Any, dtype: Any = "float32") -> Array:
    return _filled(self.empty(shape, dtype), 1)


def full(self: Runtime, shape: Any, value: Any, dtype: Any = None) -> Array:
    of = _numpy().asarray(value).dtype if dtype is None else dtype
    return _filled(self.empty(shape, of), value)


def zeros_like(self: Runtime, like: Any, dtype: Any = None) -> Array:
    if not (hasattr(like, "shape") and hasattr(like, "dtype")):
        raise TypeError(
            f"zeros_like: expected an array, got {_core._kind_shown(like)}"
        )
    return self.zeros(like.shape, like.dtype if dtype is None else dtype)


def _number(x: Any, what: str) -> int | float:
    if hasattr(type(x), "__index__"):
        return operator.index(x)
    return _core._real(x, what)


def arange(
    self: Runtime,
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
) -> Array:
    first, by = _number(start, "start"), _number(step, "step")
    if by == 0:
        raise _core.InvalidArgument("arange: expected a step, got 0")
    if stop is None:
        return self.array(_numpy().arange(0, first, by), dtype)
    return self.array(_numpy().arange(first, _number(stop, "stop"), by), dtype)


def linspace(
    self: Runtime,
    start: Any,
    stop: Any,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: Any = None,
) -> Array:
    bounds = _core._real(start, "start"), _core._real(stop, "stop")
    return self.array(_numpy().linspace(*bounds, num, endpoint), dtype)


def fuse(self: Runtime, function: Callable[..., Any]) -> _core.Fused:
    fusing = importlib.import_module("gpuos.fusing")
    made: _core.Fused = fusing.fuse(function, runtime=self)
    return made


def watch(
    self: Runtime, op: Any, path: Any = None, *, on_error: Any = None
) -> Any:
    definitions.check_no_transaction(self, "watch")
    watching = importlib.import_module("gpuos.watching")
    return watching.watch(self, op, path, on_error=on_error)


definitions.add_parts(
    Runtime, *(ones, full, zeros_like, arange, linspace, fuse, watch)
)
