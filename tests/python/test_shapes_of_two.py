"""Functions of two arrays: what fits what, as NumPy has it.

Programs broadcast, so a function of NumPy that does not must say no by itself.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from fuse_support import quietly

import gpuos
from gpuos import _core, array_methods, numpy_functions

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
)
ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# An error for which NumPy looks at the elements.
OF_ELEMENTS = "Weights sum to zero"


def is_known(function) -> bool:
    if isinstance(function, np.ufunc):
        name = function.__name__
        is_made = name in ("matmul", "vecdot")
        return function.nin == 2 and (is_made or _core._is_operation(name))
    if isinstance(function, type):
        return False
    own = array_methods._functions()
    return numpy_functions.has(function) or function in own


def outcome(function, *args):
    try:
        return quietly(function, *args)
    except ERRORS as error:
        return error


def taken(rt, form):
    """Return NumPy's functions of two arrays by name."""
    found = {}
    of_numpy = [f for n in dir(np) if callable(f := getattr(np, n))]
    for function in dict.fromkeys(f for f in of_numpy if is_known(f)):
        name = function.__name__
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
        for x, y in zip(
            wanted, got if isinstance(got, many) else [got], strict=True
        ):
            assert np.shape(x) == np.shape(y), what
            np.testing.assert_allclose(np.asarray(y), x, 1e-5, 1e-6, str(what))


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
