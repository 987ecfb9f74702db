"""Functions of neural networks are those of PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fuse_support import (
    assert_close,
    run,
)

from gpuos import functions as F

NEURAL = [
    ("relu", {}),
    ("leaky_relu", {}),
    ("leaky_relu", {"negative_slope": 0.3}),
    ("elu", {}),
    ("elu", {"alpha": 0.7}),
    ("celu", {"alpha": 1.7}),
    ("selu", {}),
    ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 3.0}),
    ("logsigmoid", {}),
    ("mish", {}),
    ("softsign", {}),
    ("hardsigmoid", {}),
    ("hardswish", {}),
    ("hardtanh", {}),
    ("hardtanh", {"min_val": -2.0, "max_val": 0.5}),
    ("sigmoid", {}),
    ("silu", {}),
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "keywords"), NEURAL, ids=str)
def test_functions_of_neural_networks(rt, name, keywords):
    torch = pytest.importorskip("torch")
    for dtype, bound in (
        ("float32", 2e-6),
        ("float64", 1e-12),
        ("float16", 2e-3),
    ):
        x = np.linspace(-30, 30, 401).astype(dtype)
        x = np.concatenate([x, np.array([np.nan, -0.0], dtype)])
        if name != "gelu":  # PyTorch's gelu(inf) is NaN where it is vectorised
            x = np.append(x, np.array(np.inf, dtype))
        reference = getattr(torch.nn.functional, name)
        wanted = reference(torch.from_numpy(x), **keywords).numpy()
        got = run(rt, lambda x: getattr(F, name)(x, **keywords), x)
        np.testing.assert_allclose(got, wanted, rtol=bound, atol=bound)


def test_functions_of_neural_networks_without_torch(rt):
    x = np.linspace(-5, 5, 101)
    sigmoid = 1 / (1 + np.exp(-x))
    softplus = np.log1p(np.exp(x))
    erf = np.array([math.erf(v) for v in x])
    for function, wanted in (
        (F.sigmoid, sigmoid),
        (F.silu, x * sigmoid),
        (F.softplus, softplus),
        (F.logsigmoid, np.log(sigmoid)),
        (F.mish, x * np.tanh(softplus)),
        (F.erf, erf),
        (F.erfc, 1 - erf),
        (F.relu, np.maximum(x, 0)),
        (F.hardswish, x * np.clip(x + 3, 0, 6) / 6),
    ):
        np.testing.assert_allclose(
            run(rt, function, x), wanted, rtol=1e-12, atol=1e-14
        )
    above = np.linspace(0.1, 5, 50)
    logs = [math.lgamma(v) for v in above]
    np.testing.assert_allclose(
        run(rt, F.lgamma, above), logs, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(
        run(rt, F.rsqrt, above), 1 / np.sqrt(above), rtol=1e-15
    )


def test_add_with_alpha(rt):
    x, y = np.array([1.0, 2.0], "float16"), np.array([0.1, 0.2], "float16")
    got = run(rt, lambda x, y: F.add(x, y, alpha=0.5), x, y)
    wanted = x.astype("f4") + y.astype("f4") * np.float32(0.5)
    assert_close(got, wanted.astype("float16"))
    compare_ = run(rt, lambda x, y: F.subtract(x, y, alpha=2), x, y)
    assert compare_.dtype == np.float16
