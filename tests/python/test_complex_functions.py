"""Functions of complex arrays that programs have of real numbers only."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fuse_support import quietly

from gpuos import complex_functions

OTHER = set() if hasattr(np, "unstack") else {"sign"}  # of NumPy 1
NAMES = sorted(set(complex_functions._FUNCTIONS) - OTHER)
FINITE = [0.0, 1e-30, 1e-6, 0.3, 0.5, 1.0, 1.5, 3.0, 20.5, 80.0, 1e4]
# Its own: the C library leaves signs of zeros and infinities to itself.
ODD = [0.0, 0.5, 1.0, 30.0, np.inf, np.nan]


# The dtype in which NumPy computes the expected value, and the tolerance.
WIDE = {"complex64": ("complex128", 4e-7), "complex128": ("clongdouble", 2e-12)}


def grid(numbers, dtype):
    both = [sign * x for x in numbers for sign in (1.0, -1.0)]
    return np.array(
        [complex(a, b) for a, b in itertools.product(both, repeat=2)], dtype
    )


def exact(name, z):
    """Return NumPy's result in a wider dtype, rounded once."""
    dtype = z.dtype
    z = z.astype(WIDE[dtype.name][0])
    if name == "log1p":  # NumPy's function loses small values
        a, b = z.real.copy(), z.imag.copy()
        far = np.log(np.hypot(1 + a, b))
        near = np.log1p(a * (2 + a) + b * b) / 2
        z.real = np.where(np.abs(z) < 0.5, near, far)
        z.imag = np.arctan2(b, 1 + a)
        return z.astype(dtype)
    return getattr(np, name)(z).astype(dtype)


def parts(z):
    return z.view(z.real.dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", NAMES)
def test_parts_are_those_of_a_wider_dtype(rt, name, dtype):
    z = np.empty(2000, dtype)
    parts(z)[:] = np.random.default_rng(1).normal(0, 2, 4000)
    z = np.concatenate([grid(FINITE, dtype), z])
    got = parts(complex_functions.call(name, rt.array(z)).numpy())
    wanted = parts(quietly(exact, name, z))
    assert not np.isnan(got).any()
    is_known = ~np.isnan(wanted)  # NumPy's expm1 has some
    got, wanted = got[is_known], wanted[is_known]
    np.testing.assert_allclose(got, wanted, rtol=WIDE[dtype][1], atol=1e-37)
    assert (np.signbit(got) == np.signbit(wanted)).all()


# These functions of NumPy do not follow annex G.
OWN = {"expm1", "log1p"}
if np.lib.NumpyVersion(np.__version__) < "2.3.0":
    OWN.add("arccosh")


@pytest.mark.parametrize("name", sorted({*NAMES} - OWN))
def test_infinities_and_nan_are_those_of_c(rt, name):
    z = grid(ODD, "complex64")
    got = parts(complex_functions.call(name, rt.array(z)).numpy())
    wanted = parts(quietly(exact, name, z))
    np.testing.assert_allclose(
        np.abs(got), np.abs(wanted), rtol=4e-7, atol=1e-37
    )


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_any_shape_and_view(rt, shape):
    z = np.full(shape, 0.5 + 0.25j, "complex64")
    x = rt.array(z)
    x = x.T if len(shape) == 2 else x
    made = complex_functions.call("sin", x)
    assert (made.shape, made.dtype) == (x.shape, np.dtype("complex64"))
    np.testing.assert_allclose(made.numpy(), np.sin(z.T), rtol=1e-6)


def test_parts_of_an_array_are_views(rt):
    x = rt.array(np.arange(4).reshape(2, 2) * (1 + 2j), dtype="complex64")
    x.real[0] = 7
    x.T.imag[0] = 9
    assert x.tolist() == [[7 + 9j, 7 + 2j], [2 + 9j, 3 + 6j]]
    assert x[:, ::-1].imag.tolist() == [[2, 9], [6, 9]]
    y = rt.ones(2)
    y.real[0] = 5
    assert y.tolist() == [5, 1]
    assert y.imag.tolist() == [0, 0]
