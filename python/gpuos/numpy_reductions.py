"""Implement NumPy's reductions with where=, initial= and without NaN.

The methods of values do not have these. A function without an underscore
implements NumPy's function of its name. See `numpy_names.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, functions
from gpuos.composite_functions import check_same_shape, method_of, start_of

if TYPE_CHECKING:
    from collections.abc import Callable

# The first is the result of an empty reduction. The second adds one value.
_STARTS: dict[str, tuple[Any, Any]] = {
    "all": (True, np.logical_and),
    "any": (False, np.logical_or),
    "max": (None, np.maximum),
    "min": (None, np.minimum),
    "prod": (1, np.multiply),
    "sum": (0, np.add),
}


def _extreme(
    a: Any, is_max: bool, axis: Any = None, *, keepdims: bool = False
) -> Any:
    """Return the largest or least element, or some number if there is none."""
    return _core._reduce("_max" if is_max else "_min", a, axis, keepdims)


def _reduction(name: str) -> Callable[..., Any]:
    """Return the method with the further arguments of NumPy's function."""
    neutral, take_in = _STARTS[name]

    def call_method(
        a: Any,
        *args: Any,
        initial: Any = np._NoValue,
        where: Any = True,
        **keywords: Any,
    ) -> Any:
        if where is not True:
            rest = initial if neutral is None else neutral
            if rest is np._NoValue:
                raise _core.InvalidArgument(
                    f"{name}: expected initial= with where=, got none"
                )
            a = np.where(where, a, rest)
        if initial is np._NoValue:
            return getattr(a, name)(*args, **keywords)
        if neutral is not None:
            made = getattr(a, name)(*args, **keywords)
        else:
            made = _extreme(a, name == "max", *args, **keywords)
        return take_in(made, start_of(initial, made.dtype))

    return call_method


# ---- Means.


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    if where is True or out is not None:  # The method refuses out=.
        return a.mean(axis, dtype, out, keepdims)
    return _mean_where(a, where, axis, dtype, keepdims=keepdims)


def _spread(name: str) -> Callable[..., Any]:
    """Return the function of the variance or of its root."""

    def call_method(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = np._NoValue,
        correction: Any = np._NoValue,
    ) -> Any:
        if correction is not np._NoValue:
            if ddof != 0:
                raise _core.InvalidArgument(
                    f"{name}: expected ddof= or correction=, got both"
                )
            ddof = correction
        is_plain = where is True and mean is np._NoValue
        if is_plain or out is not None:  # The method refuses out=.
            return getattr(a, name)(axis, dtype, out, ddof, keepdims)
        of = (where, axis, dtype, ddof, mean)
        return _SPREADS[name](a, *of, keepdims=keepdims)

    return call_method


def _wide(a: Any, dtype: Any) -> Any:
    """Return the dtype that computes a mean of `a`, and the mean's dtype."""
    own = a.dtype if dtype is None else np.dtype(dtype)
    if own.kind in "biu":
        if dtype is not None:
            raise _core.WrongType(f"dtype: expected floats, got {own}")
        return np.dtype("float64"), np.dtype("float64")
    return np.dtype("float32") if own.itemsize < 4 else own, own


def _mean_where(
    a: Any,
    mask: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the mean of the elements where a mask is true."""
    wide, own = _wide(a, dtype)
    total = np.where(mask, a.astype(wide), 0).sum(axis, keepdims=keepdims)
    count = _count(a, mask, axis, keepdims)
    return (total / count.astype(total.real.dtype)).astype(own)


def _count(a: Any, mask: Any, axis: Any, keepdims: bool) -> Any:
    # A mask may have fewer axes than `a`.
    mask = np.logical_and(mask, np.ones_like(a, bool))
    return mask.sum(axis, keepdims=keepdims)


def _var_where(
    a: Any,
    mask: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    mean: Any = np._NoValue,
    *,
    keepdims: bool = False,
) -> Any:
    wide, own = _wide(a, dtype)
    a = a.astype(wide)
    if mean is np._NoValue:
        mean = _mean_where(a, mask, axis, keepdims=True)
    apart = a - mean
    is_complex = own.kind == "c"
    squares = (apart * apart.conj()).real if is_complex else apart * apart
    total = np.where(mask, squares, 0).sum(axis, keepdims=keepdims)
    count = _count(a, mask, axis, keepdims)
    rest = (count - ddof).astype(total.dtype)
    known = np.where(count > ddof, total / rest, np.nan)
    return known if is_complex else known.astype(own)


def _std_where(
    a: Any,
    mask: Any,
    axis: Any = None,
    dtype: Any = None,
    *args: Any,
    **keywords: Any,
) -> Any:
    wide, own = _wide(a, dtype)
    of = (a.astype(wide), mask, axis, None)
    made = np.sqrt(_var_where(*of, *args, **keywords))
    return made if own.kind == "c" else made.astype(own)


_SPREADS = {"std": _std_where, "var": _var_where}

# ---- Averages.


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    if weights is None:
        made = a.mean(axis, keepdims=keepdims)
        of_all = np.ones_like(a, made.dtype).sum(axis, keepdims=keepdims)
        return (made, of_all) if returned else made
    weights = _weights_along(a, axis, weights)
    if a.dtype.kind in "biu":
        a = a.astype(np.float64)
    products = a * weights
    of_all = weights.astype(products.dtype).sum(axis, keepdims=keepdims)
    made = products.sum(axis, keepdims=keepdims) / of_all
    return (made, of_all * np.ones_like(made)) if returned else made


def _weights_along(a: Any, axis: Any, weights: Any) -> Any:
    """Return weights with the axes of `a`. A missing axis gets the size 1."""
    if axis is None or weights.shape == a.shape:
        check_same_shape("average", a, weights)
        return weights
    axes = axis if isinstance(axis, tuple) else (axis,)
    if [i for i in axes if not -a.ndim <= i < a.ndim]:
        raise _core.InvalidArgument(
            f"average: expected axes of {-a.ndim} to {a.ndim - 1}, got {axis}"
        )
    axes = tuple(i % a.ndim for i in axes)
    expected = tuple(a.shape[i] for i in axes)
    if weights.shape != expected:
        raise _core.InvalidArgument(
            f"average: expected weights of shape {expected}, as a has along "
            f"axis {axis}, got {weights.shape}"
        )
    index = tuple(slice(None) if i in axes else None for i in range(a.ndim))
    return weights.transpose(*np.argsort(axes))[index]


# ---- Counts.


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return functions.count_nonzero(a, axis, keepdims)


# ---- Reductions without NaN.


def _without_nan(reduction: Callable[..., Any], neutral: Any) -> Any:
    """Return the reduction that replaces each NaN by `neutral`."""

    def compute(a: Any, *args: Any, **keywords: Any) -> Any:
        if a.dtype.kind not in "biu":
            a = np.where(np.isnan(a), neutral, a)
        return reduction(a, *args, **keywords)

    return compute


def _extreme_without_nan(name: str, otherwise: float) -> Callable[..., Any]:
    """Return the reduction that gives NaN if all elements are NaN."""
    reduction = _without_nan(_reduction(name), otherwise)

    def compute(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        how = {"keepdims": keepdims, "initial": initial, "where": where}
        if out is not None:
            how["out"] = out  # The method refuses it.
        made = reduction(a, axis, **how)
        if initial is not np._NoValue or a.dtype.kind in "biu":
            return made
        is_nan = np.isnan(a).all(axis, keepdims=keepdims)
        return np.where(is_nan, np.nan, made)

    return compute


def _of_numbers(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reduction that leaves out each NaN by where=."""

    def compute(a: Any, *args: Any, where: Any = True, **keywords: Any) -> Any:
        mask = ~np.isnan(a)
        mask = mask if where is True else mask & where
        return reduction(a, *args, where=mask, **keywords)

    return compute


# ---- Functions with NumPy's names, in the order of the tables above.

argmax, argmin, ptp = map(method_of, ("argmax", "argmin", "ptp"))
all, any, max, min, prod, sum = map(_reduction, _STARTS)
amax, amin = max, min
std, var = map(_spread, _SPREADS)
nanargmax = _without_nan(argmax, -np.inf)
nanargmin = _without_nan(argmin, np.inf)
nanmax = _extreme_without_nan("max", -np.inf)
nanmin = _extreme_without_nan("min", np.inf)
nanprod = _without_nan(prod, 1)
nansum = _without_nan(sum, 0)
nanmean, nanstd, nanvar = map(_of_numbers, (mean, std, var))
