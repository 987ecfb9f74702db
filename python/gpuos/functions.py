"""Functions for fused functions that NumPy does not have.

They take what a fused function gets, not arrays. Those of neural networks
compute what torch.nn.functional does; half types are computed in float32 and
rounded at the end.
"""

from __future__ import annotations

from gpuos._core import _Functions

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

add = _Functions.add
celu = _Functions.celu
clip = _Functions.clip
count_nonzero = _Functions.count_nonzero
elu = _Functions.elu
erf = _Functions.erf
erfc = _Functions.erfc
expand_dims = _Functions.expand_dims
gelu = _Functions.gelu
hardsigmoid = _Functions.hardsigmoid
hardswish = _Functions.hardswish
hardtanh = _Functions.hardtanh
leaky_relu = _Functions.leaky_relu
lgamma = _Functions.lgamma
log_softmax = _Functions.log_softmax
logsigmoid = _Functions.logsigmoid
logsumexp = _Functions.logsumexp
mish = _Functions.mish
norm = _Functions.norm
relu = _Functions.relu
rsqrt = _Functions.rsqrt
selu = _Functions.selu
sigmoid = _Functions.sigmoid
silu = _Functions.silu
softmax = _Functions.softmax
softplus = _Functions.softplus
softsign = _Functions.softsign
subtract = _Functions.subtract
where = _Functions.where
