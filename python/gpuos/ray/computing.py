"""Run one call in a member: operators, fused functions, functions."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.ray.changes import Operator

if TYPE_CHECKING:
    from gpuos.ray.view import View

_KEPT = 256  # functions that came here


def packed(f: Any) -> bytes:
    """Return a function, or an operator of a pool, to be sent once a map.

    Raises
    ------
    TypeError
        If it is neither; also for a gpuos.Operator, which is of one runtime.
    """
    if isinstance(f, str):
        f = Operator(f)
    if isinstance(f, _core.Operator):
        raise TypeError(
            f"expected an operator of the pool, got gpuos.Operator {f.name!r} "
            "of a runtime of its own; give its definition to pool.define()"
        )
    if isinstance(f, (Operator, _core.Fused)):
        return pickle.dumps(f)
    if not callable(f):
        raise TypeError(
            f"expected an operator, a fused function or a function, got "
            f"{type(f).__name__}"
        )
    from cloudpickle import dumps  # noqa: PLC0415 (for this alone)

    blob: bytes = dumps(f)
    return blob


_unpacked = lru_cache(_KEPT)(pickle.loads)


def compute(
    view: View, work: bytes, arrays: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """Run the work of packed(), and return a result that Ray can store."""
    f = _unpacked(work)
    if isinstance(f, Operator):
        return _submit(view, f.name, arrays, params)
    if isinstance(f, _core.Fused):
        return _kept(f(*(_near(view, x) for x in arrays), **params))
    return _kept(f(view, *arrays, **params))


def _submit(
    view: View, name: str, arrays: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """Run an operator; its output has the inputs' common shape and dtype."""
    inputs = [_near(view, x) for x in arrays]
    if not inputs:
        raise _core.InvalidArgument(
            f"{name}: expected one array or more, got none"
        )
    out = view.empty(
        np.broadcast_shapes(*(x.shape for x in inputs)),
        np.result_type(*(x.dtype for x in inputs)),
    )
    view.wait(view.submit(name, *inputs, out=out, **params))
    return _kept(out)


def _near(view: View, x: Any) -> Any:
    """Return an argument where the runtime can reach it."""
    if isinstance(x, np.ndarray) and view.options["backend"] == "cuda":
        return view.array(x)
    return x


def _kept(result: Any) -> Any:
    """Return a result with NumPy's arrays in place of gpuos', once done."""
    if isinstance(result, _core.Array):
        on_host = result.device == "host"
        return result.numpy(copy=False) if on_host else result.numpy()
    if isinstance(result, dict):
        return {key: _kept(value) for key, value in result.items()}
    if type(result) in (tuple, list):
        return type(result)(_kept(value) for value in result)
    return result
