"""Define the work of `bench programs` for each library."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuos import functions as F

OPERATIONS = 140


@dataclass(frozen=True)
class Work:
    """One function of several arrays.

    Parameters
    ----------
    inputs : tuple of numpy.ndarray
        The inputs. Every library gets a copy.
    ours, numpy : callable
        The function for `rt.fuse`, and the function of NumPy's arrays.
    torch, cupy : callable
        Functions that take the module and return the function.
    """

    inputs: tuple[Any, ...]
    ours: Callable[..., Any]
    numpy: Callable[..., Any]
    torch: Callable[[Any], Callable[..., Any]]
    cupy: Callable[[Any], Callable[..., Any]] | None = None


def chain_of(
    operations: int,
    relu: Callable[[Any], Any],
    sigmoid: Callable[[Any], Any],
    tanh: Callable[[Any], Any],
) -> Callable[[Any, Any], Any]:
    """Return the chain of benchmarks/programs.cpp with these functions."""

    def chain(x: Any, y: Any) -> Any:
        steps: tuple[Callable[[Any], Any], ...] = (
            lambda z: z * y,
            lambda z: z + x,
            relu,
            sigmoid,
            lambda z: z - y,
            tanh,
            lambda z: z / y,
        )
        z = x
        for index in range(operations):
            z = steps[index % len(steps)](z)
        return z

    return chain


def chain_work(elems: int, operations: int = OPERATIONS) -> Work:
    """Return the chain over two float32 arrays."""
    rng = np.random.default_rng(7)
    inputs = tuple(rng.random((2, elems), dtype=np.float32) + np.float32(0.5))

    def torch_chain(torch: Any) -> Callable[..., Any]:
        return chain_of(operations, torch.relu, torch.sigmoid, torch.tanh)

    def array_chain(library: Any) -> Callable[..., Any]:
        return chain_of(
            operations,
            lambda z: library.maximum(z, 0.0),
            lambda z: 1.0 / (1.0 + library.exp(-z)),
            library.tanh,
        )

    return Work(
        inputs,
        chain_of(operations, F.relu, F.sigmoid, np.tanh),
        array_chain(np),
        torch_chain,
        array_chain,
    )


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_work(rows: int, columns: int) -> Work:
    """Return softmax over the rows of a float16 array."""
    x = np.random.default_rng(8).standard_normal((rows, columns))
    return Work(
        (x.astype(np.float16),),
        F.softmax,
        _softmax,
        lambda torch: lambda x: torch.softmax(x, -1),
    )


EPSILON = 1e-6


def _rmsnorm(x: Any, w: Any) -> Any:
    y = x.astype("float32")
    mean = (y * y).mean(axis=-1, keepdims=True)
    return (y * F.rsqrt(mean + EPSILON) * w).astype("float16")


def rmsnorm_work(rows: int, columns: int) -> Work:
    """Return rmsnorm with a weight over the rows of a float16 array."""
    rng = np.random.default_rng(9)
    x = rng.standard_normal((rows, columns)).astype(np.float16)
    w = (rng.random(columns) + 0.5).astype(np.float16)

    def numpy_rmsnorm(x: Any, w: Any) -> Any:
        mean = (x * x).mean(axis=-1, keepdims=True)
        return x / np.sqrt(mean + EPSILON) * w

    def torch_rmsnorm(torch: Any) -> Callable[..., Any]:
        norm = torch.nn.functional.rms_norm
        return lambda x, w: norm(x, (columns,), w, EPSILON)

    return Work((x, w), _rmsnorm, numpy_rmsnorm, torch_rmsnorm)
