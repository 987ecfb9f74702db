"""Fused functions treat numbers, dtypes and axes as NumPy does.

`test_vocabulary.py` has the functions themselves.
"""

from __future__ import annotations

import itertools
import operator
import sys
from pathlib import Path

import numpy as np
import pytest
from fuse_support import (
    DTYPES,
    FLOATS,
    INTEGERS,
    REALS,
    SPECIAL,
    assert_close,
    compare,
    name_of,
    quietly,
    run,
    sample,
)

import gpuos
from gpuos import functions as F

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))

import vocabulary

COMPARISONS = [
    getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
]


@pytest.mark.parametrize("function", COMPARISONS, ids=name_of)
def test_integers_compare_exactly(rt, function):
    signed = np.array([-1, 0, 2**62, 2**63 - 1], "int64")
    unsigned = np.array([2**64 - 1, 0, 2**62 + 1, 2**63], "uint64")
    compare(rt, function, signed[:, None], unsigned)
    compare(rt, function, unsigned[:, None], signed)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16"])
def test_clip_has_one_dtype_for_three(rt, dtype):
    x = np.array([0, 1, 7, 100]).astype(dtype)
    one, wide = np.float32(1.5), np.int64(3)
    for pair in [(-0.5, one), (-0.5, wide), (0.5, 2**40), (True, 2.5)]:
        for low, high in (pair, pair[::-1]):
            compare(rt, lambda x, a=low, b=high: np.clip(x, a, b), x)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64"])
def test_a_condition_may_choose_between_complex_numbers(rt, dtype):
    x = np.resize([0, 1, 1, 0, 1], 300).astype(dtype)
    compare(rt, lambda x: np.where(x, 0.1j, 2), x)
    compare(rt, lambda x: np.where(x, 1j, 0.1 + 2j) + 0.1, x)


FUNCTIONS = [  # not gelu_tanh, which is gelu(approximate="tanh")
    f
    for f in vocabulary.functions()
    if hasattr(np, f.name) or hasattr(F, f.name)
]
OF_ONE = [f.name for f in FUNCTIONS if f.inputs == 1]
OF_TWO = [f.name for f in FUNCTIONS if f.inputs == 2]
TOGETHER = [  # in one program; compilers optimize larger ones less
    names[first : first + count]
    for names, count in ((OF_ONE, 2), (OF_TWO, 2))
    for first in range(0, len(names), count)
]


def known_numbers(x, whole):
    """Numbers that a compiler finds out: 0 and -0, and one of -1, 0 and 1."""
    zero = np.logical_xor(x, x).astype(x.dtype)
    return zero, -zero, np.sign(whole).astype(x.dtype)


def of_known_numbers(names):
    """Return a function that calls those of `names` with known numbers."""

    def program(x, whole):
        made = []
        for name, known in itertools.product(names, known_numbers(x, whole)):
            function = getattr(np, name, None) or getattr(F, name)
            if name in OF_ONE:
                made.append(function(known))
                continue
            pairs = (known, x), (x, known)
            made += [function(*pair) for pair in pairs]
            if made[-1].dtype == bool:
                made += [np.where(function(x, known), *pair) for pair in pairs]
        return tuple(made)

    return program


def are_of_floats(rt, name):
    """Whether the function takes them; the others are of integers alone."""
    x = np.ones(1, "float32")
    try:
        rt.fuse(of_known_numbers([name]))(x, x.astype("int64"))
    except gpuos.InvalidArgument:
        return False
    return True


@pytest.mark.parametrize("names", TOGETHER, ids=",".join)
@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
def test_a_compiler_that_knows_an_operand_changes_no_bit(rt, dtype, names):
    names = [name for name in names if are_of_floats(rt, name)]
    if not names:
        return
    fused = rt.fuse(of_known_numbers(names))
    # Several elements, and single ones.
    for numbers in ([x for x in SPECIAL if abs(x) < np.inf], [7, -7, 0]):
        x = np.array(numbers, dtype)
        arrays = rt.array(x), rt.array(x.astype("int64"))
        interpreted = fused(*arrays)
        fused.compile(*arrays)
        for a, b in zip(interpreted, fused(*arrays), strict=True):
            assert_close(b.numpy(), a.numpy())


@pytest.mark.parametrize("to", DTYPES, ids=str)
def test_casts(rt, to):
    for dtype in REALS:
        x = sample(dtype)
        if dtype.kind == "f" and to.kind in "iu":
            x = np.clip(np.nan_to_num(x), 0, 100).astype(dtype)
        compare(rt, lambda x: x.astype(to), x)


@pytest.mark.parametrize("by", INTEGERS, ids=name_of)
@pytest.mark.parametrize("of", FLOATS, ids=name_of)
def test_casts_to_integers_and_back_are_two(rt, of, by):
    """A value that does not fit converts as the processor does, compiled or
    not. A compiler that sees both casts must not merge them."""
    ends = [-0.32, -0.0, 0.0, 7.9, -7.9, 1e20, -1e20, np.inf, np.nan]
    x = rt.array(quietly(np.array(ends).astype, of))
    back = ("float16", "float32", "float64", "complex64", "complex128")

    def casts(x):
        return tuple(x.astype(by).astype(to) for to in back)

    program = rt.fuse(casts)
    expected = [y.numpy().tobytes() for y in program(x)]
    try:
        program.compile(x)
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    assert [y.numpy().tobytes() for y in program(x)] == expected


@pytest.mark.parametrize("count", [3, 25])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_not_rounded_before_they_meet(rt, dtype, count):
    """A task has room for a few of them; more are in its text and code."""

    def function(x, k):
        made = x * k
        for i in range(count):
            made = np.where(x.real < i, made + (i / 3 + 0.1j), made)
        return made, (made * (0.7 - 0.2j)).sum()

    x = sample(np.dtype(dtype))
    wanted = function(x, 0.3 - 0.1j)
    rtol = 1e-13 if dtype == "complex128" else 1e-5
    program = rt.fuse(function)
    for is_compiled in (False, True):
        got = program(rt.array(x), 0.3 - 0.1j)
        np.testing.assert_allclose(got[0].numpy(), wanted[0], rtol, rtol)
        np.testing.assert_allclose(got[1].numpy(), wanted[1], rtol)
        if not is_compiled:
            try:
                program.compile(rt.array(x), 0.3 - 0.1j)
            except gpuos.BackendUnavailable as error:
                pytest.skip(str(error))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_array_is_no_real_one(rt, dtype):
    x = sample(np.dtype(dtype))
    with pytest.raises(gpuos.InvalidArgument, match="real or absolute"):
        run(rt, lambda x: x.astype("float32"), x)
    compare(rt, lambda x: x.astype(bool), x)
    compare(rt, lambda x: np.where(x, 1, 0), x)
    compare(rt, np.absolute, x, ulps=2)
    compare(rt, np.angle, x, ulps=4)
