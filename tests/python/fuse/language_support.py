"""The language of expressions: its names and the Python functions of them."""

import re

import numpy as np
import pytest

import gpuos
from gpuos import functions


def rounded(x):
    return np.rint(x) if np.dtype(x.dtype).kind == "f" else x


def largest(x, y=None, **of):
    return np.max(x, **of) if y is None else np.maximum(x, y)


def smallest(x, y=None, **of):
    return np.min(x, **of) if y is None else np.minimum(x, y)


def gelu_tanh(x):
    return functions.gelu(x, approximate="tanh")


# The language has names that neither NumPy nor gpuos.functions has so.
OWN = {
    "abs": np.absolute,
    "pow": np.power,
    "gelu_tanh": gelu_tanh,
    "round": rounded,
    "max": largest,
    "min": smallest,
}


def refusal(text):
    with (
        gpuos.Runtime("host") as rt,
        pytest.raises(gpuos.InvalidArgument) as caught,
    ):
        rt.define("f", text)
    return str(caught.value)


def language():
    """All names, as the message for a name that is none lists them."""
    said = refusal("o = no_such_function(x)")
    return re.search(r"expected one of (.*), got 'no_such", said)[1].split(", ")


def function_of(name):
    if name in OWN:
        return OWN[name]
    return getattr(np, name, None) or getattr(functions, name)


def operands_of(name):
    """Return the number of operands of a function."""
    said = refusal(f"o = {name}()")
    least, most = re.search(r"takes (\d)(?: to (\d))? argument", said).groups()
    return range(int(least), int(most or least) + 1)


LANGUAGE = {name: function_of(name) for name in language()}
REDUCTIONS = [
    *("sum", "prod", "ptp", "any", "all", "count_nonzero", "argmax", "argmin"),
    *("mean", "logsumexp", "var", "std", "max", "min"),
]
