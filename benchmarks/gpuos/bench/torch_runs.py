"""Measure the rows of `bench torch`."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from gpuos.bench.context import Context, Sizes
from gpuos.bench.row import Row, Unavailable, attempt, median
from gpuos.bench.timing import MICRO, MILLI, busy_processors, time_limit
from gpuos.bench.torch_arms import (
    Arm,
    Work,
    check_same,
    check_work,
    compiled_arm,
    device_of,
    eager_arm,
    foreach_arm,
    graph_arm,
    modules_of,
    read,
    scheduled_arm,
    seconds_in_turns,
    warm_up,
)
from gpuos.bench.torch_programs import adds

Make = Callable[[Any, str, Sizes], Work]
Fill = Callable[..., None]

# A host gets slower or faster within a second. Turns of one repetition affect
# both arms equally if the target is a few percent.
TURNS = 4  # per requested repetition
BUSY = 2  # endless processes
STEPS = 60
BLOCK = 50
COMPILE_S = 45.0  # a whole program
COMPILERS = ("default", "reduce-overhead")


def _peers(context: Context, torch: Any, work: Work) -> dict[str, Arm | str]:
    """Return every peer of the device, or why it is missing."""
    makers: dict[str, Callable[[], Arm]] = {
        "eager": lambda: eager_arm(torch, work)
    }
    if work.foreach is not None:
        makers["_foreach"] = lambda: foreach_arm(torch, work)
    if context.is_cuda:
        makers["CUDA graph"] = lambda: graph_arm(torch, work)
    if context.sizes.torch_compiles:
        for mode in COMPILERS if context.is_cuda else COMPILERS[:1]:
            makers[f"torch.compile {mode}"] = partial(
                compiled_arm, torch, work, mode
            )
    return {name: attempt(make) for name, make in makers.items()}


def _measure(
    context: Context, torch: Any, work: Work, ours: dict[str, Arm]
) -> tuple[dict[str, float], dict[str, float | str]]:
    """Return our microseconds per step, and those of peers with reasons."""
    peers = _peers(context, torch, work)
    usable = {k: arm for k, arm in peers.items() if isinstance(arm, Arm)}
    seconds = seconds_in_turns(
        torch,
        {**ours, **usable},
        context.sizes.torch_reps,
        settles=context.is_cuda,
    )
    us = {k: MICRO * median(v) / len(work.inputs) for k, v in seconds.items()}
    shown: dict[str, float | str] = {}
    for name, arm in peers.items():
        if isinstance(arm, str):
            shown[name] = arm
            continue
        shown[f"{name} us"] = us[name]
        if arm.first_ms is not None:
            shown[f"{name} first ms"] = arm.first_ms
    return us, shown


def run_adds(context: Context, requests: Row, transparent: Row) -> None:
    """Fill the rows of independent adds: submitted, and intercepted."""
    torch, gt = modules_of(context)
    with torch.no_grad():
        work = adds(torch, device_of(context), context.sizes)
        outs = [torch.empty_like(a) for a, _ in work.inputs]
        triples = [(*ab, o) for ab, o in zip(work.inputs, outs, strict=True)]

        def submit_all() -> Any:
            for a, b, out in triples:
                gt.submit_add(a, b, out)
            gt.flush(sync=True)
            return outs[-1]

        check_work(torch, gt, work)
        gt.init(capacity=4096)
        try:
            submit_all()
            check_same(torch, [a + b for a, b in work.inputs], outs, 0.0)
            ours = {
                "requests": Arm(submit_all),
                "transparent": scheduled_arm(gt, work),
            }
            warm_s = sum(warm_up(torch, gt, arm) for arm in ours.values())
            us, shown = _measure(context, torch, work, ours)
        finally:
            gt.shutdown()
    for row, name in ((requests, "requests"), (transparent, "transparent")):
        row.value = us[name]
        row.peers = dict(shown)
        row.also["times eager"] = us["eager"] / us[name]
        row.also["warm s"] = warm_s


def ratio_run(make: Make) -> Fill:
    """Return the function that fills rows of ratios to eager and to graphs."""

    def run(context: Context, row: Row, over_graph: Row | None = None) -> None:
        torch, gt = modules_of(context)
        work = _work(torch, context, make)
        with torch.set_grad_enabled(work.needs_gradients):
            check_work(torch, gt, work)
            ours = {"ours": scheduled_arm(gt, work)}
            row.also["warm s"] = warm_up(torch, gt, ours["ours"])
            us, shown = _measure(context, torch, work, ours)
        row.value = us["eager"] / us["ours"]
        row.peers = shown
        row.also["ours us"] = us["ours"]
        row.note = f"a step; {len(work.inputs)} steps"
        if over_graph is not None:
            if "CUDA graph" not in us:
                reason = shown.get("CUDA graph", "needs a GPU")
                raise Unavailable(str(reason))
            over_graph.value = us["CUDA graph"] / us["ours"]

    return run


def _work(torch: Any, context: Context, make: Make) -> Work:
    # A step may change its program's state, so two programs begin equally.
    torch.manual_seed(7)
    return make(torch, device_of(context), context.sizes)


def _over_eager(
    context: Context, torch: Any, gt: Any, row: Row, eager: Work, ours: Work
) -> float:
    """Return the ratio of eager's time to ours. Fill both times and a note."""
    arms = {"eager": eager_arm(torch, eager), "ours": scheduled_arm(gt, ours)}
    row.also["warm s"] = warm_up(torch, gt, arms["ours"])
    turns = TURNS * context.sizes.torch_reps
    seconds = seconds_in_turns(
        torch, arms, turns, turns, settles=context.is_cuda
    )
    steps = len(ours.inputs)
    us = {k: MICRO * median(v) / steps for k, v in seconds.items()}
    row.peers["eager us"], row.also["ours us"] = us["eager"], us["ours"]
    row.note = f"a step; {steps} steps"
    return us["eager"] / us["ours"]


def model_run(make: Make) -> Fill:
    """Return the function that fills a model's row. Its only peer is eager."""

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        work = _work(torch, context, make)
        check_work(torch, gt, work)
        row.value = _over_eager(context, torch, gt, row, work, work)
        row.note = "forward and backward"

    return run


def even_run(make: Make) -> Fill:
    """Return the function for a row of a program that must not become slower.

    On processors it runs with one thread of PyTorch and with the default. The
    row has the smaller ratio.
    """

    def ratio(context: Context, torch: Any, gt: Any, row: Row) -> float:
        eager, ours = (_work(torch, context, make) for _ in range(2))
        with torch.set_grad_enabled(eager.needs_gradients):
            expected = [eager.step(*inputs) for inputs in eager.inputs[:3]]
            with gt.scheduler(**ours.options):
                came = [ours.step(*inputs) for inputs in ours.inputs[:3]]
            check_same(torch, expected, came, ours.tolerance)
            return _over_eager(context, torch, gt, row, eager, ours)

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        default = torch.get_num_threads()
        counts = [default] if context.is_cuda else sorted({1, default})
        try:
            for count in counts:
                torch.set_num_threads(count)
                tried = Row(row.name, row.unit)
                value = ratio(context, torch, gt, tried)
                row.also[f"{count} threads"] = value
                if row.value is None or value < row.value:
                    # The times belong to the ratio of the row.
                    row.value, row.note = value, tried.note
                    row.peers = tried.peers
                    row.also |= tried.also
        finally:
            torch.set_num_threads(default)

    return run


def whole_run(make: Callable[[Any, str], Callable[[], Any]]) -> Fill:
    """Return the function for a row of a whole program.

    The row and its peers are in times eager's speed. Each is the median of
    pairs in turns.
    """

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        torch.manual_seed(7)
        work = Work(make(torch, device_of(context)), [()])
        eager, ours = eager_arm(torch, work), scheduled_arm(gt, work)

        def over_eager(arm: Arm) -> tuple[float, list[float]]:
            turns = context.sizes.torch_reps
            arms = {"eager": eager, "arm": arm}
            times = seconds_in_turns(
                torch, arms, turns, turns, settles=context.is_cuda
            )
            ratios = [a / b for a, b in zip(*times.values(), strict=True)]
            return median(ratios), [MICRO * median(x) for x in times.values()]

        def compiled() -> float:
            eager.prepare()
            with time_limit(COMPILE_S):
                arm = compiled_arm(torch, work, "default")
            row.also["compile s"] = (arm.first_ms or 0) / MILLI
            with time_limit(COMPILE_S):  # It may compile for other shapes.
                return over_eager(arm)[0]

        results = []
        for arm in (eager, ours):
            torch.manual_seed(8)
            results.append(arm.run())
        check_same(torch, results[0], results[1], work.tolerance)
        # A program is compiled after 32 calls, and a run may call it once.
        row.also["warm s"] = warm_up(torch, gt, ours, least=40)
        value, us = over_eager(ours)
        row.peers["eager us"], row.also["ours us"] = us
        gt.bridge().watch_anew()  # It may leave the thread to PyTorch by now.
        before = gt.stats()
        read(torch, ours.run())
        after = gt.stats()
        ran = [sum(x["run_by_pytorch"].values()) for x in (before, after)]
        counts = {
            "deferred": after["intercepted"] - before["intercepted"],
            "by PyTorch": ran[1] - ran[0],
            "flushes": after["flushes"] - before["flushes"],
        }
        row.note = ", ".join(f"{v} {name}" for name, v in counts.items())
        counts["a flush"] = counts["deferred"] / max(1, counts["flushes"])
        row.also |= counts
        if context.sizes.torch_compiles:
            row.peer("torch.compile", compiled)
        if context.is_cuda:
            # A failed capture may break later draws of random numbers.
            row.peer(
                "CUDA graph", lambda: over_eager(graph_arm(torch, work))[0]
            )
        row.value = value

    return run


def _blocks(torch: Any, work: Work, count: int, steps: int) -> list[float]:
    """Return the microseconds per step of each block of `steps`."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        for index in range(steps):
            result = work.step(*work.inputs[index % len(work.inputs)])
        read(torch, result)
        times.append(MICRO * (time.perf_counter() - start) / steps)
    return times


def busy_run(make: Make) -> Fill:
    """Return the function for a row of 60 steps next to endless processes."""

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        eager, ours = (_work(torch, context, make) for _ in range(2))
        times: tuple[list[float], list[float]] = [], []
        with (
            busy_processors(BUSY),
            torch.set_grad_enabled(eager.needs_gradients),
        ):
            for _ in range(2 * context.sizes.torch_reps):
                times[0].extend(_blocks(torch, eager, 1, STEPS))
                with gt.scheduler():
                    times[1].extend(_blocks(torch, ours, 1, STEPS))
        row.peers["eager us"] = median(times[0])
        row.also["ours us"] = median(times[1])
        row.value = median(times[0]) / median(times[1])
        row.note = f"mean of {STEPS} steps beside {BUSY} endless processes"

    return run


def worst_block_run(make: Make) -> Fill:
    """Return the function for a row of eager's median block over our worst.

    No program is compiled before, so compilers run during the steps.
    """

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        eager, ours = (_work(torch, context, make) for _ in range(2))
        count = max(3, 4 * context.sizes.torch_steps // 5)
        with torch.set_grad_enabled(eager.needs_gradients):
            # The first block starts with empty caches.
            theirs = _blocks(torch, eager, count, BLOCK)[1:]
            with gt.scheduler():
                mine = _blocks(torch, ours, count, BLOCK)[1:]
        row.value = median(theirs) / max(mine)
        row.peers["eager us"] = median(theirs)
        row.also["ours, worst us"] = max(mine)
        row.also["ours us"] = median(mine)
        row.note = f"blocks of {BLOCK} steps, nothing compiled before"

    return run


def on_host(run: Fill) -> Fill:
    """Return `run` on CPU tensors, for every backend."""

    def run_there(context: Context, row: Row) -> None:
        run(context.on_host(), row)

    return run_there
