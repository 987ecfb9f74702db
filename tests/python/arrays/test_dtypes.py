"""Element types other than the four of the built-in operators."""

import platform
import sys

import numpy as np
import pytest
from dtype_support import (
    DTYPES,
    OTHERS,
    ROOT,
    ROWS,
    SHORT,
    array_of,
    numbers_of,
)
from jit_support import or_skip

import gpuos

AXPY = """
#include "gpuos/short_floats.h"
GPUOS_OPERATOR({name}) {{
  const {type} k = task.scalar<{type}>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    task.pointer<{type}>(0)[i] =
        static_cast<{type}>(k * task.pointer<const {type}>(1)[i]);
}}
"""
COMPLEX = ["complex64", "complex128"]


def times(rt, dtype):
    name = f"times_{dtype}"
    source = AXPY.format(name=name, type=ROWS[dtype].cpp)
    return or_skip(
        rt.define,
        name,
        source=source,
        dtype=dtype,
        params={"k": dtype},
        inputs=1,
    )


def test_list_is_read():
    assert len(DTYPES) >= 14
    assert {"float32", "bool", *COMPLEX, *SHORT} <= set(DTYPES)
    assert {"float16", "bfloat16"} <= set(SHORT)
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in DTYPES if f"`{name}`" not in page] == []


def test_scalars_must_fit(rt):
    x = rt.array([1, 2], "uint64")
    op = times(rt, "uint64")
    most = 2**64 - 1
    rt.submit(op, x, out=x, k=most)
    assert x.numpy().tolist() == [most, most - 1]
    for wrong in (-1, 0.5, 2**64, 1 + 2j, np.complex64(1)):
        with pytest.raises(gpuos.InvalidArgument, match="uint64"):
            rt.submit(op, x, out=x, k=wrong)
    small, op = rt.zeros(2, "uint8"), times(rt, "uint8")
    with pytest.raises(gpuos.InvalidArgument, match="0 to 255 for uint8"):
        rt.submit(op, small, out=small, k=256)


SUM = """
GPUOS_OPERATOR(sum_parts) {
  struct Parts { float real, imag; };
  const Parts k = task.scalar<Parts>(1);
  if (lane.index() == 0) task.pointer<float>(0)[0] = k.real - 10 * k.imag;
}
"""


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1 + 2j, -19), (np.complex64(1 + 2j), -19), (3, 3), (0.5, 0.5)],
)
def test_a_parameter_may_be_complex(rt, k, expected):
    op = or_skip(
        rt.define,
        "sum_parts",
        source=SUM,
        params={"k": "complex64"},
        inputs=0,
        elementwise=False,
    )
    out = rt.zeros(1)
    rt.submit(op, out=out, k=k)
    assert out.numpy()[0] == expected


def test_a_parameter_of_16_bytes_needs_an_expression(rt):
    params = {"k": "complex128"}
    with pytest.raises(gpuos.InvalidArgument, match="two of float64"):
        rt.define("sum_parts", source=SUM, params=params, inputs=0)
    add = rt.define("add_k", "o = x + k", params=params)
    x = rt.ones(2, "complex128")
    rt.submit(add, x, out=x, k=0.1 - 0.2j)
    assert x.tolist() == [1.1 - 0.2j] * 2


@pytest.mark.parametrize("short", SHORT)
def test_dtypes_of_results_of_short_floats(rt, short):
    x = rt.zeros(2, short)
    for other in DTYPES:
        y = rt.zeros(2, other)
        got = rt.fuse(lambda a, b: a + b)(x, y)
        if other in ("bool", short):
            wanted = short
        elif "int" in other:
            wanted = short if short in OTHERS else np.result_type(short, other)
        elif other in SHORT:
            wanted = "float32"
        else:
            wanted = other
        assert str(wanted) in repr(got), (other, got)
        assert got.nbytes == 2 * ROWS[str(wanted)].bytes


# An interpreter's loops and what is compiled, with gaps and without, of rows
# that are reduced and of numbers.
def passes(x, y, k):
    return x * y + k, (x - y).max(1), np.where(x < y, x, y).T * 2, x.max()


@pytest.mark.parametrize("short", SHORT)
def test_short_floats_are_float32s_rounded(rt, short):
    random = np.random.default_rng(5)
    numbers = random.normal(0, 3, (2, 40, 51)).astype("f4")
    narrow = array_of(rt, numbers, short)
    wide = rt.array(numbers_of(rt, narrow))

    def rounded(value):
        return value.astype(short).astype("float32")

    def stepwise(x, y, k):
        low = rounded(rounded(x * y) + rounded(k))
        most = rounded(x - y).max(1)
        return low, most, rounded(np.where(x < y, x, y).T * 2), x.max()

    f = rt.fuse(passes)
    wanted = rt.fuse(stepwise)(wide[0], wide[1], 0.3)
    for is_compiled in (False, True):
        if is_compiled:
            or_skip(f.compile, narrow[0], narrow[1], 0.3)
        for got, want in zip(f(narrow[0], narrow[1], 0.3), wanted, strict=True):
            assert short in repr(got)
            np.testing.assert_array_equal(numbers_of(rt, got), want.numpy())


def test_booleans_are_read_and_written(host):
    array = host.array([True, False, True])
    assert array.dtype == np.bool_
    assert np.from_dlpack(array[::2]).tolist() == [True, True]
    assert array.numpy().tolist() == [True, False, True]
    array.copy_from(np.array([False, False, True]))
    assert array.numpy().tolist() == [False, False, True]


EIGHT_BITS = pytest.mark.parametrize(
    ("dtype", "numbers", "wanted"),
    [
        ("float8_e4m3fn", [464, 465, 1e9, np.inf], [448, 448, 448, 448]),
        ("float8_e5m2", [61439, 61440, 1e9], [57344, np.inf, np.inf]),
        ("float8_e5m2", [1.125, 1.375, 2**-17], [1, 1.5, 0]),
    ],
)


@EIGHT_BITS
def test_numbers_of_eight_bits(rt, dtype, numbers, wanted):
    x = np.array([*numbers, np.nan])
    got = rt.fuse(lambda v, k: (v.astype(dtype), -v.astype(dtype) * k))(
        rt.array(x),
        rt.fuse(lambda v: v.astype(dtype))(rt.array([1.0] * x.size)),
    )
    for array, sign in zip(got, (1, -1), strict=True):
        assert array.nbytes == x.size
        want = [*(sign * np.array(wanted)), np.nan]
        np.testing.assert_array_equal(numbers_of(rt, array), want)


# Where a number of Python becomes the elements of three; a list is NumPy's.
FILLED = {
    "full": lambda x, k: x.runtime.full(3, k, x.dtype),
    "fill": lambda x, k: x.fill(k) or x,
    "x[...] = k": lambda x, k: x.__setitem__(..., k) or x,
    "full_like of an array": np.full_like,
    "full_like": lambda x, k: x.runtime.fuse(lambda x: np.full_like(x, k))(x),
    "full_like of another": lambda x, k: x.runtime.fuse(
        lambda y: np.full_like(y, k, dtype=x.dtype)
    )(x.runtime.zeros(3, "int64")),
    "where": lambda x, k: x.runtime.fuse(lambda x: np.where(x == 0, k, x))(x),
    "sum": lambda x, k: x.runtime.fuse(lambda x: x + k)(x),
}


@pytest.mark.parametrize("way", FILLED)
@EIGHT_BITS
def test_a_number_of_python_becomes_eight_bits(rt, dtype, numbers, wanted, way):
    pytest.importorskip("ml_dtypes")
    for number, want in zip([*numbers, np.nan], [*wanted, np.nan], strict=True):
        for sign in (1, -1):
            made = FILLED[way](rt.zeros(3, dtype), sign * number)
            assert dtype in repr(made)
            np.testing.assert_array_equal(
                numbers_of(rt, made), [sign * want] * 3
            )


@pytest.mark.parametrize("dtype", OTHERS)
def test_short_floats_need_ml_dtypes_only_for_numpy(rt, dtype, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    array = rt.zeros((2, 3), dtype)
    size = ROWS[dtype].bytes
    assert array.nbytes == 6 * size
    assert array.strides == (3 * size, size)
    assert dtype in repr(array)
    for use in (array.numpy, lambda: array.dtype):
        with pytest.raises(TypeError, match=f"{dtype}: expected .* ml_dtypes"):
            use()
    with pytest.raises(TypeError, match="ml_dtypes"):
        rt.array([1, 2], dtype)
    assert not hasattr(array, "__array_interface__")
    assert not hasattr(array, "__cuda_array_interface__")


@pytest.mark.parametrize("name", OTHERS)
def test_short_floats_use_the_dtypes_of_ml_dtypes(rt, name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name)
    source = np.arange(6).astype(dtype).reshape(2, 3)
    array = rt.array(source)
    assert array.dtype == dtype
    assert array.numpy().dtype == dtype
    np.testing.assert_array_equal(array.T[::-1].numpy(), source.T[::-1])
    assert rt.array([1.5, 2], name).numpy().tolist() == [1.5, 2]
    assert rt.empty(2, dtype).dtype == dtype
    array.copy_from(-source)
    np.testing.assert_array_equal(array.numpy(), -source)


@pytest.mark.parametrize("name", OTHERS)
def test_functions_of_numpy_accept_short_floats(rt, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = getattr(ml_dtypes, name)
    most = float(ml_dtypes.finfo(dtype).max)
    x = rt.array(np.array([1, np.nan, 2, most, -np.inf]).astype(dtype))
    got = rt.fuse(np.nan_to_num)(x).numpy()
    low = -most if np.isinf(dtype(-np.inf)) else 0  # what has no infinity
    assert got.tolist() == [1, 0, 2, most, low]
    assert rt.fuse(np.nanmean)(x[:3]).numpy() == 1.5


@pytest.mark.parametrize("name", OTHERS)
def test_arrays_of_ml_dtypes_are_taken_without_a_copy(host, name):
    x = np.ones(3, getattr(pytest.importorskip("ml_dtypes"), name))
    with pytest.raises(gpuos.InvalidArgument, match=f"int64, got {name}"):
        host.submit("add", x, x, out=x)


REALS = [3e9, -3e9, 1e20, -1e20, np.inf, -np.inf, 70000.0, -1.5, 300.0, -0.5]
SIGNED = (np.int64, np.int32, np.int16, np.int8)


def rounded(value: float, bits: int, *, nearest: bool) -> int:
    """Return a processor's conversion of a real, with 32 or 64 bits."""
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if np.isfinite(value) and lowest <= int(value) <= highest:
        return int(value)
    return highest if nearest and value > 0 else lowest


def expected(values, dtype, *, nearest: bool):
    bits = 8 * np.dtype(dtype).itemsize
    wide = 64 if bits == 64 or np.dtype(dtype).kind == "u" else 32
    low = [rounded(x, wide, nearest=nearest) % 2**bits for x in values]
    return np.array(low, np.uint64).astype(dtype)


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="another processor, other limits"
)
@pytest.mark.parametrize("of", [np.float32, np.float64])
@pytest.mark.parametrize("to", [*SIGNED, np.uint8, np.uint16, np.uint32])
def test_reals_that_do_not_fit(rt, backend, of, to):
    x = np.array(REALS * 13, of)
    fused = rt.fuse(lambda a: a.astype(to))
    got = np.asarray(fused(rt.array(x)))
    wanted = expected(x.tolist(), to, nearest=backend == "cuda")
    np.testing.assert_array_equal(got, wanted)


ODD = np.array([0, 1, 2, 255, 128, 0, 3] * 9, np.uint8)


FUNCTIONS = [
    lambda b: b + 0,
    lambda b: b ^ b,
    lambda b: b & True,
    lambda b: b == True,
    lambda b: b.sum(),
    lambda b: b.sum(0) + b,
    lambda b: np.where(b, 2.0, 1.0) * b,
    lambda b: ~b,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bools_are_true_unless_they_are_zero(rt, function):
    odd = rt.array(ODD.view(bool))
    usual = ODD != 0
    fused = rt.fuse(function)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(fused(odd)), function(usual))
    fused.compile(odd)
    np.testing.assert_array_equal(np.asarray(fused(odd)), function(usual))


def test_bools_with_gaps(rt):
    odd = rt.array(ODD.view(bool))[::2]
    got = rt.fuse(lambda b: b * 3)(odd)
    np.testing.assert_array_equal(np.asarray(got), (ODD != 0)[::2] * 3)
