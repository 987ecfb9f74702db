"""The user code in MLX's suite of mx.compile, as fused functions.

A function that asks for a shape or for a number of the call is traced for each.
test_fuse_errors.py shows that captured arrays are refused.
"""

import collections
import inspect
import math
from functools import partial, wraps

import numpy as np
import pytest
from peers_support import check, numbers, on, refused, same

import gpuos

X = np.array([1.0, 2.0], "f4")


def traced(rt, function):
    """Return the fused function, and the counter of its traces."""
    calls = []

    @wraps(function)
    def counted(*args, **keywords):
        calls.append(None)
        return function(*args, **keywords)

    return rt.fuse(counted), calls


# ---- Shapes and dtypes of a call.


SHAPED = {
    "product": lambda x: x.reshape(x.shape[0] * x.shape[1], -1),
    "unflatten": lambda x: x.reshape(*x.shape[:-1], 2, -1),
    "mean": lambda x: x.sum() / x.size,
    "len": lambda x: x * len(x),
    "broadcast_to": lambda x: np.broadcast_to(x[0, 0], x.shape),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0]),
    "of a sum": lambda x: x / x.sum(axis=1).shape[0],
    "of a slice": lambda x: x * x[1:].shape[0],
    "rows": lambda x: [row * i for i, row in enumerate(x)],
    "sum of rows": sum,
    "unpacked": lambda x: np.subtract(*x.T[:2]),
    "squeeze": lambda x: np.squeeze(x[:, None]),
    "branch": lambda x: x.sum() if x.shape[0] > 2 else x,
}


@pytest.mark.parametrize("name", SHAPED)
def test_functions_that_read_a_shape_are_traced_per_shape(rt, name):
    function, calls = traced(rt, SHAPED[name])
    shapes = (2, 4), (3, 6), (1, 2), (3, 6), (2, 4)
    for shape in shapes:
        x = numbers("f4", shape)
        same(function(rt.array(x)), SHAPED[name](x))
    assert len(calls) == len(set(shapes))
    x = numbers("f4", (2, 4))
    same(gpuos.fuse(SHAPED[name])(x), SHAPED[name](x))


def test_reading_one_shape_traces_for_all_shapes(rt):
    scale, calls = traced(rt, lambda x, y: x * y.shape[0])
    x, y = on(rt, [numbers("f4"), numbers("f4", 7)])
    for n in (7, 5, 7):
        same(scale(x, y[:n]), x.numpy() * n)
    assert len(calls) == 2


def test_too_many_rows_are_refused(rt):
    said = refused(rt, sum, np.ones(65))
    assert "at most 64 elements" in said
    assert "operators and reductions work on all of them" in said


def test_more_dimensions_than_there_are_say_how_many(rt):
    said = refused(rt, lambda a, b: np.abs(a + b), *[np.ones((1,) * 10)] * 2)
    assert "8 dimensions, got 10" in said


# ---- Constants: numbers, texts, tuples, lists, None.


def choose(x, y):
    return x + 1 if y else x + 2


def named(x, y):
    return x + 1 if y == "one" else x + 2


def nested(x, y):
    return x + 1 if y[0][0] == 1 else x + 2


def loops(x, a, b):
    for ai in a:
        for bi in b:
            x = bi * x + ai
    return x


def repeats(x, n):
    for _ in range(n):
        x = x * 2
    return x


ASKED = {
    "bool": (choose, [(True,), (False,)]),
    "integer": (lambda x, n: x + 1 if n == 1 else x + 2, [(1,), (3,)]),
    "text": (named, [("one",), ("two",)]),
    "list": (nested, [([[1]],), ([[0]],)]),
    "tuple": (nested, [(((1,),),), (((0,),),)]),
    "lists": (loops, [([1, 1], [2]), ([1], [1, 2])]),
    "count": (repeats, [(0,), (3,), (np.int64(2),)]),
    "axis": (lambda x, axis: x[None].sum(axis), [(0,), (1,), (-1,), (None,)]),
    "axes": (lambda x, axis: x[None].sum(axis), [((0, 1),), ((1,),)]),
    "keepdims": (lambda x, k: x.sum(keepdims=k), [(True,), (False,)]),
    "ddof": (lambda x, ddof: x.var(ddof=ddof), [(0,), (1,)]),
    "index": (lambda x, i: x[i], [(0,), (1,), (-2,)]),
    "slice": (lambda x, i: x[i:], [(0,), (1,)]),
    "size": (lambda x, n: x.reshape(n, -1), [(1,), (2,)]),
    "decimals": (lambda x, n: (x / 3).round(n), [(0,), (2,)]),
    "roll": (np.roll, [(1,), (-1,)]),
    "flip": (np.flip, [(0,), (None,)]),
    "rot90": (lambda x, k: np.rot90(x[None], k), [(1,), (2,), (5,)]),
    "split": (np.split, [(1,), (2,)]),
    "diff": (np.diff, [(0,), (1,)]),
    "norm": (lambda x, a: np.linalg.norm(x[None], axis=a), [(0,), (1,)]),
    "moveaxis": (lambda x, a: np.moveaxis(x[None], a, 0), [(0,), (1,)]),
    "expand_dims": (np.expand_dims, [(0,), (1,)]),
    "concatenate": (
        lambda x, a: np.concatenate([x[None]] * 2, a),
        [(0,), (1,)],
    ),
    "stack": (lambda x, a: np.stack([x, x], a), [(0,), (1,)]),
    "real": (lambda x, k: x * math.sqrt(k), [(2.0,), (4.0,)]),
    "derived": (lambda x, n: x[(n + 1) // 2 - 1], [(1,), (3,)]),
    "two": (lambda x, n, k: x * max(n, k), [(1, 3), (3, 1), (2, 2.5)]),
    "some": (lambda x, n, k: repeats(x, n) * k, [(1, 0.5), (2, 0.25)]),
    "default": (lambda x, y=(1, 2): x + y[0] + y[1], [(), ((2, 2),)]),
    "none": (lambda x, y: x if y is None else x + y, [(None,), (2.0,)]),
}


@pytest.mark.parametrize("name", ASKED)
def test_python_arguments_decide_the_trace(rt, name):
    function, calls = ASKED[name]
    fused = rt.fuse(function)
    for given in [*calls, *calls[::-1]]:
        same(fused(rt.array(X), *given), function(X, *given))
    for given in calls:
        same(gpuos.fuse(function)(X, *given), function(X, *given))


def test_functions_may_catch_the_tracing_error(rt):
    def careful(x, n):
        try:
            return repeats(x, n)
        except Exception:  # noqa: BLE001
            return x

    def careless(x, n):
        try:
            x = repeats(x, n)
        except:  # noqa: E722
            x = x - 1
        return x

    def another(x, n):
        try:
            return repeats(x, n)
        except BaseException:  # noqa: BLE001
            raise KeyError from None

    for function in (careful, careless, another):
        same(rt.fuse(function)(rt.array(X), 3), X * 8)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: x if x.sum() > 0 else -x, "use where() instead of a branch"),
        (lambda x: (x > 0) and (x < 1), "& | ~ instead of and, or, not"),
        (lambda x: 0 < x < 1, "& | ~ instead of and"),
        (lambda x: max(x, 0), "maximum() and minimum() instead of max()"),
        (lambda x: x * x.max().item(), "has no number yet"),
        (lambda x: x * math.exp(x[0]), "has no number yet"),
        (lambda x: repeats(x, x.argmax()), "take those from numbers and from"),
    ],
)
def test_the_number_of_an_array_is_refused(rt, function, told):
    assert told in refused(rt, function, X)


def test_a_number_around_the_function_is_read_when_it_is_traced(rt):
    y = 1

    def add(x):
        return x + y

    fused = rt.fuse(add)
    same(fused(rt.array(X)), X + 1)
    y = 2
    same(fused(rt.array(X[:1])), X[:1] + 1)  # the same program
    same(fused(rt.array(X[None])), X[None] + 2)  # another one


# ---- Trees of arrays, and results that change.


class Vector(tuple):
    __slots__ = ()


class Names(list):
    pass


TREES = [
    (lambda t: Vector([t[0] + 10, t[1] * 10]), Vector([X, X])),
    (lambda t: Names([t[0] + 10, t[1] * 10]), Names([X, X])),
    (
        lambda d: collections.OrderedDict(b=d["a"], a=d["b"] * 2),
        collections.OrderedDict(a=X, b=X),
    ),
    (
        lambda d: collections.defaultdict(int, {"s": d["a"] + d["missing"]}),
        collections.defaultdict(lambda: X, a=X, missing=X),
    ),
]


@pytest.mark.parametrize(("function", "tree"), TREES)
def test_trees(rt, function, tree):
    got = rt.fuse(function)(on(rt, tree))
    same(got, function(tree))
    if isinstance(got, collections.defaultdict):
        assert got.default_factory is int


# ---- Names, decorators and lives.


def test_a_fused_function_looks_like_its_function(rt):
    def scaled(x: np.ndarray, by: str = "y"):
        """Return it scaled."""

    fused = rt.fuse(scaled)
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        assert getattr(fused, name) == getattr(scaled, name)
    assert inspect.signature(fused) == inspect.signature(scaled)
    assert fused.__wrapped__ is scaled

    @wraps(fused)
    def around():
        pass

    assert around.__name__ == "scaled"


def test_fuse_accepts_fused_and_unnamed_functions(rt):
    check(rt, rt.fuse(lambda x: x + 1).__wrapped__, X)
    same(rt.fuse(rt.fuse(lambda x: x + 1))(rt.array(X)), X + 1)
    same(rt.fuse(np.sin)(rt.array(X)), np.sin(X))
    same(rt.fuse(partial(lambda k, x: x * k, 2.0))(rt.array(X)), X * 2)
