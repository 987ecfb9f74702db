"""What fills the rows of programs that a scheduler must not slow down."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from gpuos.bench.busy import busy_processors
from gpuos.bench.peers import MICRO
from gpuos.bench.row import median
from gpuos.bench.torch_arms import (
    check_same,
    device_of,
    eager_arm,
    modules_of,
    read,
    scheduled_arm,
    seconds_in_turns,
    warm_up,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.context import Context, Sizes
    from gpuos.bench.row import Row
    from gpuos.bench.torch_arms import Work

    Make = Callable[[Any, str, Sizes], Work]

TURNS = 4  # for each repetition that is asked for
BUSY = 2  # endless processes
STEPS = 60
BLOCK = 50


def _pair(torch: Any, context: Context, make: Make) -> tuple[Work, Work]:
    """Return a program twice, with states of their own that begin alike."""
    made = []
    for _ in range(2):
        torch.manual_seed(7)
        made.append(make(torch, device_of(context), context.sizes))
    return made[0], made[1]


def _check(torch: Any, gt: Any, eager: Work, ours: Work) -> None:
    expected = [eager.step(*inputs) for inputs in eager.inputs[:3]]
    with gt.scheduler(**ours.options):
        came = [ours.step(*inputs) for inputs in ours.inputs[:3]]
    check_same(torch, expected, came, ours.tolerance)


def even_run(make: Make) -> Callable[..., None]:
    """Return what fills a row of eager's time over ours.

    On processors with one thread of PyTorch and with the default; the row has
    the smaller of the two.
    """

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        default = torch.get_num_threads()
        counts = [default] if context.is_cuda else sorted({1, default})
        ratios = []
        try:
            for count in counts:
                torch.set_num_threads(count)
                ratios.append(_ratio(context, torch, gt, row, make))
                row.also[f"{count} threads"] = ratios[-1]
        finally:
            torch.set_num_threads(default)
        row.value = min(ratios)

    return run


def _ratio(
    context: Context, torch: Any, gt: Any, row: Row, make: Make
) -> float:
    eager, ours = _pair(torch, context, make)
    with torch.set_grad_enabled(eager.needs_gradients):
        _check(torch, gt, eager, ours)
        arms = {
            "eager": eager_arm(torch, eager),
            "ours": scheduled_arm(gt, ours),
        }
        warm_up(torch, gt, arms["ours"])
        turns = TURNS * context.sizes.torch_reps
        seconds = seconds_in_turns(
            torch, arms, turns, turns, settles=context.is_cuda
        )
    for name, group in (("eager", row.peers), ("ours", row.also)):
        group[f"{name} us"] = MICRO * seconds[name] / len(ours.inputs)
    row.note = f"a step; {len(ours.inputs)} steps"
    return seconds["eager"] / seconds["ours"]


def busy_run(make: Make) -> Callable[..., None]:
    """Return what fills a row of means of 60 steps beside endless processes."""

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        works = _pair(torch, context, make)
        means: dict[str, list[float]] = {"eager": [], "ours": []}
        with (
            busy_processors(BUSY),
            torch.set_grad_enabled(works[0].needs_gradients),
        ):
            for _ in range(2 * context.sizes.torch_reps):
                for (name, times), work in zip(
                    means.items(), works, strict=True
                ):
                    times.append(_mean_of_steps(torch, gt, name, work))
        row.value = median(means["eager"]) / median(means["ours"])
        for name, group in (("eager", row.peers), ("ours", row.also)):
            group[f"{name} us"] = MICRO * median(means[name])
        row.note = f"mean of {STEPS} steps beside {BUSY} endless processes"

    return run


def _mean_of_steps(torch: Any, gt: Any, name: str, work: Work) -> float:
    inputs = work.inputs[0]
    entered = gt.scheduler() if name == "ours" else contextlib.nullcontext()
    start = time.perf_counter()
    with entered:
        for _ in range(STEPS):
            result = work.step(*inputs)
        read(torch, result)
    return (time.perf_counter() - start) / STEPS


def worst_block_run(make: Make) -> Callable[..., None]:
    """Return what fills a row of eager's median block over our worst.

    Nothing is warm, so its programs are compiled while the steps go on.
    """

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        works = _pair(torch, context, make)
        with torch.set_grad_enabled(works[0].needs_gradients):
            count = max(3, 4 * context.sizes.torch_steps // 5)
            eager = _blocks(torch, works[0], count)
            with gt.scheduler():
                ours = _blocks(torch, works[1], count)
        row.value = median(eager) / max(ours)
        row.peers["eager us"] = MICRO * median(eager) / BLOCK
        row.also["ours, worst us"] = MICRO * max(ours) / BLOCK
        row.also["ours us"] = MICRO * median(ours) / BLOCK
        row.note = f"blocks of {BLOCK} steps, nothing compiled before"

    return run


def _blocks(torch: Any, work: Work, count: int) -> list[float]:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        for index in range(BLOCK):
            result = work.step(*work.inputs[index % len(work.inputs)])
        read(torch, result)
        times.append(time.perf_counter() - start)
    return times[1:]  # the first finds caches empty
