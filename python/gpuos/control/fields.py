"""The types of a message's fields."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from gpuos.control.messages import BadMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

MOST = 1 << 31


class Kind(NamedTuple):
    """A set of JSON's values: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]


class Field(NamedTuple):
    """A field of a command."""

    kind: Kind
    is_required: bool = False


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON has halves of characters
        return False
    return True


def _is_number(value: Any) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer and 0 <= value < MOST


def _is_seconds(value: Any) -> bool:
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and math.isfinite(value) and 0 <= value <= MOST


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_parameter(value: object) -> bool:
    match value:
        case [dtype, default]:
            return _is_text(dtype) and isinstance(default, int | float)
    return _is_text(value)


def _is_parameters(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_parameter, value.values()))


TEXT = Kind("a text", _is_text)
FLAG = Kind("true or false", lambda x: isinstance(x, bool))
NUMBER = Kind("a whole number of 0 or more", _is_number)
VERSION = Kind("a whole number of 1 or more", lambda x: _is_number(x) and x > 0)
SECONDS = Kind("a number of seconds", _is_seconds)
DTYPES = Kind(
    "a text or a list of texts", lambda x: _is_text(x) or _is_texts(x)
)
INPUTS = Kind(
    "a whole number or a list of texts", lambda x: _is_number(x) or _is_texts(x)
)
PARAMS = Kind(
    "an object of dtypes, or of lists of a dtype and a number", _is_parameters
)


def read(
    message: Mapping[str, Any], fields: Mapping[str, Field]
) -> dict[str, Any]:
    """Return the fields of a message, each of its kind.

    Raises
    ------
    BadMessage
        If one is missing, unknown or of another kind.
    """
    for name, value in message.items():
        field = fields.get(name)
        if field is None:
            known = ", ".join(fields)
            raise BadMessage(f"expected fields among {known}, got {name!r}")
        if not field.kind.holds(value):
            raise BadMessage(
                f"{name}: expected {field.kind.words}, got {shown(value)}"
            )
    for name, field in fields.items():
        if field.is_required and name not in message:
            raise BadMessage(f"{name}: expected {field.kind.words}, got none")
    return dict(message)


def shown(value: object) -> str:
    """Return a value for people, not all of a long one."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
