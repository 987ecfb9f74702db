"""Measure NumPy, PyTorch and CuPy, which a program would use instead.

The functions return streams of independent adds in microseconds per add.
"""

import atexit
import functools
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuos.bench.context import SETS, Context
from gpuos.bench.row import Row, Unavailable
from gpuos.bench.timing import MICRO, seconds, seconds_of

ADDS = 1024


def torch_of(context: Context) -> Any:
    """Return torch after selecting the context's device."""
    torch = importlib.import_module("torch")
    if context.is_cuda:
        if not torch.cuda.is_available():
            message = "torch sees no GPU"
            raise Unavailable(message)
        torch.cuda.set_device(context.device)
    return torch


def torch_on_gpu(context: Context) -> Any:
    """Return torch, or raise Unavailable without a GPU."""
    context.need_cuda()
    return torch_of(context)


def cupy_of(context: Context) -> Any:
    """Return cupy after selecting the device, without its disk cache."""
    context.need_cuda()
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # before the import
    cupy = importlib.import_module("cupy")
    cupy.cuda.Device(context.device).use()
    return cupy


@functools.cache
def forget_compiled() -> None:
    """Clear torch.compile's caches, which would count as compiled now."""
    folder = tempfile.mkdtemp(prefix="gpuos-bench-torch-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = folder + "/triton"


def captured(
    torch: Any, run: Callable[[], Any], stream: Any = None
) -> tuple[Callable[[], Any], float]:
    """Capture `run` in a CUDA graph. Return its replay and capture time."""
    side = stream or torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    results = []

    def capture() -> None:
        with torch.cuda.graph(graph):
            results.append(run())
        graph.replay()
        torch.cuda.synchronize()

    took = seconds(capture)

    def replay() -> Any:
        graph.replay()
        return results[0]  # lives as long as the graph does

    return replay, took


def _us_an_add(
    context: Context,
    add: Callable[..., object],
    sets: Sequence[Any],
    wait: Callable[[], object] = lambda: None,
) -> float:
    triples = [sets[i % SETS] for i in range(ADDS)]

    def run() -> None:
        for a, b, c in triples:
            add(a, b, out=c)
        wait()

    return MICRO * seconds_of(run, context.sizes.reps) / ADDS


def numpy_add(context: Context, elems: int) -> float:
    """Time numpy.add(a, b, out=c)."""
    made = np.random.default_rng(1).random((3, SETS, elems), dtype=np.float32)
    return _us_an_add(context, np.add, list(zip(*made, strict=True)))


def torch_add(context: Context, elems: int, kind: str) -> float:
    """Time PyTorch's adds as "eager", "out=", "_foreach" or "awaited"."""
    torch = torch_on_gpu(context)
    a, b, c = (
        [torch.rand(elems, device="cuda") for _ in range(SETS)]
        for _ in range(3)
    )
    wait = torch.cuda.synchronize

    def awaited(x: Any, y: Any, *, out: Any) -> None:
        torch.add(x, y, out=out)
        wait()

    def foreach() -> None:
        torch._foreach_add(a * (ADDS // SETS), b * (ADDS // SETS))
        wait()

    if kind == "_foreach":
        return MICRO * seconds_of(foreach, context.sizes.reps) / ADDS
    add: dict[str, Callable[..., object]] = {
        "eager": lambda x, y, **_: torch.add(x, y),
        "out=": torch.add,
        "awaited": awaited,
    }
    sets = list(zip(a, b, c, strict=True))
    return _us_an_add(context, add[kind], sets, wait)


def cupy_add(context: Context, elems: int) -> float:
    """Time cupy.add(a, b, out=c)."""
    cupy = cupy_of(context)
    sets = cupy.random.rand(SETS, 3, elems, dtype=cupy.float32)
    triples = [tuple(part.copy() for part in one) for one in sets]
    wait = cupy.cuda.get_current_stream().synchronize
    return _us_an_add(context, cupy.add, triples, wait)


def add_python_peers(
    context: Context, row: Row, elems: int, in_microseconds: float
) -> None:
    """Put every library's add into `row`, in its unit.

    Parameters
    ----------
    in_microseconds : float
        The row's units per microsecond, such as 1000 for nanoseconds.
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
