"""Definitions under other names: a runtime has several versions of one."""

from __future__ import annotations

import re
from typing import Any

from gpuos import _core

# The arguments of define() after the name.
_KEYWORDS = [
    name
    for name, value in vars(_core.Definition).items()
    if isinstance(value, property) and name not in ("name", "version", "digest")
]


def keywords_of(definition: _core.Definition, name: str) -> dict[str, Any]:
    """Return the arguments of define() that make it under another name.

    A source contains its operator's name, and an object that of its function.
    """
    found = {key: getattr(definition, key) for key in _KEYWORDS}
    found["name"] = name
    if definition.source is not None:
        found["source"] = _renamed(definition.source, definition.name, name)
    has_object = (definition.ptx, definition.ltoir, definition.cubin) != (
        None,
        None,
        None,
    )
    if has_object and definition.symbol is None:
        found["symbol"] = definition.name
    return found


def renamed(definition: _core.Definition, name: str) -> _core.Definition:
    """Return a definition of the same under another name."""
    return _core.Definition(**keywords_of(definition, name))


def _renamed(source: str, old: str, new: str) -> str:
    place = re.compile(rf"\bGPUOS_OPERATOR\s*\(\s*{re.escape(old)}\s*\)")
    return place.sub(f"GPUOS_OPERATOR({new})", source)
