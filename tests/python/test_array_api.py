"""gpuos.array_api: each of its functions beside NumPy's of the same name."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
from fuse_support import quietly

import gpuos
from gpuos import array_api as xp

DTYPES = [
    np.dtype(name)
    for name in ("bool", "uint8", "int32", "float32", "float64", "complex64")
]
# What these give has no counterpart in NumPy, or other fields.
APART = {
    "__array_namespace_info__",
    "empty",
    "empty_like",
    "finfo",
    "iinfo",
    "isdtype",
}
FUNCTIONS = sorted(
    name
    for name in xp.__all__
    if name not in APART and inspect.isfunction(getattr(xp, name))
)
# NumPy takes some bools here and refuses others; the standard has none.
WITHOUT_BOOL = {"arange", "clip", "diff"}
FEW, OTHERS = [3, 1, 2, 7, 5, 4], [1, 2, 3, 1, 2, 1]
NONE = inspect.Parameter.empty


def arguments(name, dtype):
    """Values for a parameter of this name, whatever the function."""
    few = np.array(FEW) % 2 if dtype.kind == "b" else np.array(FEW)
    x = few.reshape(2, 1, 3).astype(dtype)
    y = np.array(OTHERS).reshape(2, 1, 3).astype(dtype)
    return {
        "append": [NONE],
        "arrays": [[x.ravel(), y.ravel()]],
        "arrays_and_dtypes": [[x, np.dtype("int8")], [x, 1]],
        "axes": [(2, 0, 1)],
        "axis": [NONE, 0, 1, -1],
        "condition": [x.astype(bool)],
        "copy": [NONE, True],
        "correction": [NONE, 1],
        "destination": [-1],
        "device": [NONE],
        "dtype": [dtype],
        "endpoint": [NONE, False],
        "fill_value": [3],
        "from_": [dtype],
        "include_initial": [NONE, True],
        "indexing": [NONE, "ij"],
        "k": [NONE, 1, -1],
        "keepdims": [NONE, True],
        "max": [NONE, 3],
        "min": [NONE, 2],
        "n": [NONE, 2],
        "n_cols": [NONE, 4],
        "n_rows": [3],
        "num": [5],
        "obj": [x.tolist(), x],
        "prepend": [NONE, y],
        "repeats": [2],
        "repetitions": [(2, 1, 2)],
        "shape": [(1, 2, 1, 3)],
        "shapes": [[(2, 1), (3,)]],
        "shift": [1],
        "source": [0],
        "start": [0],
        "step": [NONE, 2],
        "stop": [4],
        "to": [np.dtype("int16")],
        "x": [x],
        "x1": [x],
        "x2": [y, 2],
    }[name]


def calls(name, dtype):
    """Positional and named arguments for a function of the namespace."""
    parameters = inspect.signature(getattr(xp, name)).parameters
    values = [arguments(one, dtype) for one in parameters]
    for chosen in itertools.product(*values):
        positional, named = [], {}
        given = zip(parameters.items(), chosen, strict=True)
        if any(x is NONE is parameter.default for (_, parameter), x in given):
            continue
        for (one, parameter), value in zip(
            parameters.items(), chosen, strict=True
        ):
            if value is NONE:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[one] = value
        yield positional, named


def ours(value, rt):
    if isinstance(value, np.ndarray):
        return rt.array(value)
    if isinstance(value, list):
        return [ours(x, rt) for x in value]
    return value


def outcome(function, positional, named):
    """What it gives, or the error: NumPy's own and ours are not of one kind."""
    try:
        return quietly(lambda: function(*positional, **named))
    except (TypeError, ValueError, IndexError) as error:
        return error


def same(got, wanted):
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(got, gpuos.Array)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        rtol = 1e-2 if wanted.dtype == "float16" else 1e-5
        np.testing.assert_allclose(got.numpy(), wanted, rtol, atol=1e-6)
    else:
        assert got == wanted


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(rt, name):
    numpys = getattr(np, name, None)
    if numpys is None:
        pytest.skip("this NumPy does not have it")
    computed = 0
    for dtype in DTYPES[1 if name in WITHOUT_BOOL else 0 :]:
        for positional, named in calls(name, dtype):
            wanted = outcome(numpys, positional, named)
            got = outcome(
                getattr(xp, name),
                [ours(x, rt) for x in positional],
                {one: ours(x, rt) for one, x in named.items()},
            )
            what = f"{name}(*{positional}, **{named}): {got!r}, not {wanted!r}"
            if isinstance(wanted, Exception):
                assert isinstance(got, Exception), what
            elif isinstance(got, Exception):
                assert dtype.kind == "c", what
            else:
                same(got, wanted)
                computed += 1
    assert computed > 0
