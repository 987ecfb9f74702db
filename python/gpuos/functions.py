"""Functions that NumPy does not have, for fused functions and for arrays.

A call with a gpuos.Array runs a program of its own. The functions of neural
networks compute what torch.nn.functional computes. They compute half types in
float32 and round at the end.
"""

from __future__ import annotations

import importlib
from functools import wraps
from typing import TYPE_CHECKING, Any

from gpuos import _core
from gpuos._core import Array, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    _Axes = int | Sequence[int] | None

__all__: list[str] = []


def _of_arrays_too(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def compute(*args: Any, **keywords: Any) -> Any:
        kinds = {type(x) for x in (*args, *keywords.values())}
        if Array not in kinds or Value in kinds:
            return function(*args, **keywords)
        # Only programs that compute import NumPy.
        arrays = importlib.import_module("gpuos.arrays")
        return arrays.call(function, *args, **keywords)

    return compute


def _apply(name: str, x: Any, *more: Any) -> Value:
    """Call a function of elements whose first operand is a value."""
    if type(x) is not Value:
        raise _core.InvalidArgument(
            f"{name}: expected a value of a fused function, got "
            f"{type(x).__module__}.{type(x).__qualname__}"
        )
    return _core._apply(name, (x, *more))


@_of_arrays_too
def relu(x: Value) -> Value:
    """Return max(x, 0). NaN stays NaN."""
    return _apply("relu", x)


@_of_arrays_too
def selu(x: Value) -> Value:
    """Return what torch.nn.functional.selu returns."""
    return _apply("selu", x)


@_of_arrays_too
def logsigmoid(x: Value) -> Value:
    """Return log(sigmoid(x))."""
    return _apply("logsigmoid", x)


@_of_arrays_too
def mish(x: Value) -> Value:
    """Return x * tanh(softplus(x))."""
    return _apply("mish", x)


@_of_arrays_too
def softsign(x: Value) -> Value:
    """Return x / (1 + |x|)."""
    return _apply("softsign", x)


@_of_arrays_too
def hardsigmoid(x: Value) -> Value:
    """Return clip(x + 3, 0, 6) / 6."""
    return _apply("hardsigmoid", x)


@_of_arrays_too
def hardswish(x: Value) -> Value:
    """Return x * clip(x + 3, 0, 6) / 6."""
    return _apply("hardswish", x)


@_of_arrays_too
def sigmoid(x: Value) -> Value:
    """Return 1 / (1 + exp(-x))."""
    return _apply("sigmoid", x)


@_of_arrays_too
def silu(x: Value) -> Value:
    """Return x * sigmoid(x)."""
    return _apply("silu", x)


@_of_arrays_too
def erf(x: Value) -> Value:
    """Return the error function."""
    return _apply("erf", x)


@_of_arrays_too
def erfc(x: Value) -> Value:
    """Return 1 - erf(x)."""
    return _apply("erfc", x)


@_of_arrays_too
def lgamma(x: Value) -> Value:
    """Return the logarithm of |gamma(x)|."""
    return _apply("lgamma", x)


@_of_arrays_too
def rsqrt(x: Value) -> Value:
    """Return 1 / sqrt(x)."""
    return _apply("rsqrt", x)


@_of_arrays_too
def leaky_relu(x: Value, negative_slope: Any = 0.01) -> Value:
    """Return x where it is above 0, else negative_slope * x."""
    return _apply("leaky_relu", x, negative_slope)


@_of_arrays_too
def elu(x: Value, alpha: Any = 1.0) -> Value:
    """Return x where it is above 0, else alpha * expm1(x)."""
    return _apply("elu", x, alpha)


@_of_arrays_too
def celu(x: Value, alpha: Any = 1.0) -> Value:
    """Return x where it is above 0, else alpha * expm1(x / alpha)."""
    return _apply("celu", x, alpha)


@_of_arrays_too
def gelu(x: Value, approximate: str = "none") -> Value:
    """Return x * P(X <= x) of a normal X, or its approximation by tanh."""
    if approximate not in ("none", "tanh"):
        raise ValueError(
            f"gelu: expected approximate 'none' or 'tanh', got '{approximate}'"
        )
    return _apply("gelu_tanh" if approximate == "tanh" else "gelu", x)


@_of_arrays_too
def softplus(x: Value, beta: Any = 1.0, threshold: Any = 20.0) -> Value:
    """Return log1p(exp(beta * x)) / beta, or x where beta * x is above threshold."""
    return _apply("softplus", x, beta, threshold)


@_of_arrays_too
def hardtanh(x: Value, min_val: Any = -1.0, max_val: Any = 1.0) -> Value:
    """Return clip(x, min_val, max_val)."""
    return _apply("hardtanh", x, min_val, max_val)


@_of_arrays_too
def logsumexp(x: Value, axis: _Axes = None, keepdims: bool = False) -> Value:
    """Return log(sum(exp(x))) without overflow."""
    return _core._reduce("logsumexp", x, axis, keepdims)


@_of_arrays_too
def count_nonzero(
    x: Value, axis: _Axes = None, keepdims: bool = False
) -> Value:
    """Return the number of elements that are not 0."""
    return _core._reduce("count_nonzero", x, axis, keepdims)


@_of_arrays_too
def softmax(x: Value, axis: _Axes = -1) -> Value:
    """Return exp(x) / sum(exp(x))."""
    return _core._reduce("softmax", x, axis)


@_of_arrays_too
def log_softmax(x: Value, axis: _Axes = -1) -> Value:
    """Return log(softmax(x))."""
    return _core._reduce("log_softmax", x, axis)


@_of_arrays_too
def norm(
    x: Value, ord: float = 2.0, axis: _Axes = None, keepdims: bool = False
) -> Value:
    """Return the norm of vectors along `axis`."""
    return _core._reduce("norm", x, axis, keepdims, ord)


@_of_arrays_too
def where(condition: Any, x: Any, y: Any) -> Value:
    """Return x where the condition holds, else y."""
    return _core._apply("where", (condition, x, y))


@_of_arrays_too
def clip(x: Value, min: Any = None, max: Any = None) -> Value:
    """Return x, no less than `min` and no more than `max`."""
    return _core._clip(x, min, max)


@_of_arrays_too
def add(x: Any, y: Any, *, alpha: Any = 1) -> Value:
    """Return x + alpha * y."""
    return _core._apply("add", (x, y, alpha))


@_of_arrays_too
def subtract(x: Any, y: Any, *, alpha: Any = 1) -> Value:
    """Return x - alpha * y."""
    return _core._apply("subtract", (x, y, alpha))


@_of_arrays_too
def expand_dims(x: Value, axis: int | Sequence[int]) -> Value:
    """Insert axes of size 1 at these places of the result."""
    return _core._expand_dims(x, axis)


__all__ += [
    name
    for name, made in list(globals().items())
    if getattr(made, "__module__", "") == __name__ and name[0] != "_"
]
