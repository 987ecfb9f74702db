"""The namespace of the Python array API standard for gpuos.Array.

x.__array_namespace__() returns it. It does not have functions that a program
cannot compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuos.array_api._creation import *
from gpuos.array_api._devices import to_device as _to_device  # noqa: F401
from gpuos.array_api._dtypes import *
from gpuos.array_api._elementwise import *
from gpuos.array_api._info import VERSIONS, __array_namespace_info__
from gpuos.array_api._info import of_version as _of_version  # noqa: F401
from gpuos.array_api._manipulation import *
from gpuos.array_api._reductions import *
from gpuos.array_functions import (
    cumulative_prod,
    cumulative_sum,
    repeat,
    roll,
    tile,
    tril,
    triu,
    unstack,
)

__array_api_version__ = VERSIONS[-1]

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh",
    "add", "all", "any", "arange", "argmax", "argmin", "asarray", "asin",
    "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "bool", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "can_cast", "ceil", "clip", "complex64", "complex128",
    "concat", "conj", "copysign", "cos", "cosh", "count_nonzero",
    "cumulative_prod", "cumulative_sum", "diff", "divide", "e", "empty",
    "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "finfo",
    "flip", "float32", "float64", "floor", "floor_divide", "from_dlpack",
    "full", "full_like", "greater", "greater_equal", "hypot", "iinfo", "imag",
    "inf", "int8", "int16", "int32", "int64", "isdtype", "isfinite", "isin",
    "isinf", "isnan", "less", "less_equal", "linspace", "log", "log1p", "log2",
    "log10", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "matrix_transpose", "max", "maximum", "mean", "meshgrid",
    "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis",
    "nextafter", "not_equal", "ones", "ones_like", "permute_dims", "pi",
    "positive", "pow", "prod", "real", "reciprocal", "remainder", "repeat",
    "reshape", "result_type", "roll", "round", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "tan",
    "tanh", "tile", "tril", "triu", "trunc", "uint8", "uint16", "uint32",
    "uint64", "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip

if TYPE_CHECKING:  # the elementwise functions

    def __getattr__(name: str) -> Any: ...


def __dir__() -> list[str]:
    return [*__all__]


# The modules above define and import more names than the standard.
for _name in [*globals()]:
    if not _name.startswith("_") and _name not in __all__:
        del globals()[_name]
