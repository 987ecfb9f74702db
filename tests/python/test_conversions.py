"""Programs convert values that another dtype does not hold."""

from __future__ import annotations

import platform

import numpy as np
import pytest

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
