"""Composite reductions and functions, with every dtype, compared with NumPy.

Their names are those of the package's table. `test_vocabulary.py` has the
elementwise functions.
"""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import peers_support
import pytest
from fuse_support import DTYPES, outcome, run, sample
from numpy_support import functions_of_numpy

import gpuos
from gpuos import numpy_names, refusals

DOCS = Path(__file__).parents[3] / "docs"
# NumPy reads the elements for these: a row of NaN or of nothing is an error.
ASKING = {"average", "nanargmax", "nanargmin"}
REDUCTIONS = sorted({*numpy_names.reductions()} - ASKING)
M = np.array([[1.5, -2.0], [0.5, 3.0]])


# NumPy 1 refuses the first, and the second has no values.
OTHER = {"clip", "empty_like"}


def of_an_array_alone():
    """Return the other functions that make an array of one."""
    for function in numpy_names.of_values():
        named = {*refusals.parameters_of(function)}
        is_one = isinstance(outcome(function, M), np.ndarray)
        if is_one and not named & {"arrays", "tup"}:
            yield function.__name__


PLAIN = sorted({*of_an_array_alone()} - {*REDUCTIONS, *ASKING, *OTHER})


CLOSE = {"float16": (2e-3, 1e-3), "float64": (1e-12, 1e-12)}


def check(rt, function, *arrays):
    """Both give the same, or both refuse it.

    Programs may refuse complex numbers, and an axis of a value without axes.
    """
    wanted = outcome(lambda *x: np.asarray(function(*x)), *arrays)
    got = outcome(lambda *x: run(rt, function, *x), *arrays)
    if isinstance(got, Exception):
        assert isinstance(got, gpuos.InvalidArgument), repr(got)
        may = (
            isinstance(wanted, Exception)
            or wanted.dtype not in DTYPES
            or any(x.dtype.kind == "c" for x in arrays)
            or "no axis of a value without" in str(got)
        )
        assert may, f"refused: {got}"
        return
    assert not isinstance(wanted, Exception), f"taken, NumPy says: {wanted}"
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    rtol, atol = CLOSE.get(wanted.dtype.name, (1e-5, 1e-6))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def numbers(dtype, shift=0):
    """Special and random ones; of integers none that overflows a sum."""
    x = np.roll(sample(dtype, seed=shift)[:42], shift)[:35]
    if dtype.kind in "iu":
        x = x % np.asarray(50, dtype)
    if dtype.kind == "c":  # infinite quotients are not alike
        x = x + np.asarray(0.25, dtype)
    return x.reshape(5, 7)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction(rt, name):
    function = getattr(np, name)
    axes = [{}, {"axis": 0}, {"axis": 1}, {"axis": -2, "keepdims": True}]
    wrong = [{"axis": 2}, {"axis": -3}]
    if not name.startswith("arg"):
        axes += [{"axis": (0, 1)}, {"axis": (-1, 0), "keepdims": True}]
        wrong += [{"axis": (0, 0)}, {"axis": (1, -1)}, {"axis": (0, 2)}]
    for dtype in DTYPES:
        x = numbers(dtype)
        if name in ("prod", "sum", "nansum") or dtype.itemsize == 2:
            x = (
                x % 3
                if dtype.kind in "iu"
                else np.sign(x)
                if (dtype.kind == "f")
                else x[:2]
            )
        if name.startswith("nan") and dtype.kind == "f":
            x[1] = np.nan  # a row of nothing else
        for array in (x, x.T, x[:0], x[:, :0].T, x[1, 1]):
            for how in [*axes, *wrong]:
                check(rt, lambda x, how=how: function(x, **how), array)


SHAPES = [
    s for rank in range(4) for s in itertools.product(range(3), repeat=rank)
]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_of_little_or_nothing(rt, name):
    function = getattr(np, name)
    for shape, dtype in itertools.product(SHAPES, ["float32", "int8"]):
        x = np.arange(1, 1 + math.prod(shape), dtype=dtype).reshape(shape)
        places = range(len(shape))
        axes = [None, *places]
        if not name.startswith("arg"):
            axes += itertools.combinations(places, 2)
            axes += itertools.combinations(places, 3)
        for axis, keepdims in itertools.product(axes, [False, True]):
            how = {"axis": axis, "keepdims": keepdims}
            check(rt, lambda x, how=how: function(x, **how), x)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "var"])
def test_the_dtype_of_a_reduction(rt, name):
    function = getattr(np, name)
    for one, other in itertools.product(DTYPES, DTYPES):
        x = numbers(one)[:2]
        if one.kind in "iu" and name == "sum":
            x = x + np.asarray(100, one)  # so that sums wrap
        elif one.kind == "f":
            x = np.nan_to_num(x, posinf=3, neginf=-3) % 3
        elif one.kind in "iu":
            x = x % 3
        if one.kind == "c" and other.kind != "c":
            continue  # NumPy drops the imaginary part, programs refuse it
        if other.kind in "iu" and one.kind == "f":
            x = np.abs(x).round()  # what a wide real becomes is not NumPy's
        if other.kind in "biu" and name in ("mean", "std", "var"):
            with pytest.raises(gpuos.InvalidArgument, match=f"{name}: dtype"):
                run(rt, lambda x, d=other: function(x, dtype=d), x)
            continue
        check(rt, lambda x, d=other: function(x, dtype=d), x)
        check(rt, lambda x, d=other: function(x, axis=0, dtype=d), x)


@pytest.mark.parametrize("name", PLAIN)
def test_a_function_of_an_array_alone(rt, name):
    function = getattr(np, name)
    for dtype in DTYPES:
        x = numbers(dtype)
        for array in (x, x.T, x[:0], x[0, 0], x[0]):
            check(rt, function, array)


@pytest.mark.parametrize("function", [np.iscomplexobj, np.isrealobj])
def test_known_properties_choose_while_tracing(rt, function):
    choose = lambda x: x + x if function(x) else x
    for dtype in DTYPES:
        check(rt, choose, numbers(dtype))


@pytest.mark.parametrize("name", ["frexp", "modf", "isposinf", "isneginf"])
def test_special_numbers_match_numpy(rt, name):
    special = [
        0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        0.5,
        -3.75,
        1e-44,
        2047,
        3e4,
    ]
    for dtype in ("float16", "float32", "float64"):
        x = np.array([*special, *2.0 ** np.arange(-24, 16)]).astype(dtype)
        function = getattr(np, name)
        peers_support.check(rt, function, x)
        peers_support.check(rt, function, -x)
        if name == "modf":
            signs = lambda x: [np.signbit(part) for part in np.modf(x)]
            peers_support.check(rt, signs, x[~np.isnan(x)])


def test_the_pages_name_every_function():
    pages = (DOCS / page for page in ("programs.md", "python.md"))
    told = {*re.findall(r"\w+", "".join(page.read_text() for page in pages))}
    assert {*functions_of_numpy()} - told <= {"trapz"}  # trapezoid in NumPy 1
