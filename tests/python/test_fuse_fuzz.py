"""Random programs on random arrays against NumPy.

GPUOS_FUZZ_EXAMPLES sets how many programs are tried; without it they are few
and always the same.
"""

from __future__ import annotations

import operator
import os

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")

from fuse_support import assert_close, quietly, sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    """What a program of steps gives for arrays or for traced values."""
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


# Hypothesis runs a test many times within one use of its fixtures.
RUNTIME = {}


@pytest.fixture(autouse=True)
def _runtime(rt):
    RUNTIME["rt"] = rt
    yield
    RUNTIME.clear()
