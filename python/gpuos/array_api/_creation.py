"""Create arrays in the default runtime, or in that of `device=`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gpuos import _core
from gpuos.array_api._devices import runtime_of, to_device
from gpuos.array_api._dtypes import DEFAULTS
from gpuos.array_functions import distance_from_diagonal
from gpuos.array_methods import copy as _copy
from gpuos.array_methods import stack as _stack
from gpuos.fusing import fuse

Array = _core.Array
Runtime = _core.Runtime

_OF_NUMBERS = {
    np.dtype("float64"): DEFAULTS["real floating"],
    np.dtype("complex128"): DEFAULTS["complex floating"],
}
_CPU = 1  # DLPack's device type


def asarray(
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: str | None = None,
    copy: Any = None,
) -> Array:
    """Make an array from an array, numbers or sequences of numbers.

    Return an array itself if it has this dtype and device, unless `copy` is
    True.
    """
    if isinstance(obj, Array):
        return _of_array(obj, dtype, device, copy)
    if copy is False:
        raise ValueError(
            "asarray: expected a gpuos.Array for copy=False, got "
            f"{type(obj).__name__}"
        )
    if _has_array(obj):
        # Numbers go to the device of the arrays.
        device = device or _device_in(obj)
        return _stack([asarray(x, dtype=dtype, device=device) for x in obj])
    if isinstance(obj, (np.ndarray, np.generic)):
        return runtime_of(device).array(obj, dtype)
    if hasattr(type(obj), "__dlpack__"):
        return _of_array(from_dlpack(obj), dtype, device, None)
    values = np.asarray(obj, dtype)
    if dtype is None:
        dtype = _OF_NUMBERS.get(values.dtype)
    return runtime_of(device).array(values, dtype)


def _has_array(obj: Any) -> bool:
    """Return whether a sequence contains an array, at any depth."""
    return isinstance(obj, (list, tuple)) and any(
        isinstance(x, Array) or _has_array(x) for x in obj
    )


def _device_in(obj: Any) -> str | None:
    if isinstance(obj, Array):
        device: str = obj.device
        return device
    if isinstance(obj, (list, tuple)):
        return next(filter(None, map(_device_in, obj)), None)
    return None


def _of_array(x: Array, dtype: Any, device: str | None, copy: Any) -> Array:
    is_same = dtype is None or np.dtype(dtype) == x.dtype
    stays = device is None or device == x.device
    if copy is False and not (is_same and stays):
        raise ValueError(
            f"asarray: expected {x.dtype} and {x.device} for copy=False, got "
            f"{dtype} and {device}"
        )
    made = x if is_same else x.astype(dtype)
    made = made if stays else to_device(made, str(device))
    return _copy(x) if copy and made is x else made


def from_dlpack(
    x: Any, /, *, device: str | None = None, copy: Any = None
) -> Array:
    """Copy another library's array, or return a view of a gpuos.Array.

    The memory is copied, because a gpuos.Array owns its memory.
    """
    if isinstance(x, Array):
        if copy is False and device not in (None, x.device):
            raise ValueError(
                f"from_dlpack: expected device={x.device!r} for copy=False, "
                f"got {device!r}"
            )
        made = x if device is None else to_device(x, device)
        return _copy(x) if copy and made is x else made[...]
    if copy is False:
        raise ValueError(
            "from_dlpack: expected a gpuos.Array for copy=False, got "
            f"{type(x).__name__}"
        )
    kind, number = x.__dlpack_device__()
    own = runtime_of("host" if kind == _CPU else f"cuda:{number}")
    made = _copying(own)(x)
    made.__dlpack__()  # Wait, because x may change now.
    return made if device is None else to_device(made, device)


@cache
def _copying(runtime: Runtime) -> _core.Fused:
    return fuse(np.copy, runtime=runtime)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return runtime_of(device).empty(shape, _or_float(dtype))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return runtime_of(device).zeros(shape, _or_float(dtype))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return runtime_of(device).ones(shape, _or_float(dtype))


def full(
    shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    if dtype is None:
        dtype = np.asarray(fill_value).dtype
        dtype = _OF_NUMBERS.get(dtype, dtype)
    return runtime_of(device).full(shape, fill_value, dtype)


def _or_float(dtype: Any) -> Any:
    return DEFAULTS["real floating"] if dtype is None else dtype


def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    return runtime_of(device, x).empty(x.shape, dtype or x.dtype)


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    return runtime_of(device, x).zeros(x.shape, dtype or x.dtype)


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    return runtime_of(device, x).ones(x.shape, dtype or x.dtype)


def full_like(
    x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    runtime = runtime_of(device, x)
    return runtime.full(x.shape, fill_value, dtype or x.dtype)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    if dtype is None:
        numbers = (start, stop, step)
        is_real = any(isinstance(x, float) for x in numbers)
        dtype = DEFAULTS["real floating" if is_real else "integral"]
    return runtime_of(device).arange(start, stop, step, dtype)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: Any = True,
) -> Array:
    return runtime_of(device).linspace(
        start, stop, num, endpoint=endpoint, dtype=_or_float(dtype)
    )


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    columns = n_rows if n_cols is None else n_cols
    distance = distance_from_diagonal(runtime_of(device), (n_rows, columns), k)
    return (distance == 0).astype(_or_float(dtype))
