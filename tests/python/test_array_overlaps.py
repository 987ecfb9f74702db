"""Arrays that are written while parts of themselves are read: as NumPy does it,
which looks whether memory overlaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

SHAPE = (2, 3)
SLICES = [
    slice(None),
    slice(None, 1),
    slice(1, None),
    slice(None, None, -1),
    slice(None, 2),
    slice(None, None, 2),
    0,
    1,
]
VIEWS = [
    *itertools.product(SLICES, repeat=2),
    *((None, *each) for each in itertools.product(SLICES, repeat=2)),
]
DTYPES = ["float32", "int64", "complex64", "complex128"]


def subtract(x, y):
    x -= y


def assign(x, y):
    x[...] = y


def maximum(x, y):
    np.maximum(x, y, out=x)


def fits(shape, to):
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


@pytest.mark.never(
    lambda change, dtype: change is maximum and dtype.startswith("complex"),
    reason="not for complex numbers",
)
@pytest.mark.parametrize("change", [subtract, assign, maximum])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_part_into_a_part(rt, change, dtype):
    start = (np.arange(6).reshape(SHAPE) * 3 % 7).astype(dtype)
    if dtype.startswith("complex"):
        start += np.complex64(1j) * start.T.reshape(SHAPE)
    for to, of in itertools.product(VIEWS[: len(SLICES) ** 2], VIEWS):
        n = start.copy()
        if not fits(n[of].shape, n[to].shape):
            continue
        change(n[to], n[of].copy()) if n[to].ndim else None
        x = rt.array(start)
        if x[to].ndim == 0:
            continue  # NumPy's is a number, and none of its memory
        change(x[to], x[of])
        np.testing.assert_array_equal(x.numpy(), n, err_msg=f"{to} {of}")


PARTS = {
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "whole": lambda x: x,
    "row": lambda x: x[:1],
}


def cannot_be(to, of):
    """Whether it fits into no row, or NumPy refuses it or warns of it."""
    to, of = (PARTS[part](np.zeros(SHAPE, "complex64")) for part in (to, of))
    kinds = of.dtype.kind + to.dtype.kind
    return not fits(of.shape, to.shape) or kinds == "cf"


@pytest.mark.never(cannot_be, reason="NumPy has no such assignment")
@pytest.mark.parametrize("change", [subtract, assign])
@pytest.mark.parametrize("to", PARTS)
@pytest.mark.parametrize("of", PARTS)
def test_parts_of_complex_numbers(rt, change, to, of):
    start = (np.arange(6) + np.arange(6)[::-1] * 1j).reshape(SHAPE)
    start = start.astype("complex64")
    n, x = start.copy(), rt.array(start)
    change(PARTS[to](n), PARTS[of](n).copy())
    change(PARTS[to](x), PARTS[of](x))
    np.testing.assert_array_equal(x.numpy(), n)


@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_are_attributes_that_can_be_set(rt, part):
    n = np.array([1 + 2j, 3 - 4j], "complex64")
    x = rt.array(n)
    for value in (7, np.float32(2), np.array([5, 6], "float32")):
        setattr(n, part, value)
        setattr(x, part, value)
        np.testing.assert_array_equal(x.numpy(), n)
    for array in (x, n):
        before = getattr(array, part)
        before -= 1
        setattr(array, part, before)
    np.testing.assert_array_equal(x.numpy(), n)


def test_real_elements_have_no_imaginary_part_to_set(rt):
    x = rt.ones(3)
    x.real = 2
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match=r"complex dtype, .* got float32"):
        x.imag = 1
