"""SciPy and scikit-learn computing with arrays through their namespace.

    python tests/python/array_api_consumers.py LIBRARY BACKEND

This is a separate process, because SciPy reads SCIPY_ARRAY_API at import. It
raises unless each function accepts and returns arrays, equals NumPy, and keeps
the array's memory.
"""

import importlib
import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

import gpuos

X = np.linspace(0.1, 2, 12).reshape(3, 4)
Y = np.linspace(0.3, 1, 12)[::-1].reshape(3, 4)


def of_scipy():
    special = importlib.import_module("scipy.special")
    stats = importlib.import_module("scipy.stats")
    yield special.logsumexp, {"axis": 1}, X
    yield special.softmax, {"axis": 0}, X
    yield special.log_softmax, {"axis": 1}, X
    yield special.xlogy, {}, X, Y
    yield stats.gmean, {"axis": 1}, X
    yield stats.zscore, {}, X
    yield stats.skew, {}, X
    yield importlib.import_module("scipy.integrate").trapezoid, {}, X


def of_sklearn():
    importlib.import_module("sklearn").set_config(array_api_dispatch=True)
    preprocessing = importlib.import_module("sklearn.preprocessing")
    metrics = importlib.import_module("sklearn.metrics")
    yield preprocessing.normalize, {}, X
    yield preprocessing.MinMaxScaler().fit_transform, {}, X
    yield preprocessing.MaxAbsScaler().fit_transform, {}, X
    yield metrics.pairwise.manhattan_distances, {}, X, Y
    yield metrics.pairwise.paired_cosine_distances, {}, X, Y
    # A function that returns a number.
    yield metrics.mean_squared_error, {}, X, Y


def stay(*_, **__):
    message = "an array was taken out of its memory"
    raise AssertionError(message)


def main(library, backend):
    functions = list({"scipy": of_scipy, "sklearn": of_sklearn}[library]())
    wanted = [f(*arrays, **named) for f, named, *arrays in functions]
    for way in ("__array__", "__dlpack__"):
        setattr(gpuos.Array, way, stay)
    for way in ("__array_interface__", "__cuda_array_interface__"):
        setattr(gpuos.Array, way, property(stay))
    rt = gpuos.default_runtime(backend)
    for (f, named, *arrays), numpys in zip(functions, wanted, strict=True):
        made = f(*(rt.array(x) for x in arrays), **named)
        if np.ndim(numpys) > 0:
            assert type(made) is gpuos.Array
            assert made.device == rt.empty(0).device
            assert made.dtype == numpys.dtype
            made = made.numpy()
        np.testing.assert_allclose(made, numpys, rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    main(*sys.argv[1:])
