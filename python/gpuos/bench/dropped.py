"""Calls of a fused function whose results are new, and dropped."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import gpuos
from gpuos.bench.context import WAIT_S
from gpuos.bench.peers import MICRO
from gpuos.bench.row import check_right, median

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

ELEMS = (8, 64, 256)
CALLS = 20_000


def work(a: Any, b: Any, u: Any) -> tuple[Any, Any]:
    """Return the results of nine operations."""
    x = a * u + b
    y = b * u - a
    return (x + y * u) * 0.5, y - x * u


def run_dropped(context: Context, over_out: Row, over_numpy: Row) -> None:
    """Fill the rows of new results over `out=`, and of NumPy over them."""
    for elems in ELEMS:
        source = np.random.default_rng(6).random((3, elems), dtype=np.float32)
        source[2] *= 0.1  # with a large `u` they grow until NumPy warns
        with context.runtime(context.modes[-1]) as rt:
            new, out = _ours(rt, source, context.sizes.reps)
        theirs = _time(partial(_loop, work, *source), context.sizes.reps)
        over_out.also[f"n={elems}"] = new / out
        over_out.also[f"new us, n={elems}"] = new
        over_out.also[f"out= us, n={elems}"] = out
        over_numpy.also[f"n={elems}"] = theirs / new
    over_out.value = max(float(over_out.also[f"n={elems}"]) for elems in ELEMS)
    over_numpy.value = min(
        float(over_numpy.also[f"n={elems}"]) for elems in ELEMS
    )


def _loop(function: Callable[..., Any], a: Any, b: Any, u: Any) -> Any:
    for _ in range(CALLS):
        a, b = function(a, b, u)
    return a, b


def _time(run: Callable[[], object], reps: int) -> float:
    """Return the median time of one call in us."""
    run()
    times = []
    for _ in range(reps):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return MICRO * median(times) / CALLS


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

    return _time(new, reps), _time(out, reps)
