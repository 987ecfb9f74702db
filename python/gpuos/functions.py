"""Functions that NumPy does not have, for fused functions and for arrays.

A call with a gpuos.Array runs a program of its own. The functions of neural
networks compute what torch.nn.functional computes. They compute half types in
float32 and round at the end.
"""

from __future__ import annotations

import importlib
from functools import wraps
from typing import TYPE_CHECKING, Any

from gpuos._core import Array, Value, _Functions

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [name for name in dir(_Functions) if not name.startswith("_")]


if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


def _of_arrays_too(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def compute(*args: Any, **keywords: Any) -> Any:
        kinds = {type(x) for x in (*args, *keywords.values())}
        if Array not in kinds or Value in kinds:
            return function(*args, **keywords)
        # Only programs that compute import NumPy.
        arrays = importlib.import_module("gpuos.arrays")
        return arrays.call(function, *args, **keywords)

    del compute.__wrapped__  # Python cannot read its signature
    compute.__qualname__ = compute.__name__
    compute.__module__ = __name__
    return compute


globals().update(
    {name: _of_arrays_too(getattr(_Functions, name)) for name in __all__}
)
