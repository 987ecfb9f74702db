"""Numbers as people say them, and the program as the user called it."""

from __future__ import annotations

import sys
from pathlib import Path

KIB = 1024


def program_name() -> str:
    """Return the typed command: the installed program, or the module."""
    is_command = Path(sys.argv[0]).name == "gpuos" if sys.argv else False
    return "gpuos" if is_command else "python -m gpuos"


def count(number: int, noun: str) -> str:
    """Return "1 file" or "2 files"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """Return a number of bytes as "512 bytes", "3.4 KiB" or "512 MiB"."""
    if number < KIB:
        return count(int(number), "byte")
    for unit in ("KiB", "MiB", "GiB"):
        number /= KIB
        if number < KIB or unit == "GiB":
            break
    text = f"{number:.1f}" if number < 100 else f"{number:.0f}"
    return f"{text.removesuffix('.0')} {unit}"


def ago(seconds: float) -> str:
    """Return "now", "5 minutes ago", "2 days ago"."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f"{count(int(seconds // length), unit)} ago"
    return "now"
