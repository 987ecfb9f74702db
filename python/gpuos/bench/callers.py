"""Tasks beside a matmul; four callers against every residency."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gpuos.bench.context import SETS, WAIT_S, Context, seconds_of
from gpuos.bench.peers import MICRO, torch_or_reason
from gpuos.bench.row import Unavailable, check_right, median

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import gpuos
    from gpuos.bench.row import Row

ELEMS = 1024
SIDE = 1024
ADDS = 16
PAUSE_S = 0.005


def run_pair(context: Context, row: Row) -> None:
    """Fill the row of a matmul and 16 adds in one stream of PyTorch."""
    torch = torch_or_reason(context)
    stream = torch.cuda.Stream()
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    left, right, product = (torch.randn(SIDE, SIDE, **kind) for _ in range(3))
    a, b = (torch.rand(ADDS, ELEMS, device="cuda") for _ in range(2))
    out = torch.full((ADDS, ELEMS), -1.0, device="cuda")
    triples = list(zip(a, b, out, strict=True))
    columns = [
        np.array([part.data_ptr() for part in whole], np.uint64)
        for whole in (a, b, out)
    ]
    torch.cuda.synchronize()
    pairs = context.sizes.pairs

    def us_a_pair(pair: Callable[[], object]) -> float:
        def run() -> None:
            with torch.cuda.stream(stream):
                for _ in range(pairs):
                    pair()
            stream.synchronize()

        return MICRO * seconds_of(run, context.sizes.reps) / pairs

    def matmul() -> None:
        torch.mm(left, right, out=product)

    def eager() -> None:
        matmul()
        for x, y, z in triples:
            torch.add(x, y, out=z)

    alone = us_a_pair(matmul)
    with context.runtime("auto") as rt:

        def many() -> None:
            matmul()
            rt.submit_many(
                "add",
                *columns,
                sizes=ELEMS,
                dtype="float32",
                stream=stream.cuda_stream,
            )

        def single() -> None:
            matmul()
            for x, y, z in triples:
                rt.submit("add", x, y, out=z, stream=stream.cuda_stream)
            rt.flush(stream.cuda_stream)

        ours = us_a_pair(many)
        wrong = int((out != a + b).sum())
        check_right(wrong, "adds in the stream of a matmul")
        row.value = ours / alone
        row.also["us a pair"] = ours
        row.also["with 16 submit() us"] = us_a_pair(single)
        row.note = rt.stats()["residency_reason"]
    row.peers["matmul alone us"] = alone
    row.peer("torch eager us", lambda: us_a_pair(eager))
    row.peer(
        "CUDA graph us", lambda: _graph_us(torch, stream, eager, us_a_pair)
    )


def _graph_us(
    torch: Any,
    stream: Any,
    pair: Callable[[], None],
    us_a_pair: Callable[[Callable[[], object]], float],
) -> float:
    pairs = 20
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        pair()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(pairs):
            pair()
    return us_a_pair(graph.replay) / pairs


class Callers:
    """Four ways in which programs use a runtime; each returns us a task."""

    def __init__(self, context: Context, rt: gpuos.Runtime) -> None:
        self.context = context
        self.rt = rt
        self.used = 0
        rng = np.random.default_rng(6)
        self.source = rng.random((2, SETS, ELEMS), dtype=np.float32)
        self.a, self.b = (rt.array(part) for part in self.source)
        self.out = rt.zeros((SETS, ELEMS))
        self.rows = [(self.a[i], self.b[i], self.out[i]) for i in range(SETS)]
        rt.synchronize(WAIT_S)

    def one(self, i: int) -> None:
        """Run one task and wait for it."""
        self.used = max(self.used, min(i + 1, SETS))
        a, b, out = self.rows[i % SETS]
        self.rt.wait(self.rt.submit("add", a, b, out=out), WAIT_S)

    def bulk(self) -> float:
        """Submit many tasks, then wait."""
        calls = 16
        self.used = SETS

        def run() -> None:
            tickets = [
                self.rt.submit_many("add", self.a, self.b, self.out)
                for _ in range(calls)
            ]
            self.rt.wait(tickets[-1], WAIT_S)

        seconds = seconds_of(run, self.context.sizes.reps)
        return MICRO * seconds / (calls * SETS)

    def awaited(self) -> float:
        """Submit single tasks and wait for each."""
        count = self.context.sizes.round_trips // 4

        def run() -> None:
            for i in range(count):
                self.one(i)

        return MICRO * seconds_of(run, 3) / count

    def beside_matmul(self) -> float:
        """Await a task, then a matmul, in turns."""
        count = self.context.sizes.pairs
        matmul = _awaited_matmul(self.context)

        def run() -> None:
            for i in range(count):
                self.one(i)
                matmul()

        return MICRO * seconds_of(run, 3) / count

    def pauses(self) -> float:
        """Await single tasks with milliseconds between them."""
        times = []
        for i in range(self.context.sizes.pauses):
            time.sleep(PAUSE_S)
            start = time.perf_counter()
            self.one(i)
            times.append(MICRO * (time.perf_counter() - start))
        return median(times)

    def check(self) -> None:
        """Raise unless every output is right."""
        wrong = self.out.numpy() != self.source[0] + self.source[1]
        check_right(int(wrong[: self.used].sum()), "a caller's adds")


def _awaited_matmul(context: Context) -> Callable[[], None]:
    if not context.is_cuda:
        left, right = np.random.default_rng(7).random((2, 128, 128), np.float32)
        product = np.empty_like(left)

        def on_host() -> None:
            np.matmul(left, right, out=product)

        return on_host
    torch = torch_or_reason(context)
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    first, second, result = (torch.randn(SIDE, SIDE, **kind) for _ in range(3))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()

    def on_device() -> None:
        with torch.cuda.stream(stream):
            torch.mm(first, second, out=result)
        stream.synchronize()

    return on_device


def run_callers(context: Context, *rows: Row) -> None:
    """Fill the rows of the four callers, auto against the forced modes."""
    for mode in context.modes:
        for row, name in zip(
            rows, ("bulk", "awaited", "beside_matmul", "pauses"), strict=True
        ):
            with context.runtime(mode) as rt:
                callers = Callers(context, rt)
                try:
                    us = getattr(callers, name)()
                except Unavailable as error:
                    row.error = str(error)
                    row.is_unavailable = True
                    continue
                callers.check()
                reason = rt.stats()["residency_reason"]
            if mode == context.modes[-1]:
                row.value = us
                row.note = reason
            else:
                row.also[mode] = us
