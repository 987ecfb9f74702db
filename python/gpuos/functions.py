"""Functions that NumPy does not have, for fused functions and for arrays.

Of a gpuos.Array each is a program of its own. Those of neural networks
compute what torch.nn.functional does; half types are computed in float32 and
rounded at the end.
"""

from __future__ import annotations

import importlib
from functools import wraps
from typing import TYPE_CHECKING, Any

from gpuos._core import Array, Value, _Functions

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "add",
    "celu",
    "clip",
    "count_nonzero",
    "elu",
    "erf",
    "erfc",
    "expand_dims",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "lgamma",
    "log_softmax",
    "logsigmoid",
    "logsumexp",
    "mish",
    "norm",
    "relu",
    "rsqrt",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "subtract",
    "where",
]


def _of_arrays_too(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def compute(*args: Any, **keywords: Any) -> Any:
        kinds = {type(x) for x in (*args, *keywords.values())}
        if Array not in kinds or Value in kinds:
            return function(*args, **keywords)
        # NumPy is imported only by programs that compute.
        arrays = importlib.import_module("gpuos.arrays")
        return arrays.call(function, *args, **keywords)

    del compute.__wrapped__  # which has no signature that Python could read
    compute.__qualname__ = compute.__name__
    compute.__module__ = __name__
    return compute


add = _of_arrays_too(_Functions.add)
celu = _of_arrays_too(_Functions.celu)
clip = _of_arrays_too(_Functions.clip)
count_nonzero = _of_arrays_too(_Functions.count_nonzero)
elu = _of_arrays_too(_Functions.elu)
erf = _of_arrays_too(_Functions.erf)
erfc = _of_arrays_too(_Functions.erfc)
expand_dims = _of_arrays_too(_Functions.expand_dims)
gelu = _of_arrays_too(_Functions.gelu)
hardsigmoid = _of_arrays_too(_Functions.hardsigmoid)
hardswish = _of_arrays_too(_Functions.hardswish)
hardtanh = _of_arrays_too(_Functions.hardtanh)
leaky_relu = _of_arrays_too(_Functions.leaky_relu)
lgamma = _of_arrays_too(_Functions.lgamma)
log_softmax = _of_arrays_too(_Functions.log_softmax)
logsigmoid = _of_arrays_too(_Functions.logsigmoid)
logsumexp = _of_arrays_too(_Functions.logsumexp)
mish = _of_arrays_too(_Functions.mish)
norm = _of_arrays_too(_Functions.norm)
relu = _of_arrays_too(_Functions.relu)
rsqrt = _of_arrays_too(_Functions.rsqrt)
selu = _of_arrays_too(_Functions.selu)
sigmoid = _of_arrays_too(_Functions.sigmoid)
silu = _of_arrays_too(_Functions.silu)
softmax = _of_arrays_too(_Functions.softmax)
softplus = _of_arrays_too(_Functions.softplus)
softsign = _of_arrays_too(_Functions.softsign)
subtract = _of_arrays_too(_Functions.subtract)
where = _of_arrays_too(_Functions.where)
