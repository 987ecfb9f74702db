"""Measure the cost of a task that Python submits."""

import time
from functools import partial

import numpy as np
import numpy.typing as npt

import gpuos
from gpuos.bench import _loops
from gpuos.bench.context import SETS, WAIT_S, Context
from gpuos.bench.peers import add_python_peers
from gpuos.bench.row import Row, Table, check_right, median
from gpuos.bench.timing import MICRO, NANO, seconds_of

TABLE = Table()
ELEMS = 1024


@TABLE.rows("submit", "Python submit() with three arrays | us <= 0.3")
def run_submit(context: Context, row: Row) -> None:
    count = context.sizes.submits
    source = np.random.default_rng(3).random((2, ELEMS), dtype=np.float32)
    for mode in context.modes:
        with context.runtime(mode) as rt:
            a, b = (rt.array(part) for part in source)
            outs = [rt.zeros(ELEMS) for _ in range(SETS)]
            triples = [(a, b, outs[i % SETS]) for i in range(count)]
            rt.synchronize(WAIT_S)
            times = []
            returned = []
            for _ in range(context.sizes.reps + 1):
                _loops.settle()
                submit = rt.submit
                start = time.perf_counter()
                for x, y, out in triples:
                    submit("add", x, y, out=out)
                returned.append(time.perf_counter() - start)
                rt.synchronize(WAIT_S)
                times.append(time.perf_counter() - start)
            expected = source[0] + source[1]
            wrong = sum(
                int((out.numpy() != expected).sum()) for out in outs[:count]
            )
        check_right(wrong, f"submit, {mode}")
        for name, each in (
            (f"{mode}, until it returns", returned),
            (mode, times),
        ):
            row.also[name] = row.value = MICRO * median(each[1:]) / count
    row.note = f"{context.modes[-1]}, the last result awaited"
    add_python_peers(context, row, ELEMS, 1.0)


@TABLE.rows("submit-many", "Python submit_many(), a task | ns <= 20")
def run_submit_many(context: Context, row: Row) -> None:
    tasks = min(context.sizes.bulk_tasks, 65_536)
    source = np.random.default_rng(4).random((2, SETS, ELEMS), dtype=np.float32)
    steps = np.arange(tasks, dtype=np.uint64) % np.uint64(SETS)
    for mode in context.modes:
        with context.runtime(mode) as rt:
            arrays = [rt.array(part) for part in source]
            arrays.append(rt.zeros((SETS, ELEMS)))
            columns = [
                steps * np.uint64(4 * ELEMS) + np.uint64(array.ptr)
                for array in arrays
            ]
            once = partial(_submit_and_wait, rt, columns)
            value = NANO * seconds_of(once, context.sizes.reps) / tasks
            wrong = int((arrays[2].numpy() != source[0] + source[1]).sum())
        check_right(wrong, f"submit_many, {mode}")
        row.put(mode, value)
    row.note = f"{context.modes[-1]}, {tasks} tasks, awaited"


def _submit_and_wait(
    rt: gpuos.Runtime, columns: list[npt.NDArray[np.uint64]]
) -> None:
    ticket = rt.submit_many("add", *columns, sizes=ELEMS, dtype="float32")
    rt.wait(ticket, WAIT_S)


@TABLE.rows(
    "host", "host backend, n=64, over numpy.add in a loop | x >= 5 on host"
)
def run_host(context: Context, row: Row) -> None:
    tasks, elems = context.sizes.burst_tasks, 64
    rng = np.random.default_rng(5)
    a, b = rng.random((2, tasks, elems), dtype=np.float32)
    c = np.full((tasks, elems), np.nan, np.float32)
    with gpuos.Runtime("host") as rt:
        ours = seconds_of(
            lambda: rt.wait(rt.submit_many("add", a, b, c), WAIT_S),
            context.sizes.reps,
        )
        workers = rt.stats()["workers"]
    check_right(int((c != a + b).sum()), "submit_many on the host")
    rows = list(zip(a, b, c, strict=True))

    def loop() -> None:
        for x, y, out in rows:
            np.add(x, y, out=out)

    theirs = seconds_of(loop, context.sizes.reps)
    row.value = theirs / ours
    row.also["submit_many ns"] = NANO * ours / tasks
    row.peers["numpy.add ns"] = NANO * theirs / tasks
    row.note = f"{workers} workers"
