"""Results of the functions of gpuos.functions, in a wide type.

They follow PyTorch's pages. A function is an error here if it has no line, and is
not in NumPy, the vocabulary or others.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def _softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def _elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(x))


def _clip(x, low, high):
    return np.where(np.isnan(x), x, np.minimum(np.maximum(x, low), high))


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

# Functions of one value: NaN is NaN.
OF_ONE: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.where(x < 0, 0, x),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: _elu(x, 1.0),
    "celu": lambda x: _elu(x, 1.0),
    "selu": lambda x: SELU_SCALE * _elu(x, SELU_ALPHA),
    "softplus": _softplus,
    "logsigmoid": lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "hardsigmoid": lambda x: _clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * _clip(x + 3, 0, 6) / 6,
    "hardtanh": lambda x: _clip(x, -1, 1),
}


def _shifted(x, axis):
    with np.errstate(invalid="ignore"):
        return x - x.max(axis=axis, keepdims=True, initial=-np.inf)


def _softmax(x, axis):
    made = np.exp(_shifted(x, axis))
    return made / made.sum(axis=axis, keepdims=True)


def _log_softmax(x, axis):
    low = _shifted(x, axis)
    return low - np.log(np.exp(low).sum(axis=axis, keepdims=True))


# Functions of a value and one of its axes.
OF_ROWS: dict[str, Callable[[Any, int], Any]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}
