"""Measure rows of float16 and arrays larger than any cache, from Python."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuos.bench.bulk import add_copy_peer
from gpuos.bench.context import Context
from gpuos.bench.program_peers import (
    Ours,
    add_peers,
    exact,
    fastest,
    make_ours,
    make_peers,
)
from gpuos.bench.program_work import Work, rmsnorm_work, softmax_work
from gpuos.bench.row import Row, Table
from gpuos.bench.timing import GIGA, MICRO

TABLE = Table()
SHAPE = (32, 4096)
HALF = 2.0**-10  # the error of two roundings to float16
SMALLEST_HALF = 2.0**-24
SUM_ERROR = 1e-5
BESIDE_COMPILED = 0.95  # part of torch.compile's bandwidth


def _fill(
    context: Context,
    row: Row,
    work: Work,
    check: Callable[[Ours], None],
    value: Callable[[Ours], float],
) -> None:
    """Fill in both tiers of every mode. The last value counts."""
    for mode in context.modes:
        with context.runtime(mode, compile_programs_after=0) as rt:
            ours = make_ours(rt, work)
            check(ours)
            row.also[f"{mode}, interpreted"] = value(ours)
            ours.compile()
            check(ours)
            row.put(mode, value(ours))


def _norm(context: Context, row: Row, work: Work) -> None:
    expected = exact(work)
    reps = context.sizes.program_reps
    peers = make_peers(context, work)
    add_peers(row, peers, lambda peer: peer.latency_us(reps))
    peers.clear()
    row.asked = fastest(row, "torch eager", "torch.compile")
    _fill(
        context,
        row,
        work,
        lambda ours: ours.check(expected, HALF, SMALLEST_HALF),
        lambda ours: ours.latency_us(reps),
    )
    row.note = f"{context.modes[-1]}, out="


@TABLE.rows("softmax", "softmax of (32, 4096) float16 | us")
def run_softmax(context: Context, row: Row) -> None:
    _norm(context, row, softmax_work(*SHAPE))


@TABLE.rows("rmsnorm", "rmsnorm of (32, 4096) float16 | us")
def run_rmsnorm(context: Context, row: Row) -> None:
    _norm(context, row, rmsnorm_work(*SHAPE))


def _square(context: Context, count: int) -> tuple[Any, ...]:
    side = math.isqrt(context.sizes.large_elems)
    rng = np.random.default_rng(10)
    return tuple(rng.random((count, side, side), dtype=np.float32))


def _spread(x: Any) -> Any:
    middle = x[1:-1, 1:-1]
    beside = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return middle + 0.25 * (beside - 4.0 * middle)


def _large(
    key: str,
    line: str,
    arrays: int,
    function: Callable[..., Any],
    of_torch: Callable[[Any], Callable[..., Any]] | None = None,
    inputs: int = 1,
) -> None:
    """Declare a row of a function that reads and writes `arrays` arrays."""

    def run(context: Context, row: Row) -> None:
        made = _square(context, inputs)
        theirs = of_torch or (lambda _torch: function)
        work = Work(made, function, function, theirs)
        # Only the sum is rounded. All other operations here are exact.
        expected = exact(work) if arrays == 1 else function(*made)
        _run_large(context, row, work, arrays, expected)

    name, limit = line.split(" | ")
    TABLE.rows(key, f"{name} over a copy's bandwidth | % >= {limit}")(run)


_large(
    "large",
    "5 operations on 64 Mi | 90",
    3,
    lambda x, y: np.maximum((x * y + x - y) * 0.5, 0.0),
    lambda torch: lambda x, y: torch.relu((x * y + x - y) * 0.5),
    inputs=2,
)
_large("sum", "sum of 64 Mi | 90", 1, lambda x: x.sum())
_large("row-sums", "sums of 8192 rows | 90", 1, lambda x: x.sum(axis=1))
_large("transpose", "x.T + y of 64 Mi | 60", 3, lambda x, y: x.T + y, inputs=2)
_large(
    "slices",
    "x[:, 1:] - x[:, :-1] of 64 Mi | 85",
    2,
    lambda x: x[:, 1:] - x[:, :-1],
)
_large("stencil", "stencil of 5 points, 64 Mi | 70", 2, _spread)
_large(
    "turned",
    "concatenate of -x[:, 1:], x[:, :1], 64 Mi | 85",
    2,
    lambda x: np.concatenate([-x[..., 1:], x[..., :1]], -1),
    lambda torch: lambda x: torch.cat([-x[..., 1:], x[..., :1]], -1),
)


def ask_beside_compiled(row: Row) -> None:
    """Ask for torch.compile's bandwidth, too, if it was measured."""
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
    _fill(
        context,
        row,
        work,
        lambda ours: ours.check(expected, error),
        lambda ours: percent(ours.latency_us(reps)),
    )
    row.also["us"] = percent(1.0) / (row.value or math.inf)
    row.note = f"{elems >> 20} Mi elements; {context.modes[-1]}"
