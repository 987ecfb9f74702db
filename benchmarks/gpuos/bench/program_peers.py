"""Call one function on the same inputs with gpuos and with its peers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import gpuos
from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.peers import (
    captured,
    cupy_of,
    forget_compiled,
    torch_of,
    torch_on_gpu,
)
from gpuos.bench.program_work import Work
from gpuos.bench.row import Row, Unavailable, attempt, check_right
from gpuos.bench.timing import MICRO, seconds, seconds_of


@dataclass
class Peer:
    """A call that may return at once, a wait, and the first call's time."""

    call: Callable[..., Any]
    inputs: tuple[Any, ...]
    wait: Callable[[], object]
    first_us: float = 0.0

    def once(self) -> None:
        """Call the function and wait."""
        self.call(*self.inputs)
        self.wait()

    def latency_us(self, reps: int) -> float:
        """Return the median time of calls that are awaited one by one."""
        return MICRO * seconds_of(self.once, reps)

    def stream_us(self, calls: int, reps: int) -> float:
        """Return the time per call of `calls` calls with one wait."""

        def run() -> None:
            for _ in range(calls):
                self.call(*self.inputs)
            self.wait()

        return MICRO * seconds_of(run, reps) / calls


@dataclass(kw_only=True)
class Ours(Peer):
    """Calls of a fused function that write the same output."""

    fused: gpuos.Fused
    out: gpuos.Array

    def compile(self) -> None:
        """Compile the program now."""
        self.fused.compile(*self.inputs)

    def check(
        self,
        expected: npt.NDArray[np.generic],
        relative: float = 0.0,
        absolute: float = 0.0,
    ) -> None:
        """Run once over a poisoned output and compare every element.

        Raises
        ------
        ValueError
            If elements differ too much. The message has their number.
        """
        self.out.copy_from(np.full(self.out.shape, -1, self.out.dtype))
        self.once()
        got = self.out.numpy()
        if relative or absolute:
            room = absolute + relative * np.abs(expected)
            # The negated comparison makes NaN wrong.
            wrong = ~(np.abs(got - expected) <= room)
        else:
            wrong = got != expected
        check_right(int(np.count_nonzero(wrong)), repr(self.fused))


def make_ours(rt: gpuos.Runtime, work: Work) -> Ours:
    """Fuse the function and call it once."""
    fused = rt.fuse(work.ours)
    inputs = tuple(rt.array(x) for x in work.inputs)
    out = fused(*inputs)
    return Ours(
        partial(fused, out=out),
        inputs,
        partial(rt.synchronize, WAIT_S),
        fused=fused,
        out=out,
    )


def exact(work: Work) -> npt.NDArray[np.float64]:
    """Return NumPy's result in float64."""
    inputs = (x.astype(np.float64) for x in work.inputs)
    return np.asarray(work.numpy(*inputs))


def _torch(context: Context, work: Work) -> Peer:
    torch = torch_of(context)
    device = "cuda" if context.is_cuda else "cpu"
    inputs = tuple(torch.from_numpy(x).to(device) for x in work.inputs)
    wait = torch.cuda.synchronize if context.is_cuda else lambda: None
    return Peer(work.torch(torch), inputs, wait)


def _torch_graph(context: Context, work: Work) -> Peer:
    torch = torch_on_gpu(context)
    peer = _torch(context, work)
    replay, took = captured(torch, lambda: peer.call(*peer.inputs))
    peer.call = lambda *_inputs: replay()
    peer.first_us = MICRO * took
    return peer


def torch_compiled(
    context: Context, work: Work, *, dynamic: bool | None = None
) -> Peer:
    """Compile with PyTorch. The first call includes the compiler."""
    forget_compiled()
    torch = torch_on_gpu(context)
    torch._dynamo.reset()
    peer = _torch(context, work)
    peer.call = torch.compile(peer.call, dynamic=dynamic)
    peer.first_us = MICRO * seconds(peer.once)
    return peer


def _cupy_fused(context: Context, work: Work) -> Peer:
    cupy = cupy_of(context)
    if work.cupy is None:
        message = "not written for CuPy"
        raise Unavailable(message)
    inputs = tuple(cupy.asarray(x) for x in work.inputs)
    wait = cupy.cuda.get_current_stream().synchronize
    peer = Peer(cupy.fuse(work.cupy(cupy)), inputs, wait)
    peer.first_us = MICRO * seconds(peer.once)
    return peer


KINDS: dict[str, Callable[[Context, Work], Peer]] = {
    "numpy": lambda _, work: Peer(work.numpy, work.inputs, lambda: None),
    "torch eager": _torch,
    "torch CUDA graph": _torch_graph,
    "torch.compile": torch_compiled,
    "cupy.fuse": _cupy_fused,
}


def make_peers(
    context: Context, work: Work, *, with_compilers: bool = True
) -> dict[str, Peer | str]:
    """Return each peer of the backend, or why it is missing."""
    if not context.is_cuda:
        names = ["numpy", "torch eager"]
    else:
        names = ["torch eager", "torch CUDA graph"]
        if with_compilers:
            names.append("torch.compile")
            names += ["cupy.fuse"] if work.cupy else []
    return {n: attempt(partial(KINDS[n], context, work)) for n in names}


def values_of(
    peers: dict[str, Peer | str], measure: Callable[[Peer], float]
) -> dict[str, float | str]:
    """Return the result of `measure` for each peer, or why it is missing."""
    return {
        name: peer if isinstance(peer, str) else attempt(partial(measure, peer))
        for name, peer in peers.items()
    }


def add_peers(
    row: Row,
    peers: dict[str, Peer | str],
    measure: Callable[[Peer], float],
) -> None:
    """Put the result of `measure` for each peer into `row`."""
    row.peers.update(values_of(peers, measure))


def fastest(row: Row, *names: str) -> float | None:
    """Return the time of the fastest of these peers, or None."""
    values = [row.peers.get(name) for name in names]
    return min((v for v in values if isinstance(v, float)), default=None)
