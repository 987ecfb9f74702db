"""Arguments of NumPy's functions other than arrays.

They give NumPy's results, or are refused where NumPy refuses them. This holds
for arrays, and in fused functions.
"""

import inspect
import itertools
import re
from functools import partial

import numpy as np
import pytest
from fuse_support import outcome
from numpy_support import VALUES, agree, functions_of_numpy

from gpuos import numpy_functions

X = np.array([[1, -2, 3.5], [np.nan, np.inf, 0]], "f4")
ARRAYS = [
    X,
    np.array([[0, 5, -3], [2, 1, 7]], "i4"),
    X > 0,
    X[:0],
    X[0],
    X[0, :1],
    np.array(2.5, "f4"),
    X[None],
]
# Calls that we compute and NumPy refuses: a mean of nothing, for which NumPy
# reads the elements, and truth values as numbers.
MORE = {"average": ZeroDivisionError}
# A row of NaN alone has an index, because the elements are not read.
MORE |= dict.fromkeys(("nanargmax", "nanargmin"), ValueError)
MORE |= dict.fromkeys(("around", "clip", "round"), TypeError)
# NumPy computes these and gpuos refuses them, the last ones only when fused.
REFUSED = re.compile(
    "value without axes|expected (one|two) ax|dtype: expected"
    "|expected no argument|expected order='C'|expected numbers, got bool"
    "|tuple indices must be"  # NumPy 2.4 has several axes of size()
    "|roll: expected|expected arrays computed from"
    "|expected a value with axes, got one without"
)
# Their results have no value, or depend on the shape.
LEFT_OUT = ("empty_like", "savez", "savez_compressed", "where")


def functions():
    found = {}
    for name, function in functions_of_numpy().items():
        try:
            first, *others = inspect.signature(function).parameters.values()
        except ValueError:
            continue
        needed = [
            one.name
            for one in others
            if one.default is one.empty
            and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        is_tried = first.kind != first.VAR_POSITIONAL and name not in LEFT_OUT
        if is_tried and set(needed) <= VALUES.keys():
            tried = [one.name for one in others if one.name in VALUES]
            found[name] = (function, needed, tried)
    return found


FUNCTIONS = functions()


def given(needed, tried):
    """Yield the required arguments alone, and with each of the others."""
    others = [name for name in tried if name not in needed]
    for more in ([], *([name] for name in others)):
        names = [*needed, *more]
        for values in itertools.product(*(VALUES[name] for name in names)):
            some = len(needed)
            yield values[:some], dict(zip(more, values[some:], strict=True))


def call(function, args, keywords, x):
    return function(x, *args, **keywords)


def check(name, wanted, got):
    if isinstance(got, Exception):
        is_known = isinstance(wanted, Exception) or REFUSED.search(str(got))
        assert is_known, f"{got!r}, not {wanted!r}"
        return
    if isinstance(wanted, Exception):
        assert isinstance(wanted, MORE.get(name, ())), f"NumPy says {wanted!r}"
        return
    agree(wanted, got)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_are_numpys(rt, name):
    function, needed, tried = FUNCTIONS[name]
    has_computed = False
    for x, (args, keywords) in itertools.product(ARRAYS, given(needed, tried)):
        # Each processor makes another integer of NaN.
        if "i4" in (*args, *keywords.values()) and not np.isfinite(x).all():
            continue
        wanted = outcome(function, x.copy(), *args, **keywords)
        fused = rt.fuse(partial(call, function, args, keywords))
        got = outcome(function, rt.array(x), *args, **keywords)
        has_computed = has_computed or not isinstance(got, Exception)
        try:
            check(name, wanted, got)
            if numpy_functions.has(function):
                check(name, wanted, outcome(fused, rt.array(x)))
        except AssertionError as error:
            what = f"{name} of {x}, {args}, {keywords}"
            raise AssertionError(what) from error
    assert has_computed
