"""An expression is what Python makes of its text in a fused function.

Python's own parser and `fuse` are the oracle: each text is evaluated there, and
the bits are compared.
"""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from fuse_support import DTYPES, quietly, sample
from language_support import LANGUAGE, operands_of

import gpuos

NAMES = iter(f"e{i}" for i in itertools.count())


def evaluate(text, values):
    return eval(text, {**LANGUAGE, **values})


def in_fuse(rt, text, arrays, params=()):
    names = [*arrays, *dict(params)]

    def function(*values):
        return evaluate(text, dict(zip(names, values, strict=True)))

    return quietly(rt.fuse(function), *arrays.values(), *dict(params).values())


def check(rt, text, arrays, params=None):
    """The bits of `fuse`, or an error as there."""
    params = params or {}
    arrays = {name: rt.array(x) for name, x in arrays.items()}
    kinds = {
        name: {bool: "bool", int: "int64", float: "float64"}[type(x)]
        for name, x in params.items()
    }
    define = {"params": kinds} if kinds else {}
    op = rt.define(next(NAMES), f"o = {text}", **define)
    # In order of first use in the text.
    used = dict.fromkeys(
        n for n in re.findall(r"[a-z]\w*", text) if n in arrays
    )
    given = [arrays[name] for name in used]
    try:
        wanted = in_fuse(rt, text, {n: arrays[n] for n in used}, params)
    except (gpuos.InvalidArgument, TypeError):
        wide = rt.empty(np.broadcast_shapes(*(x.shape for x in given)), "c8")
        with pytest.raises(gpuos.InvalidArgument):
            rt.submit(op, *given, out=wide, **params)
        return False
    got = rt.empty(wanted.shape, wanted.dtype)
    rt.submit(op, *given, out=got, **params)
    got, wanted = got.numpy(), wanted.numpy()
    same = (
        got.view(np.uint8) == wanted.view(np.uint8)
        if got.ndim
        else (got.tobytes() == wanted.tobytes())
    )
    both_nan = quietly(np.isnan, got) & quietly(np.isnan, wanted)
    if not np.all(same):
        equal = (got == wanted) & (
            np.signbit(got.real) == np.signbit(wanted.real)
        )
        assert np.all(equal | both_nan), (text, got, wanted)
    rt.undefine(op)
    return True


def test_several_axes(rt):
    x = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
    assert check(rt, "sum(x, axis=(0, -1))", {"x": x})


class Texts:
    """Random texts, with as few parentheses as chance has it."""

    def __init__(self, seed, kinds):
        self.random = random.Random(seed)
        floats = all(np.dtype(k).kind in "fc" for k in kinds)
        self.symbols = [
            *("+", "-", "*", "+", "-", "*"),
            *(("/", "**") if floats else ("//", "%", "&", "|", "^")),
        ]
        self.calls = ["abs", "square", "sign", "max", "minimum", "where"]
        if floats:
            self.calls += ["exp", "tanh", "sqrt", "sin", "relu", "sigmoid"]

    def number(self):
        # Python computes the parts of a fused function that have only numbers.
        return self.random.choice(
            ["2", "1.5", "3", "0.25", "7", "1e1", "k", "k"]
        )

    def value(self, depth):
        pick = self.random.random()
        if depth == 0 or pick < 0.1:
            return self.random.choice("xyz")
        if pick < 0.6:
            sides = [self.value(depth - 1), self.value(depth - 1)]
            if self.random.random() < 0.3:
                sides[self.random.randrange(2)] = self.number()
            text = f" {self.random.choice(self.symbols)} ".join(sides)
            return f"({text})" if self.random.random() < 0.5 else text
        if pick < 0.7:
            symbol = self.random.choice(["<", "<=", ">", "==", "!="])
            return f"({self.value(depth - 1)} {symbol} {self.value(depth - 1)})"
        if pick < 0.8:
            return f"-{self.value(depth - 1)}"
        name = self.random.choice(self.calls)
        count = operands_of(name)[-1] if name in ("max", "minimum") else 1
        count = 3 if name == "where" else count
        return (
            f"{name}({', '.join(self.value(depth - 1) for _ in range(count))})"
        )


def layouts(kinds, seed):
    shapes = [
        [(5, 8), (5, 8), (5, 8)],
        [(5, 8), (8,), (5, 1)],
        [(), (3, 1), (1, 4)],
        [(600,), (600,), (600,)],
    ][seed % 4]
    for i, (kind, shape) in enumerate(zip(kinds, shapes, strict=True)):
        size = int(np.prod(shape))
        x = np.resize(sample(np.dtype(kind), seed=seed + i), size)
        x = x.reshape(shape)
        yield np.asfortranarray(x) if seed % 3 == i else x


@pytest.mark.parametrize("seed", range(60))
def test_random_text(rt, seed):
    pick = random.Random(seed)
    exact = seed % 3 == 0
    kinds = pick.choices(
        ["i4", "u1", "i8", "i2"] if exact else ["f4", "f8", "f2", "i4"], k=3
    )
    texts = Texts(seed, kinds)
    for _ in range(12):
        text = texts.value(4)
        arrays = dict(zip("xyz", layouts(kinds, seed), strict=True))
        params = {"k": 3 if exact else 0.75}
        if not re.search(r"\b[xyz]\b", text):
            continue
        if "k" not in re.findall(r"[a-z]\w*", text):
            params = {}
        check(rt, text, arrays, params)


@pytest.mark.parametrize("kind", [d.str for d in DTYPES])
def test_output_of_another_dtype(rt, kind):
    x = np.array([0, 1, 2, 3], kind)
    op = rt.define(next(NAMES), "o = x")
    order = "buifc"
    for to in DTYPES:
        out = rt.empty(4, to)
        if order.index(to.kind) < order.index(np.dtype(kind).kind):
            with pytest.raises(gpuos.InvalidArgument):
                rt.submit(op, rt.array(x), out=out)
        else:
            rt.submit(op, rt.array(x), out=out)
            np.testing.assert_array_equal(out.numpy(), x.astype(to))
