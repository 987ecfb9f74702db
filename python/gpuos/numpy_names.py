"""Map NumPy's functions to the functions that compute values and arrays.

No list repeats a name. An operation has a line in include/gpuos/vocabulary.h,
or C++ composes it of such operations. Any other name belongs to a function
without an underscore in a module that this table reads.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, composite_functions, numpy_reductions, shared_functions

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Table = dict[Callable[..., Any], Callable[..., Any]]

# The elementwise functions and the number of their operands.
OPERATIONS = _core._operations()


@cache
def of_values() -> Table:
    """Return the table of functions that compute values."""
    return _named(shared_functions, numpy_reductions, composite_functions)


@cache
def of_arrays() -> Table:
    """Return the table of functions that compute arrays by several programs."""
    names = ("array_methods", "array_functions")
    own = (importlib.import_module(f"gpuos.{name}") for name in names)
    return _named(shared_functions, *own)


def reductions() -> list[str]:
    """Return the names of all reductions."""
    return [function.__name__ for function in _named(numpy_reductions)]


def _named(*modules: ModuleType) -> Table:
    found: dict[Any, Any] = {}
    for module in modules:
        for name, own in vars(module).items():
            if callable(own) and not name.startswith("_"):
                # NumPy 1 does not have all of them.
                function = getattr(np, name, getattr(np.linalg, name, None))
                found[function] = own
    found.pop(None, None)  # the helpers of these modules
    return found
