"""What fills the rows of `bench torch`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpuos.bench.peers import MICRO
from gpuos.bench.row import Unavailable, attempt
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
    scheduled_arm,
    seconds_in_turns,
    warm_up,
)
from gpuos.bench.torch_small import adds

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.bench.context import Context, Sizes
    from gpuos.bench.row import Row

    Make = Callable[[Any, str, Sizes], Work]

# A host gets slower or faster within a second: turns of one repetition, which
# meet both arms alike where a few percent are asked.
MODEL_TURNS = 4  # for each repetition that is asked for
COMPILERS = ("default", "reduce-overhead")


def _peers(context: Context, torch: Any, work: Work) -> dict[str, Arm | str]:
    """Return every peer of the device, or why it is not there."""
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
    """Return microseconds a step: of ours, and of peers with their reasons."""
    peers = _peers(context, torch, work)
    usable = {k: arm for k, arm in peers.items() if isinstance(arm, Arm)}
    seconds = seconds_in_turns(
        torch,
        {**ours, **usable},
        context.sizes.torch_reps,
        settles=context.is_cuda,
    )
    us = {k: MICRO * v / len(work.inputs) for k, v in seconds.items()}
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
    """Fill the rows of independent adds, handed over and taken."""
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


def ratio_run(make: Make) -> Callable[..., None]:
    """Return what fills a row of eager's time over ours, and one of graphs."""

    def run(context: Context, row: Row, over_graph: Row | None = None) -> None:
        torch, gt = modules_of(context)
        torch.manual_seed(7)
        work = make(torch, device_of(context), context.sizes)
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


def model_run(make: Make) -> Callable[..., None]:
    """Return what fills a row of a model, where only eager is a peer."""

    def run(context: Context, row: Row) -> None:
        torch, gt = modules_of(context)
        torch.manual_seed(7)
        work = make(torch, device_of(context), context.sizes)
        check_work(torch, gt, work)
        arms = {
            "eager": eager_arm(torch, work),
            "ours": scheduled_arm(gt, work),
        }
        row.also["warm s"] = warm_up(torch, gt, arms["ours"])
        turns = MODEL_TURNS * context.sizes.torch_reps
        seconds = seconds_in_turns(
            torch, arms, turns, turns, settles=context.is_cuda
        )
        row.value = seconds["eager"] / seconds["ours"]
        for name, group in (("eager", row.peers), ("ours", row.also)):
            group[f"{name} us"] = MICRO * seconds[name] / len(work.inputs)
        row.note = "forward and backward"

    return run


def on_host(run: Callable[..., None]) -> Callable[..., None]:
    """Return `run` on tensors of the processor, whatever the backend is."""

    def run_there(context: Context, row: Row) -> None:
        run(context.on_host(), row)

    return run_there
