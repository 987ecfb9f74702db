"""Define constants, dtypes, and functions of dtypes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuos import _core

Array = _core.Array
Value = _core.Value

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi

bool = np.dtype("bool")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")

KINDS = {
    "bool": (bool,),
    "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64),
    "real floating": (float32, float64),
    "complex floating": (complex64, complex128),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = (
    KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
)

# Python's numbers get these dtypes, as in a runtime's functions.
DEFAULTS: dict[str, np.dtype[Any]] = {
    "real floating": float32,
    "complex floating": complex64,
    "integral": int64,
    "indexing": int64,
}


def astype(
    x: Array, dtype: Any, /, *, copy: Any = True, device: str | None = None
) -> Array:
    if device is not None:
        x = x.to_device(device)
    return x.astype(dtype, copy=copy)


def can_cast(from_: Any, to: Any, /) -> Any:
    return np.can_cast(_dtype_of(from_), to)


@dataclass(frozen=True)
class FloatInfo:
    """Contains the result of finfo() as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class IntegerInfo:
    """Contains the result of iinfo()."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def finfo(type: Any, /) -> FloatInfo:
    info = np.finfo(_dtype_of(type))
    return FloatInfo(
        bits=int(info.bits),
        eps=float(info.eps),
        max=float(info.max),
        min=float(info.min),
        smallest_normal=float(info.smallest_normal),
        dtype=np.dtype(info.dtype),
    )


def iinfo(type: Any, /) -> IntegerInfo:
    dtype = _dtype_of(type)
    info = np.iinfo(dtype)
    return IntegerInfo(int(info.bits), int(info.max), int(info.min), dtype)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Return whether `dtype` is a dtype or of a kind, or one of a tuple."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise _core.InvalidArgument(
                f"isdtype: expected one of {', '.join(KINDS)}, got {kind!r}"
            )
        return dtype in KINDS[kind]
    return np.dtype(dtype) == np.dtype(kind)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return NumPy's result type. Python numbers are weak."""
    found: np.dtype[Any] = np.result_type(
        *(
            x.dtype if isinstance(x, (Array, Value)) else x
            for x in arrays_and_dtypes
        )
    )
    return found


def _dtype_of(x: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = (
        x.dtype if isinstance(x, (Array, Value)) else np.dtype(x)
    )
    return dtype
