"""Calls of a fused function whose results are new, and dropped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gpuos
from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.row import Row, Table, at_least, check_right
from gpuos.bench.timing import MICRO, seconds_of

TABLE = Table()
ELEMS = (8, 64, 256)
CALLS = 20_000


def work(a: Any, b: Any, u: Any) -> tuple[Any, Any]:
    """Return the results of nine operations."""
    x = a * u + b
    y = b * u - a
    return (x + y * u) * 0.5, y - x * u


@TABLE.rows(
    "dropped",
    Row(
        "fused call, results dropped, over the same with out=",
        "x",
        1.3,
        on_host=True,
    ),
    at_least("NumPy's nine operations over a fused call", "x", 5, host=True),
)
def run_dropped(context: Context, over_out: Row, over_numpy: Row) -> None:
    for elems in ELEMS:
        source = np.random.default_rng(6).random((3, elems), dtype=np.float32)
        source[2] *= 0.1  # with a large `u` they grow until NumPy warns
        with context.runtime(context.modes[-1]) as rt:
            new, out = _ours(rt, source, context.sizes.reps)
        theirs = _us_a_call(partial(_loop, work, *source), context.sizes.reps)
        over_out.also[f"n={elems}"] = new / out
        over_out.also[f"new us, n={elems}"] = new
        over_out.also[f"out= us, n={elems}"] = out
        over_numpy.also[f"n={elems}"] = theirs / new
    for row, worst in ((over_out, max), (over_numpy, min)):
        row.value = worst(float(row.also[f"n={elems}"]) for elems in ELEMS)


def _loop(function: Callable[..., Any], a: Any, b: Any, u: Any) -> Any:
    for _ in range(CALLS):
        a, b = function(a, b, u)
    return a, b


def _us_a_call(run: Callable[[], object], reps: int) -> float:
    return MICRO * seconds_of(run, reps, settles=False) / CALLS


def _ours(rt: gpuos.Runtime, source: Any, reps: int) -> tuple[float, float]:
    fused = gpuos.fuse(work)
    a, b, u = (rt.array(part) for part in source)
    first = fused(a, b, u)
    expected = work(*source)
    for ours, theirs in zip(first, expected, strict=True):
        wrong = ~np.isclose(ours.numpy(), theirs, rtol=1e-5)
        check_right(int(wrong.sum()), "fused function")
    fused.compile(a, b, u)
    pairs = [tuple(rt.zeros(len(a)) for _ in range(2)) for _ in range(2)]

    def new() -> None:
        _loop(fused, a, b, u)
        rt.synchronize(WAIT_S)

    def out() -> None:
        x, y = a, b
        for i in range(CALLS):
            pair = pairs[i % 2]
            fused(x, y, u, out=pair)
            x, y = pair
        rt.synchronize(WAIT_S)

    return _us_a_call(new, reps), _us_a_call(out, reps)
