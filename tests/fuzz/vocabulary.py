"""The functions of programs, as include/gpuos/vocabulary.h lists them."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from short_floats import SHORT

from gpuos.numpy_names import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/gpuos/vocabulary.h"
DTYPE_LIST = ROOT / "include/gpuos/dtype_list.h"
EXACTNESS = ROOT / "docs/functions.md"

COMPLEX = ("kAll", "kFields", "kComplexes")

_LIST = re.compile(r"#define GPUOS_(\w+)\(X\)((?:.*\\\n)*.*\n)")
_LINE = re.compile(r"X\(\w+, (\w+), (\w+), (\w+), ([^,)]*)[^)]*\)")
_DTYPE = re.compile(r"X\((?:with, )?\w+, (\w+), \d[^)]* (\w+),\s+\w+\)")
_ROW = re.compile(r"^\| `([a-z0-9_ ]+)` \| (.*) \|$", re.MULTILINE)


class Function(NamedTuple):
    """A line of the header."""

    own: str  # its name in gpuos::fn
    name: str  # NumPy's, or else PyTorch's
    inputs: int
    rule: str
    has_complex: bool  # numbers as operands
    types: str = ""  # that are computed in, by the header's name for them


# Functions made of the header's that are inexact, with their error in ulps.
OTHERS = {"deg2rad": 1, "rad2deg": 1, "float_power": 2}
# Other names of these.
ALIASES = ("degrees", "radians", "true_divide")


def dtypes() -> list[np.dtype]:
    """Return the dtypes of arrays that can be compared here."""
    text = DTYPE_LIST.read_text(encoding="utf-8").replace("\\\n", "")
    known = {dtype.name for dtype in SHORT}
    return [
        np.dtype(name)
        for name, package in _DTYPE.findall(text)
        if package == "numpy" or name in known
    ]


def functions() -> list[Function]:
    found = []
    for kind, text in _LIST.findall(HEADER.read_text(encoding="utf-8")):
        if kind in ("SUMS", "PLACES"):
            continue
        inputs = 2 if kind in ("BINARY_FUNCTIONS", "COMPARISONS") else 1
        found += [
            Function(own, name, inputs, rule, types in COMPLEX, types)
            for own, name, rule, types in _LINE.findall(text)
        ]
    others = OPERATIONS.keys() - {*ALIASES, *(f.name for f in found)}
    return found + [
        Function(name, name, OPERATIONS[name], "", has_complex=False)
        for name in sorted(others)
        if hasattr(np, name)
    ]


def ulps() -> dict[str, tuple[int, int, int]]:
    """Return by how many ulps each may be off: host, device, double."""
    found = {name: (off, off, off) for name, off in OTHERS.items()}
    for names, cells in _ROW.findall(EXACTNESS.read_text(encoding="utf-8")):
        numbers = [re.match(r"\d+", cell) for cell in cells.split(" | ")]
        if all(numbers):
            off = tuple(int(number[0]) for number in numbers)
            found |= dict.fromkeys(names.split(), off)
    return found
