"""Functions over axes: statistics, places of extremes, running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuos import _core
from gpuos.array_api._elementwise import equal, named, run
from gpuos.array_api._manipulation import concat, reshape
from gpuos.array_functions import along, axes_of
from gpuos.made_functions import FUNCTIONS

Array = _core.Array
Value = _core.Value


def _plain(name: str, function: Any) -> Any:
    def compute(x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Any:
        return run(function, x, axis=axis, keepdims=keepdims)

    return named(compute, name, f"numpy.{name}")


def _total(name: str, function: Any) -> Any:
    def compute(
        x: Array,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        keepdims: Any = False,
    ) -> Any:
        return run(function, x, axis=axis, dtype=dtype, keepdims=keepdims)

    return named(compute, name, f"numpy.{name}")


def _distance(name: str, function: Any) -> Any:
    def compute(
        x: Array,
        /,
        *,
        axis: Any = None,
        correction: float = 0.0,
        keepdims: Any = False,
    ) -> Any:
        return run(function, x, axis=axis, ddof=correction, keepdims=keepdims)

    return named(compute, name, f"numpy.{name}")


all = _plain("all", np.all)
any = _plain("any", np.any)
argmax = _plain("argmax", np.argmax)
argmin = _plain("argmin", np.argmin)
count_nonzero = _plain("count_nonzero", np.count_nonzero)
max = _plain("max", np.max)
mean = _plain("mean", np.mean)
min = _plain("min", np.min)
prod = _total("prod", np.prod)
std = _distance("std", np.std)
sum = _total("sum", np.sum)
var = _distance("var", np.var)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    made: Array = run(FUNCTIONS["vecdot"], x1, x2, axis)
    return made


def isin(x1: Any, x2: Any, /, *, invert: Any = False) -> Array:
    """Whether elements of x1 are in x2: each is compared with each."""
    if not isinstance(x2, (Array, Value)):
        made: Array = equal(x1, x2)
    elif not isinstance(x1, (Array, Value)):
        made = any(equal(x1, x2))
    else:
        made = run(_isin, x1, reshape(x2, (-1,)))
    return ~made if invert else made


def _isin(x1: Any, x2: Any) -> Any:
    return (np.expand_dims(x1, -1) == x2).any(-1)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    parts = [part for part in (prepend, x, append) if part is not None]
    made = concat(parts, axis=axis) if len(parts) > 1 else x
    (axis,) = axes_of(axis, x.ndim)
    later, earlier = along(axis, 1, None), along(axis, 0, -1)
    for _ in range(n):
        made = made[later] - made[earlier]
    return made
