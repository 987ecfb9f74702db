"""Results, names and calls of the functions that CuPy's suite of fusion fuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from peers_support import check, numbers, on, refused, same

import gpuos


def swaps(x, y, z):
    w = x * y + z
    x, w = w, x
    return z * w + y + x


def adds_often(x, y, _z):
    total = 0
    for _ in range(10):
        total += x + y
    return total


def ignores(x, y, _z):
    z = x + y  # noqa: F841
    return x


def of_many_shapes(x, y, _z):
    a = x + y
    b = np.sum(a, axis=0)
    x = x + b
    return np.sum(x, axis=0), b, x, a


def casts_between(x, y, z):
    x = x.astype("int32")
    y = x.astype("float32")
    return x + y, y + z, z + x


@pytest.mark.parametrize(
    "function",
    [
        swaps,
        adds_often,
        ignores,
        of_many_shapes,
        casts_between,
        lambda x, y, z: (x + y, y + z, z * x),
        lambda x, _y, _z: (x,),
        lambda x, y, z: [x, (y, {"z": z})],
        lambda x, y, _z: (x * y, None, "name", 3),
        lambda x, _y, _z: {"x": x, "n": 2.5, "none": ()},
        lambda x, y, _z: (x + x) * (x + y) * (y + y),
    ],
)
def test_results(rt, function):
    check(rt, function, *(numbers("f4", seed=i) for i in range(3)))


def test_a_result_that_is_no_array_is_refused(rt):
    for result in (None, (), [], 3, "text"):
        said = refused(rt, lambda _x, r=result: r, numbers("f4"))
        assert "expected arrays computed from the arguments" in said


def test_none_as_an_argument(rt):
    def choose(x, y, z):
        return x * z if y is None else x + y + z

    x = numbers("f4")
    check(rt, choose, x, None, x)
    check(rt, choose, x, x, x)


def test_an_array_that_is_given_twice(rt):
    x = rt.array(numbers("f4", (4, 4)))
    wanted = x.numpy() * 2 + x.numpy().T
    got = rt.fuse(lambda x, y, z: x + y + z)(x, x, x.T)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("decorate", [gpuos.fuse, gpuos.fuse()])
def test_the_decorator_keeps_name_and_docstring(decorate):
    @decorate
    def twice(x):
        """Return it twice."""
        return x + x

    assert (twice.__name__, twice.__doc__) == ("twice", "Return it twice.")
    assert "twice" in repr(twice)


def test_the_name_is_that_of_the_function():
    with pytest.raises(TypeError, match="kernel_name"):
        gpuos.fuse(lambda x: x, kernel_name="mine")


def test_fused_functions_call_each_other(rt):
    f = gpuos.fuse(lambda x, y: (x - y * 2, x + y))

    @gpuos.fuse
    def g(x, y, z):
        a, b = f(x + z, z - x * 3)
        c, d = f(x - y, y - z)
        return a + b * c - d

    def h(x, y, f=f, g=g):
        a, b = f(x + y * 2, y * 3)
        return a - b * g(x - 2, x - 3, -y)

    plain_f = f.__wrapped__
    x = numbers("f4")
    fused = gpuos.fuse(h)
    got = fused(rt.array(x), rt.array(x))

    def plain_g(x, y, z):
        a, b = plain_f(x + z, z - x * 3)
        c, d = plain_f(x - y, y - z)
        return a + b * c - d

    same(got, h(x, x, plain_f, plain_g))
    assert f.programs() == [] == g.programs()
    assert len(fused.programs()) == 1


def test_what_is_traced_again_and_what_is_not(rt):
    traced = []

    @rt.fuse
    def f(x, y):
        traced.append((x.dtype, y.dtype, x.ndim, y.ndim))
        return x + y

    def call(one, other):
        f(rt.array(one), rt.array(other))
        return len(traced)

    x, y = numbers("i4"), numbers("i2")
    assert [call(x, x), call(x, x), call(x, y), call(x, y)] == [1, 1, 2, 2]
    assert [call(y, x), call(x, x)] == [3, 3]
    # Neither shapes nor shared memory are part of the key.
    assert [call(x[:2], x[:2]), call(x[:1], x), call(x[0], x)] == [3, 3, 4]
    a = rt.array(numbers("i4", (3, 3)))
    f(a, a)
    f(a, a.T)
    assert len(traced) == 4


def test_threads_of_many_dtypes(rt):
    f = rt.fuse(lambda x, y: x + y * 2)
    results = [None] * 40

    def run(i):
        x = numbers("i8" if i % 2 else "f8", seed=i)
        results[i] = f(rt.array(x), rt.array(x)).numpy()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, got in enumerate(results):
        same(got, numbers("i8" if i % 2 else "f8", seed=i) * 3)


# ---- A whole layer.


def batch_norm(x, gamma, beta, mean, var, size, adjust):
    decay, eps = 0.9, 2e-5
    expander = (None, slice(None), None, None)
    batch_mean = np.sum(x, axis=(0, 2, 3)) / size
    diff = x - batch_mean[expander]
    batch_var = np.sum(diff * diff, axis=(0, 2, 3)) / size
    inv_std = 1.0 / np.sqrt(batch_var + eps)
    y = gamma[expander] * diff * inv_std[expander] + beta[expander]
    mean = mean * decay + (1 - decay) * batch_mean
    var = var * decay + (1 - decay) * adjust * batch_var
    return y, mean, var


def test_batch_normalisation(rt):
    x = np.random.default_rng(0).normal(2, 5, (4, 6, 5, 7)).astype("f4")
    ones, zeros = np.ones(6, "f4"), np.zeros(6, "f4")
    size = x.size // 6
    args = (x, ones, zeros, zeros, ones, float(size), size / (size - 1))
    check(rt, batch_norm, *args)
    # The running ones are written in place by the call.
    given = on(rt, list(args))
    y = rt.empty(x.shape)
    rt.fuse(batch_norm)(*given, out=(y, given[3], given[4]))
    same((y, given[3], given[4]), batch_norm(*args))
