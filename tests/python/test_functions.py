"""The functions of cpp/device/functions.h mean what NumPy's mean."""

from __future__ import annotations

import numpy as np
import pytest

import gpuos

# NumPy's type: what the operator computes in, and the buffers' type.
TYPES = {
    "float32": ("float", "float32"),
    "float64": ("double", "float64"),
    "int32": ("int", "int32"),
    "uint32": ("unsigned", "int32"),
    "int64": ("long long", "int64"),
    "uint64": ("u64", "int64"),
    "complex64": ("C64", "int64"),
}
REALS = ["float32", "float64"]
INTEGERS = ["int32", "uint32", "int64", "uint64"]

# The function here: NumPy's.
ANY_ONE = {
    "neg": np.negative,
    "abs": np.abs,
    "square": np.square,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}
ANY_TWO = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floor_div": np.floor_divide,
    "floor_mod": np.remainder,
    "fmod": np.fmod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
INTEGER_TWO = {
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
REAL_ONE = {"signbit": np.signbit, "reciprocal": np.reciprocal}
REAL_TWO = {
    "div": np.divide,
    "copysign": np.copysign,
    "heaviside": np.heaviside,
}
CLOSE_ONE = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
]
CLOSE_TWO = {
    "pow": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
}
COMPLEX_ONE = {
    "neg": np.negative,
    "conj": np.conj,
    "square": np.square,
    "reciprocal": np.reciprocal,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
}
COMPLEX_TWO = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}


def text_of(name, inner, functions, inputs):
    cases = "".join(
        f"      case {k}: out[i] = static_cast<{inner}>("
        f"fn::{function}(a[i]{', b[i]' if inputs == 2 else ''})); break;\n"
        for k, function in enumerate(functions)
    )
    return f"""
#include "gpuos/functions.h"
using namespace gpuos;
GPUOS_OPERATOR({name}) {{
  {inner}* out = task.pointer<{inner}>(0);
  const {inner}* a = task.pointer<const {inner}>(1);
  const {inner}* b = task.pointer<const {inner}>({inputs});
  const int which = task.scalar<int>({inputs + 1});
  for (u32 i = lane.index(); i < task.count; i += lane.count())
    switch (which) {{
{cases}    }}
}}
"""


def results(rt, dtype, functions, *arrays):
    """The result of each function, as an array of `dtype`."""
    inner, buffers = TYPES[dtype]
    name = f"functions_of_{len(arrays)}"
    try:
        op = rt.define(
            name,
            source=text_of(name, inner, functions, len(arrays)),
            params={"which": "int32"},
            dtype=buffers,
            inputs=len(arrays),
        )
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    inputs = [rt.array(array.view(buffers)) for array in arrays]
    for which, function in enumerate(functions):
        out = rt.empty(arrays[0].size, buffers)
        rt.wait(rt.submit(op, *inputs, out=out, which=which))
        yield function, out.numpy().view(dtype)


def numbers(dtype):
    """Special numbers and some others."""
    rng = np.random.default_rng(3)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, info.max, info.min]
        if info.min:
            special += [-1, -2, -3, -7, -32, -64, info.min + 1]
        some = rng.integers(info.min, info.max, 30, dtype=dtype)
        return np.concatenate([np.array(special, dtype), some])
    info = np.finfo(dtype)
    special = [0, 0.5, 1, 1.5, 2, 2.5, 3, 1e-3, 7.7, info.max, info.tiny]
    special += [info.smallest_subnormal, np.inf, np.nan]
    special = np.array(special, dtype)
    some = rng.normal(0, 10, 40).astype(dtype)
    return np.concatenate([special, -special, some])


def pairs(dtype):
    one = numbers(dtype)
    a, b = np.meshgrid(one, one)
    return a.ravel().copy(), b.ravel().copy()


def assert_same(got, want, function):
    np.testing.assert_array_equal(got, want.astype(got.dtype), function)
    # Which zero the largest of two is, is free.
    if got.dtype.kind == "f" and function not in ANY_TWO:
        real = ~np.isnan(got)
        np.testing.assert_array_equal(
            np.signbit(got[real]),
            np.signbit(want.astype(got.dtype)[real]),
            function,
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS + INTEGERS)
def test_functions_of_one_are_numpys(rt, dtype):
    functions = ANY_ONE | (REAL_ONE if dtype in REALS else {})
    x = numbers(dtype)
    for function, got in results(rt, dtype, functions, x):
        assert_same(got, functions[function](x), function)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS + INTEGERS)
def test_functions_of_two_are_numpys(rt, dtype):
    functions = ANY_TWO | (REAL_TWO if dtype in REALS else INTEGER_TWO)
    a, b = pairs(dtype)
    for function, got in results(rt, dtype, functions, a, b):
        assert_same(got, functions[function](a, b), function)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_are_numpys(rt, dtype):
    a, b = pairs(dtype)
    a, b = a[b >= 0].copy(), b[b >= 0].copy()
    for function, got in results(rt, dtype, ["pow"], a, b):
        assert_same(got, np.power(a, b), function)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS)
def test_rounded_functions_are_close_to_numpys(rt, dtype):
    tolerance = 16 * np.finfo(dtype).eps
    x = numbers(dtype)
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    names |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    for function, got in results(rt, dtype, CLOSE_ONE, x):
        want = getattr(np, names.get(function, function))(x)
        np.testing.assert_allclose(got, want, tolerance, 0, err_msg=function)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS)
def test_rounded_functions_of_two_are_close_to_numpys(rt, dtype):
    tolerance = 16 * np.finfo(dtype).eps
    a, b = pairs(dtype)
    for function, got in results(rt, dtype, CLOSE_TWO, a, b):
        want = CLOSE_TWO[function](a, b)
        np.testing.assert_allclose(
            got, want, tolerance, 8 * tolerance, err_msg=function
        )


def test_complex_functions_are_close_to_numpys(rt):
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, 3, (2, 200, 2)).astype("f4").view("c8").reshape(2, -1)
    for function, got in results(rt, "complex64", COMPLEX_ONE, a):
        want = COMPLEX_ONE[function](a)
        np.testing.assert_allclose(got, want, 2e-6, err_msg=function)
    for function, got in results(rt, "complex64", COMPLEX_TWO, a, b):
        want = COMPLEX_TWO[function](a, b)
        np.testing.assert_allclose(got, want, 2e-6, err_msg=function)
