"""The NumPy functions that CuPy's suite of fusion calls, in fused functions.

Missing functions are refused with a sentence that says where to call them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from peers_support import PAIRS, REAL_PAIRS, check, numbers, refused

# Programs make these of several operations. `test_vocabulary.py`,
# `test_fuse_numpy.py` and `test_shapes_of_two.py` have the others.
MADE_OF_ONE = ["frexp", "modf", "average"]


@pytest.mark.parametrize("name", MADE_OF_ONE)
def test_a_function_of_one_array(rt, name):
    for dtype in REAL_PAIRS:
        if (name, dtype) != ("average", "bool"):  # NumPy 1 refuses it
            check(rt, getattr(np, name), numbers(dtype))


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


def test_products_of_matrices_are_refused(rt):
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
