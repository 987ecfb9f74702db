"""The functions of NumPy that CuPy's suite of fusion calls, in fused functions.

Those that programs lack are refused with a sentence that says where to call
them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from peers_support import PAIRS, REAL_PAIRS, check, numbers, refused

UNARY = [
    "invert",
    "logical_not",
    "isfinite",
    "isinf",
    "isnan",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
    "around",
    "round",
    "rint",
    "floor",
    "ceil",
    "trunc",
    "fix",
    "exp",
    "expm1",
    "exp2",
    "log",
    "log10",
    "log2",
    "log1p",
    "signbit",
    "frexp",
    "reciprocal",
    "negative",
    "angle",
    "conj",
    "real",
    "imag",
    "modf",
    "sqrt",
    "cbrt",
    "square",
    "absolute",
    "abs",
    "sign",
    "sinc",
    "sum",
    "prod",
    "amax",
    "amin",
    "max",
    "min",
    "all",
    "any",
    "isposinf",
    "isneginf",
    "isreal",
    "iscomplex",
    "zeros_like",
    "ones_like",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "nanprod",
    "average",
    "rot90",
]
BINARY = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "ldexp",
    "copysign",
    "nextafter",
    "add",
    "subtract",
    "multiply",
    "power",
    "divide",
    "true_divide",
    "floor_divide",
    "fmod",
    "remainder",
    "divmod",
    "isclose",
    "outer",
    "append",
    "broadcast_arrays",
]
COMPLEX = [
    "isfinite",
    "isinf",
    "isnan",
    "sum",
    "prod",
    "square",
    "real",
    "imag",
    "conj",
    "negative",
]
LIMITED = ("arcsin", "arccos", "arctanh")  # to numbers of at most 1


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_array(rt, name):
    function = getattr(np, name)
    # NumPy 1 and bools: what it deprecated.
    for dtype in REAL_PAIRS + ["complex64"] * (name in COMPLEX):
        x = numbers(dtype)
        if name in LIMITED:
            x = x % np.asarray(2, dtype) if dtype != "bool" else x
        if dtype == "bool" and name in ("sign", "round", "around", "average"):
            continue
        check(rt, function, x)


@pytest.mark.parametrize("name", ["frexp", "modf", "isposinf", "isneginf"])
def test_the_odd_numbers(rt, name):
    special = [
        0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        0.5,
        -3.75,
        1e-44,
        2047,
        3e4,
    ]
    for dtype in ("float16", "float32", "float64"):
        x = np.array([*special, *2.0 ** np.arange(-24, 16)]).astype(dtype)
        function = getattr(np, name)
        check(rt, function, x)
        check(rt, function, -x)
        if name == "modf":
            signs = lambda x: [np.signbit(part) for part in np.modf(x)]
            check(rt, signs, x[~np.isnan(x)])


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arrays(rt, name):
    function = getattr(np, name)
    for one, other in itertools.product(REAL_PAIRS, REAL_PAIRS):
        if name == "ldexp" and other not in ("int8", "bool"):
            continue
        if "uint64" in (one, other) and "int8" in (one, other):
            continue
        check(rt, function, numbers(one), numbers(other, seed=1))


def test_where(rt):
    mask = numbers("i4") > 2
    for one, other in itertools.product(PAIRS, PAIRS):
        check(rt, np.where, mask, numbers(one), numbers(other, seed=1))


@pytest.mark.parametrize("decimals", [0, 1, 2, -1])
def test_round_takes_decimals(rt, decimals):
    x = np.random.default_rng(0).normal(0, 50, 99)
    for dtype in ("float32", "float64"):
        check(rt, lambda x: np.round(x, decimals), x.astype(dtype))
    check(rt, lambda x: x.round(abs(decimals)), x.astype("i4"))


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
def test_arrays_beside_each_other(rt, name):
    function = getattr(np, name)
    for shape in ((3,), (2, 3), (2, 3, 4)):
        if name == "column_stack" and len(shape) > 2:
            continue
        x, y = numbers("f4", shape), numbers("f8", shape, seed=1)
        check(rt, lambda x, y: function([x, y]), x, y)


@pytest.mark.parametrize("name", ["dot", "inner", "vdot", "matmul"])
def test_the_product_of_two_rows(rt, name):
    function = getattr(np, name)
    for dtype in ("bool", "int8", "float32", "complex64"):
        x, y = numbers(dtype, 5), numbers(dtype, 5, seed=1)
        check(rt, function, x, y)
        check(rt, lambda x, y: x @ y, x, y)
    said = refused(rt, lambda x: x @ x, numbers("f4", (3, 3)))
    assert "no products of matrices; call this one with arguments" in said


@pytest.mark.parametrize(
    "name", ["sort", "cumsum", "unique", "median", "i0", "gcd", "nonzero"]
)
def test_what_programs_have_not_says_where_to_call_it(rt, name):
    function = getattr(np, name)
    args = (numbers("i4"),) * (2 if name == "gcd" else 1)
    said = refused(rt, function, *args)
    assert said.startswith(f"numpy.{name}: a fused function has no such")
    assert "call this one with arguments or results" in said


@pytest.mark.parametrize("name", ["sort", "cumsum", "take", "fill", "strides"])
def test_an_attribute_that_a_value_has_not_says_so(rt, name):
    with pytest.raises(AttributeError, match=f"^{name}: a traced value has no"):
        rt.fuse(lambda x: getattr(x, name))(rt.zeros(3))
    assert not rt.fuse(lambda x: x + hasattr(x, name))(rt.zeros(1)).numpy()
