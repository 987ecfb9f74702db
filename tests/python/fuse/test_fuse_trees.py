"""Lists, dicts and tuples of arrays as arguments and results; many of them."""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import pytest
from peers_support import on, same

import gpuos

X = np.arange(6.0).reshape(2, 3)
Y = X + 10


class Pair(NamedTuple):
    a: object
    b: object


# A function, and arguments that hold X, Y and numbers somewhere.
CASES = {
    "list": (lambda xs: xs[0] - xs[1], [X, Y]),
    "tuple": (lambda xs: xs[0] - xs[1], (X, Y)),
    "named tuple": (lambda p: p.a - p.b, Pair(X, Y)),
    "dict": (lambda d: d["x"] - d["y"], {"x": X, "y": Y}),
    "nested": (
        lambda d: d["l"][1][0] * d["p"].b + d["p"].a["k"],
        {"l": [1, (X, "s")], "p": Pair({"k": Y}, 2.5)},
    ),
    "order": (lambda d: next(iter(d.values())) - next(iter(d)), {2: X, 1: Y}),
    "empty": (lambda d: d["x"] + len(d["none"]), {"x": X, "none": []}),
}
# The operations on X and Y for each kind of result.
RESULTS = {
    "dict": lambda x, y: {"sum": x + y, "more": {"product": x * y}},
    "others": lambda x, y: {
        "x": x * y,
        "n": 2.5,
        "more": (None, "name", 3, ()),
    },
    "mixed": lambda x, y: [x + y, {"t": (x - y, Pair(x * 2, [y]))}],
}


@pytest.mark.parametrize("name", CASES)
def test_arguments(rt, name):
    function, tree = CASES[name]
    fused = rt.fuse(function)
    for _ in range(2):
        same(fused(on(rt, tree)), function(tree))
    assert len(fused.programs()) == 1
    out = rt.empty(X.shape, "f8")
    fused(on(rt, tree), out=out)
    same(out, function(tree))


@pytest.mark.parametrize("name", RESULTS)
def test_results(rt, name):
    function = RESULTS[name]
    fused = rt.fuse(function)
    for _ in range(2):
        same(fused(rt.array(X), rt.array(Y)), function(X, Y))


def small_trees(depth):
    """Every tree of arrays: 0, or a container of one or two such trees."""
    yield 0
    if depth == 0:
        return
    parts = [*small_trees(depth - 1)]
    several = [[one] for one in parts]
    several += [[one, other] for one in parts for other in parts]
    for items in several:
        yield tuple(items)
        yield items
        yield dict(zip("ab", items, strict=False))
        if len(items) == 2:
            yield Pair(*items)


def filled(tree, values):
    """The same tree with the next value in place of each 0."""
    if tree == 0:
        return next(values)
    if isinstance(tree, dict):
        return {key: filled(part, values) for key, part in tree.items()}
    parts = [filled(part, values) for part in tree]
    return Pair(*parts) if isinstance(tree, Pair) else type(tree)(parts)


def test_every_small_tree_is_returned_unchanged(rt):
    x = rt.array(X)
    for tree in small_trees(2):
        fused = rt.fuse(
            lambda x, tree=tree: filled(tree, (x + k for k in range(9)))
        )
        same(fused(x), filled(tree, (X + k for k in range(9))))


def test_different_structures_are_traced_separately(rt):
    @rt.fuse
    def total(tree):
        parts = tree.values() if isinstance(tree, dict) else tree
        return sum(parts)

    x, y = rt.array(X), rt.array(Y)
    for tree in ([x], [x, y], (x, y, x), {"a": x}, {"b": x, "a": y}):
        parts = tree.values() if isinstance(tree, dict) else tree
        same(total(tree), sum(part.numpy() for part in parts))
    assert len(total.programs()) == 5


# These are equal for Python, and not the same.
EQUAL = [[1, 1.0, True, 1 + 0j, np.float32(1)], [0.0, -0.0], [0j, -0j]]
EQUAL += [[*map(np.float64, (0.0, -0.0))], [(1, 2), (1.0, 2), (True, 2)]]
EQUAL += [[((1,),), ((True,),)], [frozenset({1}), frozenset({1.0})]]


@pytest.mark.parametrize("keys", EQUAL, ids=str)
def test_equal_keys_of_other_types_are_distinct(host, keys):
    x = host.array(X)
    of_dicts = host.fuse(lambda d: d["x"] * len(f"{next(iter(d))!r}"))
    of_tuples = host.fuse(lambda x, keys: x * len(f"{keys[0]!r}"))
    for _ in range(2):
        for key in keys:
            wanted = X * len(f"{key!r}")
            same(of_dicts({key: x, "x": x}), wanted)
            same(of_tuples(x, (key,)), wanted)
    assert len(of_dicts.programs()) == len(keys)
    assert len(of_tuples.programs()) == len(keys)


def warned_of_many(is_so):
    if not is_so:
        return nullcontext()
    return pytest.warns(RuntimeWarning, match="the last 256 are kept")


def test_the_last_256_structures_are_kept(host):
    runs = []

    def total(d):
        runs.append(len(d))
        return sum(d.values())

    fused, x = host.fuse(total), host.ones(2)
    for n in range(300):
        with warned_of_many(n == 30):
            fused({"x": x, n: x})
        fused({"x": x})
    assert len(fused.programs()) == 256
    assert len(runs) == 301  # the one that was used in between stayed
    fused.replace(lambda d: 2 * sum(d.values()))
    same(fused({"x": x}), 2 * np.ones(2, "f4"))


def test_values_outside_arrays_choose_the_program(rt):
    @rt.fuse
    def reduce(x, how):
        return getattr(x, how["name"])(axis=how["axis"])

    x = rt.array(X)
    same(reduce(x, {"name": "sum", "axis": (0,)}), X.sum(axis=0))
    same(reduce(x, {"name": "max", "axis": None}), X.max())


def test_compiled_ahead(rt):
    fused = rt.fuse(lambda d: d["x"] * d["y"])
    tree = {"x": rt.array(X), "y": rt.array(Y)}
    assert fused.warm(tree).operations == 1
    fused.compile(tree)
    same(fused(tree), X * Y)


def test_inside_another(rt):
    inner = rt.fuse(lambda xs: {"sum": xs[0] + xs[1]})
    outer = rt.fuse(lambda x, y: inner([x, y])["sum"] * 2)
    same(outer(rt.array(X), rt.array(Y)), (X + Y) * 2)


def test_a_method(rt):
    class Model(NamedTuple):
        scale: object

        @gpuos.fuse
        def step(self, state):
            return {key: x * self.scale for key, x in state.items()}

    state = {"p": rt.array(X), "v": rt.array(Y)}
    same(Model(2.0).step(state), {"p": X * 2, "v": Y * 2})
    same(Model(rt.array(Y)).step(state), {"p": X * Y, "v": Y * Y})


def test_numpy_arrays_in_containers_are_accepted():
    fused = gpuos.fuse(lambda d: {"y": d["x"] + 1})
    made = fused({"x": X})
    assert type(made["y"]) is np.ndarray
    same(made, {"y": X + 1})


def test_64_inputs_and_32_outputs(rt):
    @rt.fuse
    def pairs(*xs):
        return [a * b for a, b in zip(xs[::2], xs[1::2], strict=True)]

    arrays = [np.arange(5.0) + i for i in range(64)]
    same(pairs(*(rt.array(x) for x in arrays)), pairs.__wrapped__(*arrays))
    total = rt.fuse(sum)
    same(total([rt.array(x) for x in arrays[:24]]), sum(arrays[:24]))


def test_too_many_or_cyclic(rt):
    x = rt.array(X)
    with pytest.raises(gpuos.InvalidArgument, match="64"):
        rt.fuse(sum)([x] * 65)
    with pytest.raises(gpuos.InvalidArgument, match="32 results"):
        rt.fuse(lambda x: [x.sum() + i for i in range(33)])(x)
    cyclic: list = [x]
    cyclic.append(cyclic)
    with pytest.raises(RecursionError):
        rt.fuse(lambda xs: xs[0])(cyclic)
    with pytest.raises((gpuos.InvalidArgument, TypeError)):
        rt.fuse(lambda xs: xs[0])([x, object()])
