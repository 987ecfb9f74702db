"""The element types, as include/gpuos/dtype_list.h has them."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "include/gpuos/dtype_list.h"


class Row(NamedTuple):
    bytes: int
    cpp: str  # as device code spells it
    package: str  # whose dtype of NumPy it is


def lists():
    text = HEADER.read_text().replace("\\\n", " ")
    for short in re.findall(r"X\(with, (\w+, [^)]*)\)", text):
        _, name, size, cpp, _, _, _, package, _ = re.split(r",\s*", short)
        if size.isdigit():
            yield name, Row(int(size), f"gpuos::{cpp}", package)
    for row in re.findall(r"X\(([A-Z]\w+, [^)]*)\)", text):
        _, name, size, _, cpp, _, _, package, _ = re.split(r",\s*", row)
        yield name, Row(int(size), cpp, package)


ROWS = dict(lists())
DTYPES = list(ROWS)
OTHERS = [name for name in DTYPES if ROWS[name].package != "numpy"]
SHORT = [name for name in DTYPES if "float" in name and ROWS[name].bytes < 4]


def array_of(rt, numbers, dtype):
    """Return an array of the runtime, by a cast for dtypes that NumPy lacks."""
    if dtype not in OTHERS:
        return rt.array(numbers, dtype)
    source = rt.array(np.array(numbers, np.float32))
    return rt.fuse(lambda x: x.astype(dtype))(source)


def numbers_of(rt, array):
    """The same back, as NumPy's array."""
    return rt.fuse(lambda x: x.astype("float32"))(array).numpy()
