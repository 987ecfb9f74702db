"""Random programs on random arrays against NumPy.

GPUOS_FUZZ_EXAMPLES sets how many programs are tried; without it they are few
and always the same.
"""

from __future__ import annotations

import contextlib
import operator
import os

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")

from fuse_support import assert_close, quietly, sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpuos

EXAMPLES = os.environ.get("GPUOS_FUZZ_EXAMPLES")
PROFILE = settings(
    max_examples=int(EXAMPLES or 60),
    derandomize=EXAMPLES is None,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

EXACT_TWO = [
    operator.add,
    operator.sub,
    operator.mul,
    np.maximum,
    np.minimum,
]
FLOAT_TWO = [*EXACT_TWO, operator.truediv, np.fmax, np.copysign]
INTEGER_TWO = [
    *EXACT_TWO,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.floordiv,
    operator.mod,
]
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne]
EXACT_ONE = [np.negative, np.square, np.absolute]
DTYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NUMBERS = st.one_of(
    st.integers(0, 100), st.floats(-100, 100, width=16), st.booleans()
)


@st.composite
def arrays(draw, dtypes):
    """Arrays that broadcast, some of them strided."""
    shape = draw(st.lists(st.integers(0, 5), max_size=3))
    made = []
    for seed in range(draw(st.integers(1, 3))):
        dtype = np.dtype(draw(st.sampled_from(dtypes)))
        own = [draw(st.sampled_from([1, n])) for n in shape]
        own = own[draw(st.integers(0, len(own))) :]
        steps = [draw(st.sampled_from([1, 2, -1, -3])) for _ in own]
        whole = np.resize(
            sample(dtype, seed=seed),
            [n * abs(s) for n, s in zip(own, steps, strict=True)],
        )
        view = whole[tuple(slice(None, None, s) for s in steps)]
        if view.ndim == 2 and draw(st.booleans()):
            view = view.copy().T.copy().T
        made.append(view)
    return made


@st.composite
def programs(draw, pairs):
    """Steps: a function, and numbers of values or numbers."""
    steps = []
    for _ in range(draw(st.integers(1, 12))):
        places = st.integers(0, 100)
        kind = draw(st.sampled_from(["two", "number", "one", "where"]))
        if kind == "two":
            steps.append(
                (draw(st.sampled_from(pairs)), draw(places), draw(places))
            )
        elif kind == "number":
            steps.append(
                (
                    draw(st.sampled_from(EXACT_TWO)),
                    draw(places),
                    draw(NUMBERS) + 0.0,
                )
            )
        elif kind == "one":
            steps.append((draw(st.sampled_from(EXACT_ONE)), draw(places), None))
        else:
            compare = draw(st.sampled_from(COMPARISONS))
            steps.append((compare, draw(places), draw(places)))
    return steps


def interpret(steps, values):
    """Return the result of a program's steps for arrays or for traced values."""
    values = list(values)
    for function, first, second in steps:
        x = values[first % len(values)]
        if second is None:
            values.append(function(x))
        elif isinstance(second, float):
            values.append(function(x, second))
        else:
            y = values[second % len(values)]
            made = function(x, y)
            if function in COMPARISONS:
                made = np.where(made, x, y)
            values.append(made)
    return values[-1]


def check(rt, steps, inputs, ulps=0):
    wanted = np.asarray(quietly(interpret, steps, inputs))
    fused = rt.fuse(lambda *values: interpret(steps, values))
    got = fused(*(rt.array(x) for x in inputs)).numpy()
    assert_close(got, wanted, ulps)


@given(steps=programs(FLOAT_TWO), inputs=arrays(FLOATS))
@PROFILE
def test_arithmetic_of_floats_is_exact(steps, inputs):
    check(RUNTIME["rt"], steps, inputs)


@given(steps=programs(INTEGER_TWO), inputs=arrays(DTYPES))
@PROFILE
def test_arithmetic_of_integers_is_exact(steps, inputs):
    steps = [
        (f, a, b) if not isinstance(b, float) else (f, a, a)
        for f, a, b in steps
    ]
    widest = np.result_type(*inputs)
    if widest.kind == "f":  # uint64 with a signed one
        inputs = inputs[:1]
    check(RUNTIME["rt"], steps, inputs)


@given(
    inputs=arrays(FLOATS),
    name=st.sampled_from(["max", "min", "any", "all", "argmax"]),
    keepdims=st.booleans(),
    data=st.data(),
)
@PROFILE
def test_reductions_that_do_not_round_are_exact(inputs, name, keepdims, data):
    x = inputs[0]
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    function = lambda x: getattr(x * 2, name)(axis=axis, keepdims=keepdims)
    try:
        wanted = np.asarray(quietly(function, x))
    except ValueError:  # no elements
        return
    fused = RUNTIME["rt"].fuse(function)
    assert_close(fused(RUNTIME["rt"].array(x)).numpy(), wanted)


@given(inputs=arrays(["float32", "float64"]), data=st.data())
@PROFILE
def test_sums_are_near(inputs, data):
    x = np.nan_to_num(inputs[0], posinf=7, neginf=-7)
    axis = data.draw(st.sampled_from([None, *range(x.ndim)]))
    got = RUNTIME["rt"].fuse(lambda x: (x * x).sum(axis))
    np.testing.assert_allclose(
        got(RUNTIME["rt"].array(x)).numpy(), (x * x).sum(axis), rtol=1e-5
    )


class Lying:
    """An array inside memory whose other parts must not be touched."""

    ROOM = 16  # elements before and after it
    UNTOUCHED = -77.0

    def __init__(self, shape, order, steps):
        self.order = order
        self.lengths = [
            max(size, 1) * abs(step)
            for size, step in zip(shape, steps, strict=True)
        ]
        self.index = tuple(
            slice(None, None, step) if size else slice(0, 0)
            for size, step in zip(shape, steps, strict=True)
        )
        count = int(np.prod(self.lengths)) + 2 * self.ROOM
        self.memory = np.full(count, self.UNTOUCHED)

    def of(self, memory):
        """The array in `memory`, NumPy's or a runtime's."""
        inside = memory[self.ROOM : len(self.memory) - self.ROOM]
        whole = inside.reshape([self.lengths[axis] for axis in self.order])
        if self.order:
            whole = whole.transpose([int(d) for d in np.argsort(self.order)])
        return whole[(..., *self.index)]


@st.composite
def lying(draw, shape):
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
    return Lying(shape, list(order), steps)


MOVES = ["new", "move", "sum", "max", "add", "two sums", "center"]


def move_axes(steps, x):
    """Move axes of arrays or of traced values; integers stay integers."""
    for kind, number, keeps in steps:
        axis = number % max(x.ndim, 1)
        if kind == "new" and x.ndim < 6:
            x = np.expand_dims(x, number % (x.ndim + 1))
        elif kind == "add" or x.ndim == 0:
            x = x * 2 + 1
        elif kind == "move":
            x = np.moveaxis(x, axis, number // 7 % x.ndim)
        elif kind in ("sum", "max"):
            x = getattr(x, kind)(axis=axis, keepdims=keeps)
        elif kind == "two sums" and x.ndim > 1:
            both = (axis, (axis + 1) % x.ndim)
            x = x.sum(both, keepdims=True) + x.sum(axis, keepdims=True)
        else:
            x = x - x.sum(axis, keepdims=True) + x.sum()
    return x + 1


@given(
    data=st.data(),
    shape=st.lists(st.integers(0, 4), max_size=4),
    steps=st.lists(
        st.tuples(st.sampled_from(MOVES), st.integers(0, 100), st.booleans()),
        max_size=4,
    ),
)
@settings(PROFILE, max_examples=int(EXAMPLES or 300))
def test_axes_of_any_layout(data, shape, steps):
    rt = RUNTIME["rt"]
    own = data.draw(lying(shape))
    own.of(own.memory)[...] = np.arange(np.prod(shape)).reshape(shape) * 31 % 97
    program = lambda x: move_axes(steps, x)
    fused = rt.fuse(program)
    memory = rt.array(own.memory)
    x = own.of(own.memory)
    try:
        wanted = np.asarray(program(x))
    except ValueError:  # the largest of no elements
        # If there are no rows, no row can be refused.
        with contextlib.suppress(gpuos.InvalidArgument):
            fused(own.of(memory)).numpy()
        return
    assert_close(fused(own.of(memory)).numpy(), wanted)
    out = data.draw(lying(wanted.shape))
    expected = out.memory.copy()
    out.of(expected)[...] = wanted
    written = rt.array(out.memory)
    fused(own.of(memory), out=out.of(written))
    np.testing.assert_array_equal(written.numpy(), expected)
    np.testing.assert_array_equal(memory.numpy(), own.memory)
    if rt.backend != "host":
        return
    # Strides that only other libraries have: of no elements, or of one axis
    # that repeats.
    assert_close(fused(x).numpy(), wanted)
    times = data.draw(st.integers(0, 3))
    repeated = np.moveaxis(
        np.broadcast_to(x, (times, *shape)),
        0,
        data.draw(st.integers(0, len(shape))),
    )
    for function in (
        lambda x: x + x.sum(0, keepdims=True),
        lambda x: x.sum() + 1,
    ):
        wanted = np.asarray(function(repeated))
        assert_close(rt.fuse(function)(repeated).numpy(), wanted)


# Hypothesis runs a test many times within one use of its fixtures.
RUNTIME = {}


@pytest.fixture(autouse=True)
def _runtime(rt):
    RUNTIME["rt"] = rt
    yield
    RUNTIME.clear()
