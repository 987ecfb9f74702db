"""What a program would use instead: NumPy, PyTorch and CuPy.

Every function imports what it needs, measures streams of independent adds and
returns microseconds an add.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np

from gpuos.bench.context import SETS, Context, seconds_of
from gpuos.bench.row import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.row import Row

ADDS = 1024
MICRO = 1e6


def torch_or_reason(context: Context) -> Any:
    """Return torch with the device chosen, or raise Unavailable."""
    context.need_cuda()
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        message = "torch is not installed"
        raise Unavailable(message) from error
    if not torch.cuda.is_available():
        message = "torch sees no GPU"
        raise Unavailable(message)
    torch.cuda.set_device(context.device)
    return torch


def cupy_or_reason(context: Context) -> Any:
    """Return cupy with the device chosen, or raise Unavailable."""
    context.need_cuda()
    try:
        cupy = importlib.import_module("cupy")
    except ModuleNotFoundError as error:
        message = "cupy is not installed"
        raise Unavailable(message) from error
    cupy.cuda.Device(context.device).use()
    return cupy


def _cycle(items: list[Any]) -> list[Any]:
    return [items[i % len(items)] for i in range(ADDS)]


def numpy_add(context: Context, elems: int) -> float:
    """Run numpy.add(a, b, out=c)."""
    rng = np.random.default_rng(1)
    made = rng.random((3, SETS, elems), dtype=np.float32)
    triples = _cycle(list(zip(*made, strict=True)))

    def run() -> None:
        for a, b, c in triples:
            np.add(a, b, out=c)

    return MICRO * seconds_of(run, context.sizes.reps) / ADDS


def _torch_triples(torch: Any, elems: int) -> list[tuple[Any, Any, Any]]:
    return _cycle(
        [
            tuple(torch.rand(elems, device="cuda") for _ in range(3))
            for _ in range(SETS)
        ]
    )


def torch_add(context: Context, elems: int, kind: str) -> float:
    """Run "eager", "out=" or "_foreach" adds of PyTorch."""
    torch = torch_or_reason(context)
    triples = _torch_triples(torch, elems)
    firsts = [a for a, _, _ in triples]
    seconds = [b for _, b, _ in triples]

    def eager() -> None:
        for a, b, _ in triples:
            torch.add(a, b)
        torch.cuda.synchronize()

    def out() -> None:
        for a, b, c in triples:
            torch.add(a, b, out=c)
        torch.cuda.synchronize()

    def foreach() -> None:
        torch._foreach_add(firsts, seconds)
        torch.cuda.synchronize()

    run = {"eager": eager, "out=": out, "_foreach": foreach}[kind]
    return MICRO * seconds_of(run, context.sizes.reps) / ADDS


def torch_round_trip(context: Context, elems: int) -> float:
    """Run torch.add() and torch.cuda.synchronize()."""
    torch = torch_or_reason(context)
    triples = _torch_triples(torch, elems)

    def run() -> None:
        for a, b, c in triples:
            torch.add(a, b, out=c)
            torch.cuda.synchronize()

    return MICRO * seconds_of(run, context.sizes.reps) / ADDS


def cupy_add(context: Context, elems: int) -> float:
    """Run cupy.add(a, b, out=c)."""
    cupy = cupy_or_reason(context)
    triples = _cycle(
        [
            tuple(cupy.random.rand(elems, dtype=cupy.float32) for _ in range(3))
            for _ in range(SETS)
        ]
    )

    def run() -> None:
        for a, b, c in triples:
            cupy.add(a, b, out=c)
        cupy.cuda.get_current_stream().synchronize()

    return MICRO * seconds_of(run, context.sizes.reps) / ADDS


def add_python_peers(
    context: Context, row: Row, elems: int, in_microseconds: float
) -> None:
    """Put every library's add into `row`, in its unit.

    Parameters
    ----------
    in_microseconds : float
        Units of the row in a microsecond: 1000 for nanoseconds.
    """

    def scaled(measure: Callable[..., float], *given: Any) -> None:
        row.peer(
            " ".join([measure.__name__.replace("_", " "), *given]),
            lambda: in_microseconds * measure(context, elems, *given),
        )

    if not context.is_cuda:
        scaled(numpy_add)
        return
    for kind in ("eager", "out=", "_foreach"):
        scaled(torch_add, kind)
    scaled(cupy_add)
