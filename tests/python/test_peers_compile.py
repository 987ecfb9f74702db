"""The user code in MLX's suite of mx.compile, as fused functions.

A function that asks for a shape or for a number of the call is traced for each.
Captured arrays, state and random numbers of mx.compile are refused or differ on
purpose. The tests assert this together with the replacement.
"""

from __future__ import annotations

import collections
import gc
import inspect
import math
import weakref
from functools import partial, wraps
from typing import NamedTuple

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


def test_sizes_and_dtypes_of_one_function(rt):
    add, calls = traced(rt, lambda x, y: x + y)
    one = np.float32(1)
    for x, y in [
        (np.array(1.0), np.array(1.0)),
        (X, np.array(one)),
        (X, X),
        (np.array([1, 2]), np.array([1, 2])),
    ]:
        same(add(*on(rt, [x, y])), x + y)
    assert len(calls) == 4


def test_inputs_that_have_not_run_yet(rt):
    x = y = rt.array([1, 2, 3])
    for _ in range(5):
        x = x + y
        y = y + 1
    np.testing.assert_array_equal(
        rt.fuse(lambda x, y: x * y)(x, y), [96, 154, 224]
    )


SHAPELESS = {
    "broadcast": lambda x: x * x[0],
    "reduction": lambda x: x + x.sum(0, keepdims=True),
    "last": lambda x: x[:, -1],
    "mean": lambda x: np.mean(x, keepdims=True),
    "zeros_like": np.zeros_like,
    "ones_like": lambda x: np.ones_like(x) + x,
    "full_like": lambda x: np.full_like(x, 2.5, dtype="f8"),
    "unflatten": lambda x: x.reshape(2, -1),
    "flatten": lambda x: x.reshape(-1),
}


@pytest.mark.parametrize("name", SHAPELESS)
def test_one_program_serves_every_shape(rt, name):
    function, calls = traced(rt, SHAPELESS[name])
    for shape in ((2, 4), (6, 3), (1, 2)):
        x = numbers("f4", shape)
        same(function(rt.array(x)), SHAPELESS[name](x))
    assert len(calls) == 1


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
def test_who_asks_for_a_shape_is_traced_for_each(rt, name):
    function, calls = traced(rt, SHAPED[name])
    shapes = (2, 4), (3, 6), (1, 2), (3, 6), (2, 4)
    for shape in shapes:
        x = numbers("f4", shape)
        same(function(rt.array(x)), SHAPED[name](x))
    assert len(calls) == len(set(shapes))
    x = numbers("f4", (2, 4))
    same(gpuos.fuse(SHAPED[name])(x), SHAPED[name](x))


def test_who_asks_for_the_shape_of_one_argument_knows_all(rt):
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


def test_a_number_is_a_parameter_until_somebody_asks(rt):
    add, calls = traced(rt, lambda x, y: x + y)
    for y in (1.0, 2.0, 3.5):
        same(add(rt.array(X), y), X + np.float32(y))
        same(add(rt.array(X), y=y), X + np.float32(y))
    same(add(1, rt.array(X)), X + 1)
    assert len(calls) == 3  # positional, by name, and the other way round


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
def test_what_the_function_asks_for_decides_what_it_does(rt, name):
    function, calls = ASKED[name]
    fused = rt.fuse(function)
    for given in [*calls, *calls[::-1]]:
        same(fused(rt.array(X), *given), function(X, *given))
    for given in calls:
        same(gpuos.fuse(function)(X, *given), function(X, *given))


def test_a_number_that_nobody_asks_for_stays_a_parameter(rt):
    fused = rt.fuse(lambda x, n, k: repeats(x, n) * k)
    for k in (0.5, 0.25, 3.0):
        same(fused(rt.array(X), 2, k), X * 4 * np.float32(k))
    assert len(fused.programs()) == 1
    fused(rt.array(X), 3, 0.5)
    assert len(fused.programs()) == 2


def test_who_asks_may_catch_what_he_likes(rt):
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


class Holder:
    value = 1


@pytest.mark.parametrize("given", [Holder(), {1}, np.sin, slice(1)])
def test_arguments_of_other_kinds_are_refused(rt, given):
    for call in (
        lambda f, x: f(x, given),
        lambda f, x: f(x, y=given),
    ):
        with pytest.raises(gpuos.InvalidArgument, match="expected"):
            call(rt.fuse(lambda x, y: x + y.value), rt.array(X))


def test_constants_of_the_text(rt):
    check(rt, lambda x: (x + math.pi) * 2.0, X.astype("f8"))
    check(rt, lambda x: np.isinf(x + 2), np.array([0.0, np.inf]))
    check(rt, lambda x: x + np.array(1), np.array([3]))
    for dtype in ("bool", "int8", "uint8", "int16", "uint16"):
        check(rt, lambda x: x * 1 + 0, np.arange(4).astype(dtype))
    got = rt.fuse(lambda x: np.where(np.isinf(x), 0, 1))(
        rt.array([0, np.inf, 1], "bfloat16")
    )
    assert got.numpy().tolist() == [1, 0, 1]


def test_a_number_around_the_function_is_read_when_it_is_traced(rt):
    y = 1

    def add(x):
        return x + y

    fused = rt.fuse(add)
    same(fused(rt.array(X)), X + 1)
    y = 2
    same(fused(rt.array(X[:1])), X[:1] + 1)  # the same program
    same(fused(rt.array(X[None])), X[None] + 2)  # another one


# ---- Captured arrays and state.


@pytest.mark.parametrize("where", ["array", "dict", "partial", "object"])
def test_a_captured_array_must_be_an_argument(rt, where):
    w = rt.array(X)

    class Layer:
        def __call__(self, x):
            return x * w

    captured = {
        "array": lambda x: x + w,
        "dict": lambda x: x * {"w": w}["w"],
        "partial": partial(lambda w, x: x * w, w),
        "object": Layer(),
    }[where]
    with pytest.raises(gpuos.InvalidArgument, match="must be an argument"):
        rt.fuse(captured)(w)


def test_arrays_made_in_the_function_must_be_arguments(rt):
    for make in (np.zeros, np.arange, np.random.default_rng(0).random):
        said = refused(rt, lambda x, make=make: x + make(2), X)
        assert "an array must be an argument of the function" in said


def test_random_numbers_are_an_argument(rt):
    random = np.random.default_rng(0)
    said = refused(rt, lambda x: x + random.normal(size=2), X)
    assert "an array must be an argument of the function" in said
    drop = rt.fuse(lambda x, noise: np.where(noise < 0.5, x, 0))
    draws = [random.random(200, "f4") for _ in range(2)]
    got = [drop(rt.array(np.ones(200, "f4")), rt.array(d)) for d in draws]
    for kept, draw in zip(got, draws, strict=True):
        same(kept, (draw < 0.5).astype("f4"))


def test_state_is_an_argument_and_a_result(rt):
    step = rt.fuse(lambda x, state: (x + state["y"], {"y": state["y"] + x}))
    state = {"y": rt.array(X)}
    for _ in range(3):
        out, state = step(rt.array(X), state)
    same(out, X * 4)
    same(state["y"], X * 4)
    with pytest.raises(TypeError, match="inputs"):
        partial(gpuos.fuse, inputs=state)(lambda x: x)


def test_what_is_left_outside_is_no_array(rt):
    left = {}

    def leaves(x):
        left["y"] = x + 3
        return np.abs(x)

    same(rt.fuse(leaves)(rt.array(-X)), X)
    assert isinstance(left["y"], gpuos.Value)
    with pytest.raises(gpuos.InvalidArgument, match="one program"):
        rt.fuse(lambda x: x + left["y"])(rt.array(X))


def test_an_assignment_to_a_part_says_what_to_write(rt):
    def update(x):
        x[1] = 3.0
        return x

    assert "where() and concatenate() make a new one" in refused(rt, update, X)
    check(rt, lambda x: np.concatenate([x[:1], x[1:] * 0 + 3.0]), X)


# ---- Trees of arrays, and results that change.


class Vector(tuple):
    __slots__ = ()


class Names(list):
    pass


class State(NamedTuple):
    a: object
    b: object


TREES = [
    (lambda s: State(s.a + 10, s.b * 10), State(X, X)),
    (lambda t: (t[0] + 10, t[1] * 10), (X, X)),
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
    (lambda ts: sum(ts).sum(), (X, X[:1])),
    (lambda d: {k: [v, v * 2] for k, v in d.items()}, {"x": X, "y": X}),
]


@pytest.mark.parametrize(("function", "tree"), TREES)
def test_trees(rt, function, tree):
    got = rt.fuse(function)(on(rt, tree))
    same(got, function(tree))
    if isinstance(got, collections.defaultdict):
        assert got.default_factory is int


def of_kind(x, y):
    if y is None:
        return 2 * x
    if x.dtype == y.dtype == np.float32:
        return [x + y]
    if y.dtype == bool:
        return {"a": x, "b": y * x}
    return x, None


def test_results_of_another_kind_for_each_structure(rt):
    for y in (None, X, X > 1, X.astype("i4")):
        check(rt, of_kind, X, y)


def test_a_class_that_is_no_tree_is_refused(rt):
    said = refused(rt, lambda _x: Holder(), X)
    assert "expected arrays computed from the arguments as results" in said


# ---- Many operations, inputs and outputs.


def test_long_chains(rt):
    def down(a, b):
        for _ in range(10):
            a = a - 1.0
            b = b - 1.0
        return a + b

    check(rt, down, X * 10, X * 20)
    check(rt, lambda x: x == np.max(x, axis=1, keepdims=True), numbers("f4"))


def test_many_outputs(rt):
    def sums(x):
        ys = [x]
        for _ in range(5):
            ys.append(ys[-1] + x)
        return ys, np.sum(ys[-1])

    check(rt, sums, X)

    def halves(x):
        arrays = [x] * 32
        for _ in range(5):
            arrays = [
                a + b for a, b in zip(arrays[::2], arrays[1::2], strict=True)
            ]
        return arrays[0], [x * i for i in range(31)]

    check(rt, halves, X)


def test_many_inputs(rt):
    def by_halves(*inputs):
        arrays = [*inputs]
        while len(arrays) > 1:
            arrays = [
                a + b for a, b in zip(arrays[::2], arrays[1::2], strict=True)
            ]
        return arrays[0]

    inputs = [numbers("f4", (2, 2, 2), seed=i) for i in range(64)]
    inputs[0] = inputs[0].T
    check(rt, by_halves, *inputs)
    check(rt, lambda arrays: by_halves(*arrays), inputs)
    said = refused(rt, sum, [X] * 65)
    assert "expected at most 64 arguments" in said


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


def test_what_is_fused_already_and_what_has_no_name(rt):
    check(rt, rt.fuse(lambda x: x + 1).__wrapped__, X)
    same(rt.fuse(rt.fuse(lambda x: x + 1))(rt.array(X)), X + 1)
    same(rt.fuse(np.sin)(rt.array(X)), np.sin(X))
    same(rt.fuse(partial(lambda k, x: x * k, 2.0))(rt.array(X)), X * 2)


def test_only_one_of_two_results_is_used(rt):
    check(rt, lambda x, y: np.divmod(np.abs(x), np.abs(y))[0], X, X)
    check(rt, lambda x: np.modf(x / 4)[1], X)


def test_a_function_that_holds_itself_goes(rt):
    def hold():
        held = {}
        held["f"] = rt.fuse(lambda x: x + len(held))
        held["f"](rt.array(X))
        return weakref.ref(held["f"].__wrapped__)

    gone = hold()
    gc.collect()
    assert gone() is None


def test_what_is_not_here_is_no_attribute():
    for name in ("vmap", "grad", "eval", "disable_compile"):
        assert not hasattr(gpuos, name)
