"""Fused functions that are replaced while they are called."""

import threading
from typing import NamedTuple

import numpy as np
import pytest

import gpuos


@pytest.fixture
def a(rt):
    return rt.array([1.0, 2.0, 3.0], "f4")


def test_calls_run_the_newest_function(rt, a):
    f = rt.fuse(lambda x, y: x + y)
    before = f(a, a)
    assert f.version == 1
    assert f.replace(lambda x, y: x * y + 0.5) == f.version == 2
    np.testing.assert_array_equal(f(a, a), [1.5, 4.5, 9.5])
    np.testing.assert_array_equal(f(a, 2), [2.5, 4.5, 6.5])
    np.testing.assert_array_equal(before, [2, 4, 6])
    assert f.replace(rt.fuse(lambda x, y: x - y)) == 3
    np.testing.assert_array_equal(f(a, a), [0, 0, 0])


def test_callers_of_a_replaced_function_are_traced_again(rt, a):
    f = rt.fuse(lambda x: x + 1)
    g = rt.fuse(lambda x: f(x) * 10)
    h = rt.fuse(lambda x: g(x) + g(x))
    through_a_dict = gpuos.fuse(lambda p: f(p["a"]))
    takes_a_dict = rt.fuse(lambda p: p["a"] - 1)
    calls_it = gpuos.fuse(lambda x: takes_a_dict({"a": x}))
    alone = rt.fuse(lambda x: x * 3)
    np.testing.assert_array_equal(h(a), [40, 60, 80])
    np.testing.assert_array_equal(through_a_dict({"a": a}), [2, 3, 4])
    np.testing.assert_array_equal(calls_it(a), [0, 1, 2])
    [program] = alone.programs() or [alone.warm(a)]
    f.replace(lambda x: x + 2)
    takes_a_dict.replace(lambda p: p["a"] - 2)
    np.testing.assert_array_equal(h(a), [60, 80, 100])
    np.testing.assert_array_equal(g(a), [30, 40, 50])
    np.testing.assert_array_equal(through_a_dict({"a": a}), [3, 4, 5])
    np.testing.assert_array_equal(calls_it(a), [-1, 0, 1])
    alone(a)
    assert [p.hash for p in alone.programs()] == [program.hash]


class Pair(NamedTuple):
    one: object
    other: object


RESULTS = {
    "one": lambda x, y: x + y,
    "tuple": lambda x, y: (x + y, x - y),
    "list": lambda x, y: [x + y, x - y],
    "dict": lambda x, y: {"s": x + y, "d": x - y},
    "pair": lambda x, y: Pair(x + y, x - y),
    "nested": lambda x, y: (x + y, {"d": x - y}),
    "dtype": lambda x, y: x > y,
    "rank": lambda x, y: (x + y).sum(),
    "wide": lambda x, y: (x + y).astype("float64"),
}


GIVEN = {
    "arrays": lambda a: (a, a),
    "numpy": lambda a: (a.numpy(), a.numpy()),
    "tree": lambda a: ({"x": a}, a),
    "numpy tree": lambda a: ({"x": a.numpy()}, a.numpy()),
}


@pytest.mark.parametrize("before", RESULTS)
@pytest.mark.parametrize("after", RESULTS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("replacements", [1, 3])
def test_a_replacement_keeps_the_kind_of_result(
    a, before, after, given, replacements
):
    def of(name):
        function = RESULTS[name]
        return lambda p, q: function(p["x"] if "tree" in given else p, q)

    args = GIVEN[given](a)
    f = gpuos.fuse(of(before))
    wanted = repr(f(*args))
    for _ in range(1, replacements):  # without a call in between
        f.replace(of(before))
    if before == after:
        assert f.replace(of(after)) == 1 + replacements
        return
    with pytest.raises(
        gpuos.InvalidArgument, match=r"replace.*expected result"
    ):
        f.replace(of(after))
    assert f.version == replacements
    assert repr(f(*args)) == wanted


@pytest.mark.parametrize("given", GIVEN)
def test_a_function_that_calls_it_is_refused(a, given):
    args = GIVEN[given](a)
    of = (lambda p: p["x"]) if "tree" in given else (lambda p: p)
    f = gpuos.fuse(lambda p, q: of(p) + q)
    through = gpuos.fuse(lambda p, q: f(p, q) + 1)
    wanted = repr(f(*args))
    for function in (f, through):
        with pytest.raises(gpuos.InvalidArgument, match="not call <lambda>"):
            f.replace(lambda p, q: function(p, q) * 2)  # noqa: B023
        assert repr(f(*args)) == wanted
    assert f.version == 1


def test_replacing_a_part_keeps_the_kind_of_result(a):
    for x in GIVEN["numpy"](a)[0], a:
        f = gpuos.fuse(lambda x: x + 1)
        g = gpuos.fuse(lambda x, f=f: f(x) * 10)
        g(x)
        f.replace(lambda x: x + 2)
        with pytest.raises(gpuos.InvalidArgument, match="expected results"):
            g.replace(lambda x, f=f: f(x).sum())
        np.testing.assert_array_equal(np.asarray(g(x)), [30, 40, 50])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda y, x: x + y,
        lambda x, y, z=1: x + y + z,
        lambda *x: x[0] + x[1],
        lambda x, out: x + out,
    ],
)
def test_a_replacement_keeps_the_parameters(rt, a, function):
    f = rt.fuse(lambda x, y: x + y)
    f(a, a)
    with pytest.raises(gpuos.InvalidArgument, match="parameter"):
        f.replace(function)
    with pytest.raises(TypeError, match="expected a function"):
        f.replace(3)
    np.testing.assert_array_equal(f(a, a), [2, 4, 6])


def test_a_function_that_cannot_be_traced_changes_nothing(rt, a):
    f = rt.fuse(lambda x: x + 1)
    f(a)
    with pytest.raises(gpuos.InvalidArgument, match="where"):
        f.replace(lambda x: x + 1 if x > 0 else x)
    assert f.version == 1
    np.testing.assert_array_equal(f(a), [2, 3, 4])


def test_a_transaction_refuses_fused_functions(rt, a):
    f = rt.fuse(lambda x: x + 1)
    with (
        rt.transaction(),
        pytest.raises(
            gpuos.InvalidArgument, match="outside of the transaction"
        ),
    ):
        f.replace(lambda x: x + 100)
    np.testing.assert_array_equal(f(a), [2, 3, 4])


def test_results_stay_numpy_arrays_after_a_replacement():
    f = gpuos.fuse(lambda x: x + 1)
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(x), x + 1)
    f.replace(lambda x: x + 2)
    np.testing.assert_array_equal(f(x), x + 2)
    with pytest.raises(gpuos.InvalidArgument, match="expected results"):
        f.replace(lambda x: x.sum())


def test_replaced_while_others_call(rt):
    """Each call is of one version, and of none before the last one seen."""
    changes = 2000 if rt.backend == "host" else 500
    f = rt.fuse(lambda x: (x + 0, x - 0))
    g = rt.fuse(lambda x: f(x + 0))
    zero = rt.zeros(64)
    is_over = threading.Event()
    wrong = []

    def call():
        last = 0.0
        while not is_over.is_set():
            up, down = (y.numpy() for y in f(zero))
            k = up[0]
            if k < last or set(up) != {k} or set(down) != {-k}:
                wrong.append((last, up, down))
            above, below = (y.numpy() for y in g(zero))
            last = above[0]
            if last < k or set(below) != {-last}:
                wrong.append((k, above, below))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(1, changes + 1):
        f.replace(adding(k))
    is_over.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.version == changes + 1


def adding(k):
    return lambda x: (x + k, x - k)
