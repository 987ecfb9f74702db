"""Define functions over axes: statistics, indices of extremes, running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuos import _core, composite_functions
from gpuos.array_api._elementwise import named, run
from gpuos.array_api._manipulation import reshape
from gpuos.arrays import operation

Array = _core.Array
Value = _core.Value


def _plain(name: str) -> Any:
    function = getattr(np, name)

    def compute(x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Any:
        return run(function, x, axis=axis, keepdims=keepdims)

    return named(compute, name, f"numpy.{name}")


def _total(name: str) -> Any:
    function = getattr(np, name)

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


def _distance(name: str) -> Any:
    function = getattr(np, name)

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


all, any, argmax, argmin, count_nonzero, max, mean, min = map(
    _plain,
    ("all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min"),
)
prod, sum = map(_total, ("prod", "sum"))
std, var = map(_distance, ("std", "var"))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    made: Array = run(composite_functions.vecdot, x1, x2, axis)
    return made


def isin(x1: Any, x2: Any, /, *, invert: Any = False) -> Array:
    """Return whether elements of x1 are in x2. Compare each with each."""
    if not isinstance(x2, (Array, Value)):
        made: Array = operation("equal")(x1, x2)
    elif not isinstance(x1, (Array, Value)):
        made = any(operation("equal")(x1, x2))
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
    beside = {"prepend": prepend, "append": append}
    given = {name: x for name, x in beside.items() if x is not None}
    made: Any = np.diff(x, n, axis, **given)
    return made  # type: ignore[no-any-return]
