"""Reductions of fused functions have odd cases, as norms and softmax do.

`test_fuse_numpy.py` has every reduction of every dtype.
"""

from __future__ import annotations

import decimal
import math

import numpy as np
import pytest
from fuse_support import (
    run,
)

import gpuos
from gpuos import functions as F


def test_the_mean_of_halves_does_not_overflow(rt):
    x = np.full(1000, 1000, "float16")
    assert run(rt, np.mean, x) == 1000
    assert run(rt, np.std, x) == 0


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_softmax_and_what_is_near(rt, axis):
    x = np.random.default_rng(0).normal(0, 3, (7, 9))
    sums = np.log(np.exp(x).sum(axis, keepdims=True))
    close = {"rtol": 1e-12, "atol": 1e-12}
    got = run(rt, lambda x: F.softmax(x, axis), x)
    np.testing.assert_allclose(got, softmax(x, axis), **close)
    got = run(rt, lambda x: F.log_softmax(x, axis), x)
    np.testing.assert_allclose(got, x - sums, **close)
    got = run(rt, lambda x: F.logsumexp(x, axis, keepdims=True), x)
    np.testing.assert_allclose(got, sums, **close)
    got = run(rt, lambda x: F.logsumexp(x, axis), x)
    np.testing.assert_allclose(got, sums.squeeze(axis), **close)


def test_logsumexp_of_infinities(rt):
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [800.0, 800]])
    wanted = [-np.inf, np.inf, 800 + math.log(2)]
    got = run(rt, lambda x: F.logsumexp(x, 1), x)
    np.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_small_beside_the_maximum_counts(rt, dtype):
    rows = [[0, -17], [0, -40], [-40, 0], [3, 3], [1e-3, -60], [-700, -700.5]]
    x = np.array(rows, dtype)
    exact, normal = [], []
    with decimal.localcontext() as context:
        context.prec = 60
        for row in x.tolist():
            terms = [decimal.Decimal(term) for term in row]
            exact.append(sum(term.exp() for term in terms).ln())
            normal.append([float(term - exact[-1]) for term in terms])
    got = run(rt, lambda x: F.logsumexp(x, 1), x)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, [*map(float, exact)], rtol=32 * eps)
    got = run(rt, lambda x: F.log_softmax(x, 1), x)
    np.testing.assert_allclose(got, normal, rtol=32 * eps)


@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 1), ((0, 3), 0)])
def test_rows_of_nothing_have_a_softmax(rt, shape, axis):
    """Empty rows have a softmax, as in PyTorch; a maximum alone has none."""
    x = rt.array(np.zeros(shape, "f4"))

    def compute(x):
        return (
            F.softmax(x, axis),
            F.log_softmax(x, axis),
            F.logsumexp(x, axis),
        )

    one, other, total = (y.numpy() for y in rt.fuse(compute)(x))
    assert one.shape == other.shape == shape
    np.testing.assert_array_equal(total, [-np.inf] * 3)
    with pytest.raises(gpuos.InvalidArgument, match="at least 1 element"):
        rt.fuse(lambda x: x.max(axis))(x)


def test_parts_that_are_joined_are_rows_of_their_own(host):
    x, y = np.random.default_rng(3).random((2, 300, 3))
    parts = [host.array(part) for part in (x[:7], y, x)]
    joined = host.fuse(lambda *parts: np.concatenate(parts).sum(0))
    a, b, c = (part.sum(0) for part in parts)
    assert joined(*parts).numpy().tobytes() == (a + b + c).numpy().tobytes()
