"""Convert the variables of sessions and modules to Python's values and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable

# NumPy's dtypes for the names that compilers have.
_DTYPES = {
    name: dtype
    for dtype, names in {
        "bool": "bool",
        "int8": "char|signed char",
        "uint8": "unsigned char",
        "int16": "short|short int",
        "uint16": "unsigned short|short unsigned int",
        "int32": "int",
        "uint32": "unsigned int",
        "int64": "long|long int|long long|long long int",
        "uint64": "unsigned long|long unsigned int|unsigned long long|"
        "long long unsigned int",
        "float32": "float",
        "float64": "double",
    }.items()
    for name in names.split("|")
}


class _Type(NamedTuple):
    dtype: str  # empty: not of numbers
    shape: tuple[int, ...]
    is_constant: bool


def _read_type(text: str) -> _Type:
    """Read "const int [3][2]" or "int (&)[3]"."""
    text = re.sub(r"\(&&?\)(?=\[)", "", text)
    # The type of a device variable is a reference: "int (*&)(int)".
    text = text.replace("(*&)(", "(*)(").rstrip("& ")
    shape: tuple[int, ...] = ()
    start = text.find("[")
    if start >= 0 and text.endswith("]"):
        shape = tuple(int(n) for n in re.findall(r"\[(\d+)", text[start:]))
        text = text[:start].rstrip()
    is_constant = text.startswith("const ") and not text.endswith("*")
    if is_constant:
        text = text.removeprefix("const ")
    # Pointers are "int*" and "int (*)(int)".
    is_pointer = text.endswith("*") or "(*)(" in text
    dtype = "uint64" if is_pointer else _DTYPES.get(text, "")
    return _Type(dtype, shape, is_constant)


def _numbers(name: str, text: str) -> _Type:
    kind = _read_type(text)
    if not kind.dtype:
        raise _core.InvalidArgument(
            f"session: expected a variable of numbers, got {name} of type "
            f"{text}; read(name, dtype) copies its bytes"
        )
    return kind


def _item(session: _core.Session, name: str) -> Any:
    """Return a kernel, or the value of a variable.

    The value is a number, a string or a copy of an array. The value of a
    pointer is its address.
    """
    text = session._type(name)
    if not text:
        return session.kernel(name)
    value = session._load(name)
    if isinstance(value, str):
        return value
    kind = _numbers(name, text)
    flat = np.frombuffer(value, kind.dtype)
    return flat.reshape(kind.shape).copy() if kind.shape else flat.item()


def _set_item(session: _core.Session, name: str, value: Any) -> None:
    text = session._type(name)
    if not text:
        raise _core.InvalidArgument(
            f"session: expected the name of a variable, got '{name}'"
        )
    if _read_type(text).is_constant:
        raise _core.InvalidArgument(
            f"session: expected a variable, got the constant {name}"
        )
    if session._is_text(name):
        if not isinstance(value, str):
            raise _core.InvalidArgument(f"session: {name}: expected a str")
        session._store(name, value)
        return
    kind = _numbers(name, text)
    given = np.asarray(value)
    is_integer = "int" in kind.dtype
    # Among integers the value decides, because a literal has a sign and a
    # variable may have none.
    fits = (
        np.can_cast(given.dtype, kind.dtype, "same_kind")
        or (is_integer and given.dtype.kind in "iu")
        or given.size == 0
    )
    if not fits or given.shape != kind.shape:
        raise _core.InvalidArgument(
            f"session: {name}: expected a value of type {text}, got "
            f"{given.dtype} of shape {given.shape}"
        )
    converted = given.astype(kind.dtype)
    # An integer that does not fit becomes another number.
    if is_integer and not np.array_equal(converted, given):
        raise _core.InvalidArgument(
            f"session: {name}: expected a value that fits into {text}, got "
            f"{value}"
        )
    session._store(name, converted.tobytes())


def _read(
    holder: _core.Session | _core.JitModule, name: str, dtype: Any
) -> Any:
    return np.frombuffer(holder._read(name), dtype).copy()


def _write(
    holder: _core.Session | _core.JitModule, name: str, values: Any
) -> None:
    # These values have no bytes of their own.
    has_none = isinstance(values, (list, tuple, int))
    has_none = has_none or type(values) in (float, complex)
    if has_none and isinstance(holder, _core.Session):
        _set_item(holder, name, values)
    else:
        holder._write(name, np.ascontiguousarray(values).tobytes())


# register_session.cpp and register_jit.cpp list these names.
METHODS: dict[str, Callable[..., Any]] = {
    "__getitem__": _item,
    "__setitem__": _set_item,
    "read": _read,
    "write": _write,
}
