"""Floats that NumPy lacks: ml_dtypes has them, and programs compute in float.

They promote as docs/programs.md describes, not as in ml_dtypes.
"""

from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:  # then no test can read one
    ml_dtypes = None

FLOAT, HALF = np.dtype("float32"), np.dtype("float16")
SHORT = {
    np.dtype(getattr(ml_dtypes, name))
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")
    if ml_dtypes
}


def kind(dtype: np.dtype) -> str:
    """NumPy's letter, which says nothing of these: they are floats."""
    return "f" if dtype in SHORT else dtype.kind


def is_missing(dtype: np.dtype) -> bool:
    """Return whether it has long doubles, which arrays do not have."""
    return dtype.itemsize > (16 if dtype.kind == "c" else 8)


def widened(x: Any) -> Any:
    return x.astype(FLOAT) if getattr(x, "dtype", None) in SHORT else x


def rounded(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Round through float; dtypes without infinity get their largest number."""
    if dtype not in SHORT:
        return value.astype(dtype)
    value = _to_odd(value)
    most = np.array(ml_dtypes.finfo(dtype).max, FLOAT)
    if np.isnan(np.array(np.inf).astype(dtype)):
        value = np.clip(value, -most, most)
    return value.astype(dtype)


def _to_odd(value: np.ndarray) -> np.ndarray:
    """As float, from which it is rounded as if that step had not been."""
    near = value.astype(FLOAT)
    if value.dtype.itemsize <= 4 or kind(value.dtype) != "f":
        return near
    is_off = (near.astype(value.dtype) != value) & np.isfinite(near)
    bits = near.view(np.uint32) - (np.abs(near) > np.abs(value))
    odd = (bits | 1).astype(np.uint32).view(FLOAT)
    return np.where(is_off, odd, near)


def promoted(*operands: Any) -> np.dtype:
    """The dtype of arrays and numbers of Python together."""
    dtypes = {
        x.dtype for x in operands if isinstance(x, np.ndarray | np.generic)
    }
    short = dtypes & SHORT
    if not short:
        kinds = [
            x.dtype if isinstance(x, np.ndarray | np.generic) else x
            for x in operands
        ]
        return np.result_type(*kinds)
    others = {d for d in dtypes - SHORT if d.kind in "fc"}
    if len(short) == 1 and not others:
        return short.pop()
    return np.result_type(FLOAT, *others)


def with_stand_ins(operands: list[Any]) -> tuple[list[Any], np.dtype | None]:
    """Return the operands with halves for short floats, and the replaced dtype.

    NumPy's rules for a half apply to a short float, except that no integer
    widens it. The dtype is None if there is no short float, or if all are
    floats now.
    """
    arrays = [x for x in operands if isinstance(x, np.ndarray | np.generic)]
    dtypes = {x.dtype for x in arrays}
    if not dtypes & SHORT:
        return operands, None
    if promoted(*operands) not in SHORT:
        return [widened(x) for x in operands], None
    return [_stand_in(x) for x in operands], (dtypes & SHORT).pop()


def _stand_in(x: Any) -> Any:
    if not isinstance(x, np.ndarray | np.generic):
        return x
    return np.empty(x.shape, HALF if x.dtype in SHORT else np.bool_)
