"""Measure tasks next to a matmul, and four callers in every residency."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import gpuos
from gpuos.bench.context import SETS, WAIT_S, Context
from gpuos.bench.peers import captured, torch_of, torch_on_gpu
from gpuos.bench.row import (
    ABSENT,
    Row,
    Table,
    check_right,
    fail_rows,
    median,
)
from gpuos.bench.timing import MICRO, seconds, seconds_of

TABLE = Table()
ELEMS = 1024
SIDE = 1024
ADDS = 16
GRAPH_PAIRS = 20
PAUSE_S = 0.005


@TABLE.rows("matmul", "1024 bf16 matmul + 16 adds over the matmul | x <= 1.5")
def run_pair(context: Context, row: Row) -> None:
    torch = torch_on_gpu(context)
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

    def pairs_of_graph() -> None:
        for _ in range(GRAPH_PAIRS):
            eager()

    def graph() -> float:
        replay, _ = captured(torch, pairs_of_graph, stream)
        return us_a_pair(replay) / GRAPH_PAIRS

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
    row.peer("CUDA graph us", graph)


class Callers:
    """Four ways to use a runtime. Each returns microseconds per task."""

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
        return self._in_turns(self.context.sizes.round_trips // 4)

    def beside_matmul(self) -> float:
        """Await a task and a matmul in turns."""
        matmul = _awaited_matmul(self.context)
        return self._in_turns(self.context.sizes.pairs, matmul)

    def _in_turns(
        self, count: int, other: Callable[[], None] = lambda: None
    ) -> float:
        def run() -> None:
            for i in range(count):
                self.one(i)
                other()

        return MICRO * seconds_of(run, 3) / count

    def pauses(self) -> float:
        """Await single tasks with pauses of milliseconds."""
        times = []
        for i in range(self.context.sizes.pauses):
            time.sleep(PAUSE_S)
            times.append(MICRO * seconds(partial(self.one, i)))
        return median(times)

    def check(self) -> None:
        """Raise an error unless every output is right."""
        wrong = self.out.numpy() != self.source[0] + self.source[1]
        check_right(int(wrong[: self.used].sum()), "a caller's adds")


def _awaited_matmul(context: Context) -> Callable[[], None]:
    if not context.is_cuda:
        left, right = np.random.default_rng(7).random((2, 128, 128), np.float32)
        product = np.empty_like(left)

        def on_host() -> None:
            np.matmul(left, right, out=product)

        return on_host
    torch = torch_of(context)
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    first, second, result = (torch.randn(SIDE, SIDE, **kind) for _ in range(3))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()

    def on_device() -> None:
        with torch.cuda.stream(stream):
            torch.mm(first, second, out=result)
        stream.synchronize()

    return on_device


@TABLE.rows(
    "callers",
    "auto: bulk, a task | us",
    "auto: single tasks, each awaited | us",
    "auto: a task and a matmul in turns | us",
    "auto: single tasks after pauses of 5 ms | us",
)
def run_callers(context: Context, *rows: Row) -> None:
    kinds = (
        Callers.bulk,
        Callers.awaited,
        Callers.beside_matmul,
        Callers.pauses,
    )
    for mode in context.modes:
        for row, kind in zip(rows, kinds, strict=True):
            with context.runtime(mode) as rt:
                callers = Callers(context, rt)
                try:
                    us = kind(callers)
                except ABSENT as error:
                    fail_rows([row], error)
                    continue
                callers.check()
                reason = rt.stats()["residency_reason"]
            if mode == context.modes[-1]:
                row.value = us
                row.note = reason
            else:
                row.also[mode] = us
