"""NumPy's functions that the package has, and what their parameters take."""

import numpy as np

from gpuos import numpy_names


def functions_of_numpy():
    """Return those that are no ufuncs and that values or arrays have, by name."""
    known = [*numpy_names.of_arrays(), *numpy_names.of_values()]
    known += [getattr(np, n, None) for n in numpy_names.OPERATIONS]
    return {f.__name__: f for f in known if f and not isinstance(f, np.ufunc)}


def agree(wanted, got):
    """Check shapes, dtypes and numbers, in sequences too."""
    if isinstance(wanted, (tuple, list)):
        for one, other in zip(wanted, got, strict=True):
            agree(one, other)
        return
    wanted, got = np.asarray(wanted), np.asarray(got)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "U":
        assert wanted == got
        return
    near = 1e-2 if wanted.dtype == "float16" else 1e-5
    np.testing.assert_allclose(got, wanted, rtol=near, atol=near / 10)


# Values to try for a parameter of this name. A keyword gets the first one.
VALUES = {
    name: values
    for names, values in {
        "axis": [0, None, 1, -1, 2, -3, (0, 1), (0, 0), ()],
        "axes": [(1, 0), None, (0, 0), (0, -2), (0,), (0, 2)],
        "axis1 axis2": [0, 1, -2, 2],
        "source destination": [0, -1, (0, 1), (1, 1), 2],
        "keepdims deg": [True, False],
        "ddof": [1, 0, 5, 0.5],
        "dtype": ["f8", None, "i4", "bool"],
        "n k": [1, 0, 2, -1],
        "shift": [0, 1, -5, (1, 2)],
        "decimals offset": [1, 0, -1],
        "indices_or_sections": [1, 2, 3, 0, [1], [0, 2], [5]],
        "order": ["C", "F", "A", "X"],
        "shape": [(2, 2), (-1,), (3, 2), (2, 2, 3), (2, -1), (-1, -1), 6],
        "min max a_min": [0, None, 1.5],
        "nan dx": [2.5],
        "posinf neginf": [7, None],
        "fill_value": [3, 2.7, True],
        "ord": [None, 1, 2, np.inf, "fro"],
        "repeats": [2, [2, 0, 1], [1, 2]],
        "reps": [2, (2, 1, 2), (2, 3)],
        "edge_order": [1, 2],
        "rtol atol": [0.1],
        "initial correction default": [1],
        "prepend": [0],
        "where equal_nan returned invert assume_unique": [True],
        "copy subok sparse include_initial": [True],
        "casting": ["unsafe"],
        "device": [None],
        "kind": ["sort"],
        "mode": ["edge"],
        "indexing": ["ij"],
    }.items()
    for name in names.split()
}
