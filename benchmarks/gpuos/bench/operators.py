"""Measure the cost of an operator's checks, and of dropped results."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gpuos
from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.row import Row, Table, check_right, median
from gpuos.bench.timing import MICRO, seconds, seconds_of

TABLE = Table()
ELEMS = (1 << 10, 1 << 16, 1 << 20, 1 << 22)
LARGE = 1 << 20  # the work dominates from this size on
REPS = 9

AXPY = """
  float* out = task.pointer<float>(0);
  const float* x = task.pointer<const float>(1);
  const float* y = task.pointer<const float>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = 2 * x[i] + y[i];
"""
GATHER = """
  int* out = task.pointer<int>(0);
  const int* x = task.pointer<const int>(1);
  const int* index = task.pointer<const int>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = x[index[i]];
"""
DROPPED_ELEMS = (8, 64, 256)
CALLS = 20_000


@TABLE.rows(
    "checked",
    "elementwise operator, checked over unchecked | x <= 1.02 on host",
    "gather, checked over unchecked | x <= 1.15 on host",
)
def run_checked(context: Context, elementwise: Row, gather: Row) -> None:
    draw = np.random.default_rng(2)
    with context.runtime(context.modes[-1]) as rt:
        axpys = _both(rt, "axpy", AXPY, "float32", elementwise=True)
        gathers = _both(rt, "gather", GATHER, "int32", elementwise=False)
        for n in ELEMS:
            x, y = draw.random((2, n), dtype=np.float32)
            _compare(rt, axpys, [x, y], 2 * x + y, elementwise)
            table = draw.integers(0, 1000, n).astype(np.int32)
            index = draw.integers(0, n, n).astype(np.int32)
            _compare(rt, gathers, [table, index], table[index], gather)
    for row in (elementwise, gather):
        row.value = max(float(row.also[f"n={n}"]) for n in ELEMS if n >= LARGE)
        row.note = f"the worst of {LARGE} elements and more"


def _both(
    rt: gpuos.Runtime, name: str, body: str, dtype: str, *, elementwise: bool
) -> list[gpuos.Operator]:
    return [
        rt.define(
            f"{name}_{checked}",
            source=f"GPUOS_OPERATOR({name}_{checked}) {{{body}}}",
            dtype=dtype,
            inputs=2,
            elementwise=elementwise,
            checked=bool(checked),
        )
        for checked in (0, 1)
    ]


def _compare(
    rt: gpuos.Runtime,
    operators: list[gpuos.Operator],
    given: list[np.ndarray],
    expected: np.ndarray,
    row: Row,
) -> None:
    n = len(expected)
    inputs = [rt.array(one) for one in given]
    out = rt.empty(n, expected.dtype)
    calls = max(1, (1 << 21) // n)

    def run(op: gpuos.Operator) -> Callable[[], None]:
        def once() -> None:
            for _ in range(calls):
                rt.submit(op, *inputs, out=out)
            rt.synchronize(WAIT_S)

        return once

    times: list[list[float]] = [[], []]
    for op in operators:
        run(op)()
        wrong = ~np.isclose(out.numpy(), expected, rtol=1e-6)
        check_right(int(wrong.sum()), op.name)
    for _ in range(REPS):  # in turns, as the machine's speed changes
        for op, taken in zip(operators, times, strict=True):
            taken.append(MICRO * seconds(run(op)) / calls)
    without, checked = (median(taken) for taken in times)
    row.also[f"n={n}"] = checked / without
    row.also[f"checked us, n={n}"] = checked
    row.also[f"unchecked us, n={n}"] = without


def nine_operations(a: Any, b: Any, u: Any) -> tuple[Any, Any]:
    x = a * u + b
    y = b * u - a
    return (x + y * u) * 0.5, y - x * u


@TABLE.rows(
    "dropped",
    "fused call, results dropped, over the same with out= | x <= 1.3 on host",
    "NumPy's nine operations over a fused call | x >= 5 on host",
)
def run_dropped(context: Context, over_out: Row, over_numpy: Row) -> None:
    for elems in DROPPED_ELEMS:
        source = np.random.default_rng(6).random((3, elems), dtype=np.float32)
        source[2] *= 0.1  # a large `u` makes them overflow
        with context.runtime(context.modes[-1]) as rt:
            new, out = _ours(rt, source, context.sizes.reps)
        theirs = _us_a_call(
            partial(_loop, nine_operations, *source), context.sizes.reps
        )
        over_out.also[f"n={elems}"] = new / out
        over_out.also[f"new us, n={elems}"] = new
        over_out.also[f"out= us, n={elems}"] = out
        over_numpy.also[f"n={elems}"] = theirs / new
    for row, worst in ((over_out, max), (over_numpy, min)):
        row.value = worst(
            float(row.also[f"n={elems}"]) for elems in DROPPED_ELEMS
        )


def _loop(function: Callable[..., Any], a: Any, b: Any, u: Any) -> Any:
    for _ in range(CALLS):
        a, b = function(a, b, u)
    return a, b


def _us_a_call(run: Callable[[], object], reps: int) -> float:
    return MICRO * seconds_of(run, reps, settles=False) / CALLS


def _ours(rt: gpuos.Runtime, source: Any, reps: int) -> tuple[float, float]:
    fused = gpuos.fuse(nine_operations)
    a, b, u = (rt.array(part) for part in source)
    first = fused(a, b, u)
    expected = nine_operations(*source)
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
