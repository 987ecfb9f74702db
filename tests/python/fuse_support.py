"""Helpers of the tests of fused functions: special numbers, comparison."""

import warnings

import numpy as np
import pytest

import gpuos

DTYPES = [
    np.dtype(name)
    for name in (
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
]
# One dtype of each kind; uint64 with int8 promotes in an unusual way.
ODD = [
    np.dtype(name)
    for name in ("bool", "int8", "uint64", "float16", "float32", "complex64")
]
FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")]
REALS = [dtype for dtype in DTYPES if dtype.kind != "c"]
INTEGERS = [dtype for dtype in DTYPES if dtype.kind in "iu"]

ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.5,
    3.0,
    1e-3,
    100.0,
    np.inf,
    -np.inf,
    np.nan,
]


def sample(dtype, size=40, seed=0):
    """Special values first, then random ones of ordinary size."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = np.array([0, 1, 2, 3, 7, info.max, info.min], dtype)
        more = random.integers(-50 if info.min else 0, 50, size)
        return np.concatenate([edges, more.astype(dtype)])
    numbers = np.concatenate([SPECIAL, random.normal(0, 4, size)])
    if dtype.kind == "c":
        # C and NumPy do not agree on products of infinities.
        finite = np.nan_to_num(numbers, posinf=5.0, neginf=-5.0)
        return (finite + 1j * np.roll(finite, 3)).astype(dtype)
    return numbers.astype(dtype)


def as_integers(values):
    """Floats as integers in the order of the numbers, one ulp apart."""
    bits = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(-(1 << (8 * values.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits)


def assert_close(got, wanted, ulps=0):
    """Same dtype and shape, and numbers at most `ulps` apart."""
    wanted = np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if got.dtype.kind == "c":
        assert_close(np.ascontiguousarray(got.real), wanted.real.copy(), ulps)
        assert_close(np.ascontiguousarray(got.imag), wanted.imag.copy(), ulps)
        return
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    is_number = ~np.isnan(wanted)
    apart = np.abs(as_integers(got) - as_integers(wanted))[is_number]
    worst = int(apart.max(initial=0))
    assert worst <= ulps, f"{worst} ulps apart: {got} and {wanted}"


def quietly(function, *args, **keywords):
    """NumPy's result, without warnings of overflow and invalid numbers."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **keywords)


def outcome(function, *args, **keywords):
    """Return what it gives, or the error: NumPy's and ours are of other kinds."""
    try:
        return quietly(function, *args, **keywords)
    except ERRORS as error:
        return error


def run(rt, function, *arrays):
    return rt.fuse(function)(*(rt.array(a) for a in arrays)).numpy()


def method(name, *args, **keywords):
    """A function of an array that calls its method."""
    return lambda x: getattr(x, name)(*args, **keywords)


def name_of(value):
    return getattr(value, "__name__", str(value))


def compare(rt, function, *arrays, ulps=0):
    """With NumPy, or both refuse it."""
    try:
        wanted = quietly(function, *arrays)
    except TypeError:
        with pytest.raises(gpuos.InvalidArgument):
            run(rt, function, *arrays)
        return
    assert_close(run(rt, function, *arrays), wanted, ulps)
