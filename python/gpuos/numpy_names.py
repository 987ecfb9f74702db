"""The table of NumPy's names: what computes each for values and for arrays.

No list repeats a name. An operation is a line of include/gpuos/vocabulary.h, or
C++ makes it of these. Any other name is that of a function, without an
underscore, in a module that this table reads.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core, made_functions, numpy_reductions, shared_functions

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Table = dict[Callable[..., Any], Callable[..., Any]]

# The functions of each element, and how many operands they have.
OPERATIONS = _core._operations()


@cache
def of_values() -> Table:
    """Return what computes each function of NumPy for values."""
    return _named(shared_functions, numpy_reductions, made_functions)


@cache
def of_arrays() -> Table:
    """Return what computes functions for arrays that are no program alone."""
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
                # NumPy 1 does not have all.
                function = getattr(np, name, getattr(np.linalg, name, None))
                found[function] = own
    found.pop(None, None)  # the helpers of these modules
    return found
