"""What would run a chain of operations otherwise, on the same inputs."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuos.bench.context import seconds_of
from gpuos.bench.peers import MICRO, cupy_or_reason, torch_or_reason
from gpuos.bench.row import Unavailable, attempt

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.context import Context
    from gpuos.bench.program_work import Work
    from gpuos.bench.row import Row


@dataclass
class Peer:
    """A call that returns at once if it can, a wait, and the first of both."""

    call: Callable[..., Any]
    inputs: tuple[Any, ...]
    wait: Callable[[], object]
    first_us: float = 0.0

    def once(self) -> None:
        """Call and wait."""
        self.call(*self.inputs)
        self.wait()

    def latency_us(self, reps: int) -> float:
        """Return the median of calls that are awaited one by one."""
        return MICRO * seconds_of(self.once, reps)

    def stream_us(self, calls: int, reps: int) -> float:
        """Return what each of `calls` takes that are awaited together."""

        def run() -> None:
            for _ in range(calls):
                self.call(*self.inputs)
            self.wait()

        return MICRO * seconds_of(run, reps) / calls


def torch_of(context: Context) -> Any:
    """Return torch, on processors too, or raise Unavailable."""
    if context.is_cuda:
        return torch_or_reason(context)
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        message = "torch is not installed"
        raise Unavailable(message) from error


def numpy_peer(_context: Context, work: Work) -> Peer:
    """Run NumPy on the host."""
    return Peer(work.numpy, work.inputs, lambda: None)


def torch_tensors(context: Context, torch: Any, work: Work) -> tuple[Any, ...]:
    """Return the inputs as tensors of the backend's device."""
    device = "cuda" if context.is_cuda else "cpu"
    return tuple(torch.from_numpy(x).to(device) for x in work.inputs)


def _torch_wait(context: Context, torch: Any) -> Callable[[], object]:
    return torch.cuda.synchronize if context.is_cuda else lambda: None


def torch_eager(context: Context, work: Work) -> Peer:
    """Run PyTorch, one kernel for each operation."""
    torch = torch_of(context)
    inputs = torch_tensors(context, torch, work)
    return Peer(work.torch(torch), inputs, _torch_wait(context, torch))


def torch_graph(context: Context, work: Work) -> Peer:
    """Capture the kernels of PyTorch once and replay them."""
    torch = torch_or_reason(context)
    inputs = torch_tensors(context, torch, work)
    function = work.torch(torch)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        function(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    start = time.perf_counter()
    with torch.cuda.graph(graph):
        result = function(*inputs)
    graph.replay()
    torch.cuda.synchronize()
    first_us = MICRO * (time.perf_counter() - start)

    def replay(*_inputs: Any) -> Any:
        graph.replay()
        return result  # lives as long as the graph

    return Peer(replay, inputs, torch.cuda.synchronize, first_us)


@functools.cache
def _forget_compiled() -> None:
    # What an earlier run compiled would count as compiled now.
    folder = tempfile.mkdtemp(prefix="gpuos-bench-torch-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = folder + "/triton"


def torch_compiled(
    context: Context, work: Work, *, dynamic: bool | None = None
) -> Peer:
    """Compile with PyTorch; the first call is the compiler."""
    _forget_compiled()
    torch = torch_or_reason(context)
    torch._dynamo.reset()
    inputs = torch_tensors(context, torch, work)
    function = torch.compile(work.torch(torch), dynamic=dynamic)
    return _timed_first(Peer(function, inputs, torch.cuda.synchronize))


def cupy_fused(context: Context, work: Work) -> Peer:
    """Run CuPy's fuse; the first call is the compiler."""
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # before the import
    cupy = cupy_or_reason(context)
    if work.cupy is None:
        message = "not written for CuPy"
        raise Unavailable(message)
    inputs = tuple(cupy.asarray(x) for x in work.inputs)
    wait = cupy.cuda.get_current_stream().synchronize
    return _timed_first(Peer(cupy.fuse(work.cupy(cupy)), inputs, wait))


def _timed_first(peer: Peer) -> Peer:
    start = time.perf_counter()
    peer.once()
    peer.first_us = MICRO * (time.perf_counter() - start)
    return peer


KINDS: dict[str, Callable[[Context, Work], Peer]] = {
    "numpy": numpy_peer,
    "torch eager": torch_eager,
    "torch CUDA graph": torch_graph,
    "torch.compile": torch_compiled,
    "cupy.fuse": cupy_fused,
}


def make_peers(
    context: Context, work: Work, *, with_compilers: bool = True
) -> dict[str, Peer | str]:
    """Return each peer of the backend, or why it is not there."""
    if not context.is_cuda:
        names = ["numpy", "torch eager"]
    else:
        names = ["torch eager", "torch CUDA graph"]
        if with_compilers:
            names.append("torch.compile")
            names += ["cupy.fuse"] if work.cupy else []
    return {
        name: attempt(lambda kind=KINDS[name]: kind(context, work))  # type: ignore[misc]
        for name in names
    }


def add_peers(
    row: Row,
    peers: dict[str, Peer | str],
    measure: Callable[[Peer], float],
) -> None:
    """Put what `measure` says of each into `row`."""
    for name, peer in peers.items():
        row.peers[name] = (
            peer
            if isinstance(peer, str)
            else attempt(lambda it=peer: measure(it))  # type: ignore[misc]
        )


def fastest(row: Row, *names: str) -> float | None:
    """Return what the fastest of these peers takes; None without any."""
    values = [row.peers.get(name) for name in names]
    return min((v for v in values if isinstance(v, float)), default=None)
