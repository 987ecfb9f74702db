"""Functions of two arrays: which shapes fit, and the dtypes, as NumPy has it.

Programs broadcast, so a function of NumPy that does not must say no by itself.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from fuse_support import ODD, outcome
from numpy_support import agree, functions_of_numpy

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
# Functions that NumPy computes and programs do not.
REFUSED = re.compile(
    "no products of matrices|has no such|value has no (memory|number)"
    "|expected arrays computed from"  # a gradient of no axes
    "|roll: expected axis="  # fused: rows would have to be joined
    "|expected numbers, got bool"  # as the places of a gradient
    "|expected a real dtype|complex"
)
# An error for which NumPy looks at the elements.
OF_ELEMENTS = "Weights sum to zero"


def taken(rt, form):
    """Return NumPy's functions of two arrays by name."""
    found = {}
    made = {"divmod": 2, "matmul": 2, "vecdot": 2}
    operations = numpy_names.OPERATIONS | made
    names = [name for name, count in operations.items() if count == 2]
    ufuncs = {n: getattr(np, n) for n in names if hasattr(np, n)}
    functions = functions_of_numpy() | ufuncs
    del functions["empty_like"]  # which has no values
    for name, function in functions.items():
        for shapes in (((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (3,))):
            a, b = map(np.ones, shapes)
            made = outcome(form, function, rt.array(a), rt.array(b))
            if not isinstance(made, (gpuos.Array, tuple, list, bool)):
                continue
            if not isinstance(outcome(form, function, a, b), Exception):
                found[name] = function
    return found


def check(rt, form, function, arrays):
    """Compare the function of arrays, and fused, with NumPy's."""
    wanted = outcome(form, function, *arrays)
    fused = rt.fuse(lambda a, b: form(function, a, b))
    ours = [rt.array(x) for x in arrays]
    for got in (outcome(form, function, *ours), outcome(fused, *ours)):
        if isinstance(wanted, Exception):
            is_fine = isinstance(got, ValueError | TypeError)
            is_fine = is_fine or OF_ELEMENTS in str(wanted)
            assert is_fine, f"{got!r}, NumPy says {wanted}"
        elif isinstance(got, Exception):
            assert REFUSED.search(str(got)), f"{got!r}, not {wanted!r}"
        else:
            agree(wanted, got)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_fits_is_what_numpy_takes(rt, form):
    functions = taken(rt, form)
    assert functions
    for function in functions.values():
        for shapes in itertools.product(SHAPES, repeat=2):
            arrays = [
                (np.arange(np.prod(s), dtype="f4") + k).reshape(s)
                for k, s in enumerate(shapes, 1)
            ]
            check(rt, form, function, arrays)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_dtypes_are_those_of_numpy(rt, form):
    for name, function in taken(rt, form).items():
        if name in numpy_names.OPERATIONS:
            continue  # test_vocabulary.py has operations
        for dtypes in itertools.product(ODD, repeat=2):
            numbers = zip(([1, 4, 2], [3, 1, 2]), dtypes, strict=True)
            arrays = [np.array(x).astype(dtype) for x, dtype in numbers]
            check(rt, form, function, arrays)
