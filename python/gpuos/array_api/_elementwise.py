"""Functions of each element: the operations of programs by the standard's names.

Each is a program of one operation; in a fused function it is a part of that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuos import _core, complex_functions
from gpuos.arrays import call, operation, power


def run(function: Any, *args: Any, **keywords: Any) -> Any:
    """Call it as a program, or as a part of the fused function around it."""
    if any(type(x) is _core.Value for x in args):
        return function(*args, **keywords)
    return call(function, *args, **keywords)


def _unary(name: str, numpys: str) -> Any:
    def compute(x: Any, /) -> Any:
        if complex_functions.has(numpys, x):
            return complex_functions.call(numpys, x)
        return operation(numpys)(x)

    return named(compute, name, f"numpy.{numpys}")


def _binary(name: str, numpys: str) -> Any:
    def compute(x1: Any, x2: Any, /) -> Any:
        return operation(numpys)(x1, x2)

    return named(compute, name, f"numpy.{numpys}")


def named(compute: Any, name: str, like: str) -> Any:
    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"As {like}; computed by a task."
    return compute


abs = _unary("abs", "absolute")
acos = _unary("acos", "arccos")
acosh = _unary("acosh", "arccosh")
asin = _unary("asin", "arcsin")
asinh = _unary("asinh", "arcsinh")
atan = _unary("atan", "arctan")
atanh = _unary("atanh", "arctanh")
bitwise_invert = _unary("bitwise_invert", "invert")
ceil = _unary("ceil", "ceil")
conj = _unary("conj", "conjugate")
cos = _unary("cos", "cos")
cosh = _unary("cosh", "cosh")
exp = _unary("exp", "exp")
expm1 = _unary("expm1", "expm1")
floor = _unary("floor", "floor")
imag = _unary("imag", "imag")
isfinite = _unary("isfinite", "isfinite")
isinf = _unary("isinf", "isinf")
isnan = _unary("isnan", "isnan")
log = _unary("log", "log")
log10 = _unary("log10", "log10")
log1p = _unary("log1p", "log1p")
log2 = _unary("log2", "log2")
logical_not = _unary("logical_not", "logical_not")
negative = _unary("negative", "negative")
positive = _unary("positive", "positive")
real = _unary("real", "real")
reciprocal = _unary("reciprocal", "reciprocal")
round = _unary("round", "round")
sign = _unary("sign", "sign")
signbit = _unary("signbit", "signbit")
sin = _unary("sin", "sin")
sinh = _unary("sinh", "sinh")
sqrt = _unary("sqrt", "sqrt")
square = _unary("square", "square")
tan = _unary("tan", "tan")
tanh = _unary("tanh", "tanh")
trunc = _unary("trunc", "trunc")

add = _binary("add", "add")
atan2 = _binary("atan2", "arctan2")
bitwise_and = _binary("bitwise_and", "bitwise_and")
bitwise_left_shift = _binary("bitwise_left_shift", "left_shift")
bitwise_or = _binary("bitwise_or", "bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift", "right_shift")
bitwise_xor = _binary("bitwise_xor", "bitwise_xor")
copysign = _binary("copysign", "copysign")
divide = _binary("divide", "divide")
equal = _binary("equal", "equal")
floor_divide = _binary("floor_divide", "floor_divide")
greater = _binary("greater", "greater")
greater_equal = _binary("greater_equal", "greater_equal")
hypot = _binary("hypot", "hypot")
less = _binary("less", "less")
less_equal = _binary("less_equal", "less_equal")
logaddexp = _binary("logaddexp", "logaddexp")
logical_and = _binary("logical_and", "logical_and")
logical_or = _binary("logical_or", "logical_or")
logical_xor = _binary("logical_xor", "logical_xor")
maximum = _binary("maximum", "maximum")
minimum = _binary("minimum", "minimum")
multiply = _binary("multiply", "multiply")
nextafter = _binary("nextafter", "nextafter")
not_equal = _binary("not_equal", "not_equal")
pow = named(lambda x1, x2, /: power(x1, x2), "pow", "numpy.power")
remainder = _binary("remainder", "remainder")
subtract = _binary("subtract", "subtract")


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    return run(np.clip, x, min, max)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    return run(np.where, condition, x1, x2)
