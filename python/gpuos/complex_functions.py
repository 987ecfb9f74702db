"""Compute functions of complex arrays that programs only have for real numbers.

Each function is a program with two results, the real and imaginary part. It
computes them in double from the parts of its argument. Squares of float parts
neither overflow nor underflow in double. Squares of complex128 parts may, and
digits may be lost close to a branch point. Zeros, infinities and NaN follow
annex G of the C standard.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.fusing import fuse

if TYPE_CHECKING:
    from collections.abc import Callable

Array = _core.Array
Parts = tuple[Any, Any]

_WIDE = np.dtype("float64")
_BASES = {"log2": 2.0, "log10": 10.0}


def has(name: str, x: Any) -> bool:
    """Return whether call() can compute NumPy's function `name` of x."""
    return name in _FUNCTIONS and type(x) is Array and x.dtype.kind == "c"


def call(name: str, x: Array) -> Array:
    made = x.runtime.empty(x.shape, x.dtype)
    _fused(name)(x, out=(made.real, made.imag))
    return made


@cache
def _fused(name: str) -> _core.Fused:
    function = _FUNCTIONS[name]

    def compute(z: Any) -> Parts:
        part = z.real.dtype
        if name in _BASES and part == _WIDE:
            made = np.log(z)  # exact where it crosses 0
            base = math.log(_BASES[name])
            return made.real / base, made.imag / base
        re, im = function(z.real.astype(_WIDE), z.imag.astype(_WIDE))
        return re.astype(part), im.astype(part)

    return fuse(compute)


# ---- Functions of the real part a and the imaginary part b. np.where() puts in
# the value of annex G where a formula gives another NaN.


def _sinh(a: Any, b: Any) -> Parts:
    re = np.sinh(a) * np.cos(b)
    im = np.where(b == 0, b, np.cosh(a) * np.sin(b))
    # Annex G leaves the sign open.
    is_size = (a == 0) | np.isinf(a)
    return np.where(is_size & ~np.isfinite(b), a, re), im


def _cosh(a: Any, b: Any) -> Parts:
    re = np.cosh(a) * np.cos(b)
    im = np.where(b == 0, np.copysign(1.0, a) * b, np.sinh(a) * np.sin(b))
    return (
        np.where(np.isinf(a) & ~np.isfinite(b), np.abs(a), re),
        np.where((a == 0) & ~np.isfinite(b), a, im),
    )


def _tanh(a: Any, b: Any) -> Parts:
    # Kahan, "Branch cuts for complex elementary functions", has this formula.
    t, s = np.tan(b), np.sinh(a)
    beta = 1 + t * t
    below = 1 + beta * s * s
    re = np.where(a == 0, a, beta * np.cosh(a) * s / below)
    im = np.where(b == 0, b, t / below)
    is_large = (np.abs(a) > 20) & (np.isfinite(b) | np.isinf(a))
    small = 4 * np.sin(b) * np.cos(b) * np.exp(-2 * np.abs(a))
    small = np.where(np.isinf(a) & ~np.isfinite(b), 0.0, small)
    return (
        np.where(is_large, np.copysign(1.0, a), re),
        np.where(is_large, small, im),
    )


def _sin(a: Any, b: Any) -> Parts:
    im, re = _sinh(b, a)
    return re, im


def _cos(a: Any, b: Any) -> Parts:
    re, im = _cosh(b, a)
    return re, -im


def _tan(a: Any, b: Any) -> Parts:
    im, re = _tanh(b, a)
    return re, im


def _arcsinh(a: Any, b: Any) -> Parts:
    (p, q), (r, s) = _sqrt(1 + b, -a), _sqrt(1 - b, a)
    re = np.arcsinh(p * s - r * q)
    im = np.arctan2(b, p * r - q * s)
    is_infinite = np.isinf(a) | np.isinf(b)
    im = np.where(is_infinite, np.arctan2(b, np.abs(a)), im)
    return (
        np.where(is_infinite, np.copysign(math.inf, a), re),
        np.where(np.isnan(a) & (b == 0), b, im),
    )


def _arccosh(a: Any, b: Any) -> Parts:
    (p, q), (r, s) = _sqrt(a - 1, b), _sqrt(a + 1, b)
    re = np.arcsinh(p * r + q * s)
    im = 2 * np.arctan2(q, r)
    is_infinite = np.isinf(a) | np.isinf(b)
    im = np.where(is_infinite, np.arctan2(b, a), im)
    return (
        np.where(is_infinite, math.inf, re),
        np.where((a == 0) & np.isnan(b), math.pi / 2, im),
    )


def _arccos(a: Any, b: Any) -> Parts:
    (p, q), (r, s) = _sqrt(1 - a, -b), _sqrt(1 + a, b)
    re = 2 * np.arctan2(p, r)
    im = np.arcsinh(r * q - s * p)
    is_infinite = np.isinf(a) | np.isinf(b)
    re = np.where(is_infinite, np.arctan2(np.abs(b), a), re)
    return (
        np.where((a == 0) & np.isnan(b), math.pi / 2, re),
        np.where(is_infinite, -np.copysign(math.inf, b), im),
    )


def _arctanh(a: Any, b: Any) -> Parts:
    size = np.abs(a)
    near = (1 - size) * (1 - size) + b * b
    re = np.copysign(np.log1p(4 * size / near) / 4, a)
    im = np.arctan2(2 * b, (1 - size) * (1 + size) - b * b) / 2
    is_infinite = np.isinf(a) | np.isinf(b)
    turn = np.where(np.isnan(b), b, np.copysign(math.pi / 2, b))
    re = np.where((a == 0) & np.isnan(b), a, re)
    return (
        np.where(is_infinite, np.copysign(0.0, a), re),
        np.where(is_infinite, turn, im),
    )


def _arcsin(a: Any, b: Any) -> Parts:
    im, re = _arcsinh(b, a)
    return re, im


def _arctan(a: Any, b: Any) -> Parts:
    im, re = _arctanh(b, a)
    return re, im


def _expm1(a: Any, b: Any) -> Parts:
    half = np.sin(b / 2)
    re = np.expm1(a) * np.cos(b) - 2 * half * half
    im = np.where(b == 0, b, np.exp(a) * np.sin(b))
    # The angle of an infinity is undefined here.
    is_odd = np.isinf(a) & ~np.isfinite(b)
    return (
        np.where(is_odd, np.where(a > 0, a, -1.0), re),
        np.where(is_odd & (a < 0), 0.0, im),
    )


def _log1p(a: Any, b: Any) -> Parts:
    more = a * (2 + a) + b * b
    is_near = (more > -0.5) & (more < 1)
    far = np.log(np.hypot(1 + a, b))
    return np.where(is_near, np.log1p(more) / 2, far), np.arctan2(b, 1 + a)


def _log_of(base: float) -> Callable[[Any, Any], Parts]:
    def compute(a: Any, b: Any) -> Parts:
        x, y = np.abs(a), np.abs(b)
        large, small = np.maximum(x, y), np.minimum(x, y)
        more = (large - 1) * (large + 1) + small * small
        is_near = (more > -0.5) & (more < 1)
        far = np.log(np.hypot(a, b))
        re = np.where(is_near, np.log1p(more) / 2, far)
        return re / math.log(base), np.arctan2(b, a) / math.log(base)

    return compute


def _sign(a: Any, b: Any) -> Parts:
    # One infinity decides the direction. Two infinities have no direction.
    is_infinite = np.isinf(a) != np.isinf(b)
    a, b = (
        np.where(
            is_infinite, np.copysign(np.where(np.isinf(x), 1.0, 0.0), x), x
        )
        for x in (a, b)
    )
    size = np.hypot(a, b)
    is_zero = size == 0
    return np.where(is_zero, 0.0, a / size), np.where(is_zero, 0.0, b / size)


def _sqrt(a: Any, b: Any) -> Parts:
    root = np.sqrt((np.hypot(a, b) + np.abs(a)) / 2)
    other = np.where(root == 0, 0.0, np.abs(b) / (2 * root))
    is_right = a >= 0
    return (
        np.where(is_right, root, other),
        np.copysign(np.where(is_right, other, root), b),
    )


# The keys are NumPy's names.
_FUNCTIONS: dict[str, Callable[[Any, Any], Parts]] = {
    **{
        name: globals()[f"_{name}"]
        for name in (
            *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh"),
            *("cos", "cosh", "sin", "sinh", "tan", "tanh"),
            *("expm1", "log1p", "sign"),
        )
    },
    **{name: _log_of(base) for name, base in _BASES.items()},
    "round": lambda a, b: (np.rint(a), np.rint(b)),
}
