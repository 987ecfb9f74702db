"""Define elementwise functions with the standard's names.

Each function is a program of one operation. In a fused function it is a part of
that function's program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuos import _core, arrays, complex_functions
from gpuos.numpy_names import OPERATIONS


def run(function: Any, *args: Any, **keywords: Any) -> Any:
    """Call a function as a program, or as a part of a fused function."""
    if any(type(x) is _core.Value for x in args):
        return function(*args, **keywords)
    return arrays.call(function, *args, **keywords)


def named(compute: Any, name: str, like: str) -> Any:
    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"As {like}; computed by a task."
    return compute


def _unary(numpys: str) -> Any:
    def compute(x: Any, /) -> Any:
        if complex_functions.has(numpys, x):
            return complex_functions.call(numpys, x)
        return arrays.operation(numpys)(x)

    return compute


def _binary(numpys: str) -> Any:
    def compute(x1: Any, x2: Any, /) -> Any:
        return arrays.operation(numpys)(x1, x2)

    return compute


# These functions have other names in NumPy: acos is arccos there.
_NAMES = {
    "absolute": "abs",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
# These become functions of this module. The standard lacks some of them.
for _numpys, _operands in (OPERATIONS | {"round": 1}).items():
    _made = _unary(_numpys) if _operands == 1 else _binary(_numpys)
    _name = _NAMES.get(_numpys, _numpys.replace("arc", "a"))
    globals()[_name] = named(_made, _name, f"numpy.{_numpys}")
pow = named(lambda x1, x2, /: arrays.power(x1, x2), "pow", "numpy.power")


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    return run(np.clip, x, min, max)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    return run(np.where, condition, x1, x2)
