"""Functions of two arrays: which shapes fit, and the dtypes, as NumPy has it.

Programs broadcast, so a function of NumPy that does not must say no by itself.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from fuse_support import ODD, outcome
from numpy_support import functions_of_numpy

import gpuos
from gpuos import numpy_names

SHAPES = [(), (0,), (1,), (2,), (3,), (1, 3), (3, 1), (2, 3), (3, 3), (2, 1, 3)]
FORMS = {
    "f(a, b)": lambda f, a, b: f(a, b),
    "f([a, b])": lambda f, a, b: f([a, b]),
    "weights": lambda f, a, b: f(a, weights=b),
    "weights, axis": lambda f, a, b: f(a, axis=-1, weights=b),
    "weights, axes": lambda f, a, b: f(a, axis=(1, 0), weights=b),
}
# What NumPy computes and programs do not.
REFUSED = re.compile(
    "no products of matrices|has no such|value has no (memory|number)"
    "|expected arrays computed from"  # a gradient of no axes
    "|roll: expected axis="  # fused: rows would have to be joined
    "|expected numbers, got bool"  # as the places of a gradient
    "|expected a real dtype|complex"
)
# For this NumPy looks at the elements.
OF_ELEMENTS = "Weights sum to zero"


def taken(rt, form):
    """Those of NumPy's functions that compute arrays of two, by name."""
    found = {}
    made = {"divmod": 2, "matmul": 2, "vecdot": 2}
    operations = numpy_names.OPERATIONS | made
    names = [name for name, count in operations.items() if count == 2]
    ufuncs = {n: getattr(np, n) for n in names if hasattr(np, n)}
    for name, function in (functions_of_numpy() | ufuncs).items():
        for shapes in (((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (3,))):
            a, b = map(np.ones, shapes)
            made = outcome(form, function, rt.array(a), rt.array(b))
            if not isinstance(made, (gpuos.Array, tuple, list, bool)):
                continue
            if not isinstance(outcome(form, function, a, b), Exception):
                found[name] = function
    return found


def check(wanted, got, what):
    if isinstance(wanted, Exception):
        is_fine = isinstance(got, ValueError | TypeError)
        is_fine = is_fine or OF_ELEMENTS in str(wanted)
        assert is_fine, f"{what}: {got!r}, NumPy says {wanted}"
    elif isinstance(got, Exception):
        assert REFUSED.search(str(got)), f"{what}: {got!r}, not {wanted!r}"
    else:
        many = (tuple, list)
        wanted = wanted if isinstance(wanted, many) else [wanted]
        got = got if isinstance(got, many) else [got]
        for pair in zip(wanted, got, strict=True):
            x, y = map(np.asarray, pair)
            assert (y.shape, y.dtype) == (x.shape, x.dtype), what
            rough = 1e-2 if x.dtype == "float16" else 1e-5
            np.testing.assert_allclose(
                y, x, rough, rough / 10, err_msg=str(what)
            )


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_fits_is_what_numpy_takes(rt, form):
    functions = taken(rt, form)
    assert functions
    for name, function in functions.items():
        if name == "empty_like":
            continue
        fused = rt.fuse(lambda a, b, f=function: form(f, a, b))
        for shapes in itertools.product(SHAPES, repeat=2):
            a, b = (
                (np.arange(np.prod(s), dtype="f4") + k).reshape(s)
                for k, s in enumerate(shapes, 1)
            )
            ours = rt.array(a), rt.array(b)
            wanted = outcome(form, function, a, b)
            what = (name, *shapes)
            check(wanted, outcome(form, function, *ours), what)
            check(wanted, outcome(fused, *ours), (*what, "fused"))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_dtypes_are_those_of_numpy(rt, form):
    for name, function in taken(rt, form).items():
        if name in numpy_names.OPERATIONS or name == "empty_like":
            continue  # test_vocabulary.py has operations
        fused = rt.fuse(lambda a, b, f=function: form(f, a, b))
        for dtypes in itertools.product(ODD, repeat=2):
            numbers = zip(([1, 4, 2], [3, 1, 2]), dtypes, strict=True)
            a, b = (np.array(x).astype(dtype) for x, dtype in numbers)
            wanted = outcome(form, function, a, b)
            ours = rt.array(a), rt.array(b)
            what = (name, *dtypes)
            check(wanted, outcome(form, function, *ours), what)
            check(wanted, outcome(fused, *ours), (*what, "fused"))
