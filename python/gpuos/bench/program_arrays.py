"""Rows of float16 and arrays larger than any cache, from Python."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpuos.bench.bulk import GIGA, add_copy_peer
from gpuos.bench.peers import MICRO
from gpuos.bench.program_ours import exact, make_ours
from gpuos.bench.program_peers import add_peers, fastest, make_peers
from gpuos.bench.program_work import Work, rmsnorm_work, softmax_work

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

SHAPE = (32, 4096)
HALF = 2.0**-10  # two roundings to float16
SMALLEST_HALF = 2.0**-24
SUM_ERROR = 1e-5
BESIDE_COMPILED = 0.95  # of torch.compile's bandwidth


def run_norm(
    make_work: Callable[[int, int], Work], context: Context, row: Row
) -> None:
    """Fill the row of one normalization, each call awaited."""
    work = make_work(*SHAPE)
    expected = exact(work)
    reps = context.sizes.program_reps
    peers = make_peers(context, work)
    add_peers(row, peers, lambda peer: peer.latency_us(reps))
    peers.clear()
    row.asked = fastest(row, "torch eager", "torch.compile")
    for mode in context.modes:
        with context.runtime(mode, compile_programs_after=0) as rt:
            ours = make_ours(rt, work)
            ours.check(expected, HALF, SMALLEST_HALF)
            row.also[f"{mode}, interpreted"] = ours.latency_us(reps)
            ours.compile()
            ours.check(expected, HALF, SMALLEST_HALF)
            row.value = row.also[mode] = ours.latency_us(reps)
    row.note = f"{context.modes[-1]}, out="


run_softmax = partial(run_norm, softmax_work)
run_rmsnorm = partial(run_norm, rmsnorm_work)


def _square(context: Context, count: int) -> tuple[Any, ...]:
    side = math.isqrt(context.sizes.large_elems)
    rng = np.random.default_rng(10)
    return tuple(rng.random((count, side, side), dtype=np.float32))


def _five(x: Any, y: Any) -> Any:
    return np.maximum((x * y + x - y) * 0.5, 0.0)


def _five_of_torch(torch: Any) -> Callable[..., Any]:
    return lambda x, y: torch.relu((x * y + x - y) * 0.5)


def run_five(context: Context, row: Row) -> None:
    """Fill the row of five operations."""
    inputs = _square(context, 2)
    work = Work(inputs, _five, _five, _five_of_torch)
    _run_large(context, row, work, 3, _five(*inputs))


def run_sum(context: Context, row: Row) -> None:
    """Fill the row of the sum of all elements."""

    def total(x: Any) -> Any:
        return x.sum()

    work = Work(_square(context, 1), total, total, lambda _torch: total)
    expected = work.inputs[0].sum(dtype=np.float64)
    _run_large(context, row, work, 1, np.asarray(expected))


def run_row_sums(context: Context, row: Row) -> None:
    """Fill the row of the sums of rows."""

    def sums(x: Any) -> Any:
        return x.sum(axis=1)

    work = Work(_square(context, 1), sums, sums, lambda _torch: sums)
    expected = work.inputs[0].sum(axis=1, dtype=np.float64)
    _run_large(context, row, work, 1, expected)


def run_transpose(context: Context, row: Row) -> None:
    """Fill the row of an add of a transposed array."""

    def add(x: Any, y: Any) -> Any:
        return x.T + y

    inputs = _square(context, 2)
    work = Work(inputs, add, add, lambda _torch: add)
    _run_large(context, row, work, 3, add(*inputs))


def ask_beside_compiled(row: Row) -> None:
    """Ask for what torch.compile reaches, too, if it was measured."""
    theirs = row.peers.get("torch.compile")
    if isinstance(theirs, float) and row.asked is not None:
        row.asked = max(row.asked, BESIDE_COMPILED * theirs)


def _run_large(
    context: Context,
    row: Row,
    work: Work,
    arrays: int,
    expected: np.ndarray[Any, Any],
) -> None:
    elems = int(work.inputs[0].size)
    reps = context.sizes.reps + 3
    copied = add_copy_peer(context, row, elems, reps)

    def percent(us: float) -> float:
        return 100 * (4 * arrays * elems / GIGA) / (us / MICRO) / copied

    peers = make_peers(context, work)
    add_peers(row, peers, lambda peer: percent(peer.latency_us(reps)))
    peers.clear()
    ask_beside_compiled(row)
    error = 0.0 if expected.dtype == np.float32 else SUM_ERROR
    for mode in context.modes:
        with context.runtime(mode, compile_programs_after=0) as rt:
            ours = make_ours(rt, work)
            ours.check(expected, error)
            row.also[f"{mode}, interpreted"] = percent(ours.latency_us(reps))
            ours.compile()
            ours.check(expected, error)
            us = ours.latency_us(reps)
            row.value = row.also[mode] = percent(us)
    row.also["us"] = us
    row.note = f"{elems >> 20} Mi elements; {context.modes[-1]}"
