"""Run the steps of a PyTorch program in several ways, timed in turns."""

import contextlib
import functools
import gc
import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gpuos.bench.context import Context
from gpuos.bench.peers import captured, forget_compiled, torch_of
from gpuos.bench.row import Unavailable
from gpuos.bench.timing import MILLI, seconds, settled

TURNS = 3
WARM_S = 20.0
PAUSE_S = 0.01


@dataclass(frozen=True)
class Work:
    """Steps of a program, each on tensors of its own.

    Parameters
    ----------
    step : callable
        Takes the tensors of one step. Returns a tensor or a tuple of tensors.
    inputs : list of tuple of torch.Tensor
        One tuple for each step.
    loop : callable, optional
        Takes `inputs` and does the work of `step` for each, in one call.
        Returns the results.
    foreach : callable, optional
        Takes `inputs` and runs all steps with PyTorch's `_foreach` functions.
    options : dict
        The options of the scheduler.
    needs_gradients : bool
        Whether the steps compute gradients.
    tolerance : float
        How much results may differ from eager's, relative to the largest.
    no_compiler : str
        Why torch.compile is not measured. Empty if it is measured.
    """

    step: Callable[..., Any]
    inputs: list[tuple[Any, ...]]
    loop: Callable[[list[tuple[Any, ...]]], list[Any]] | None = None
    foreach: Callable[[list[tuple[Any, ...]]], Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    needs_gradients: bool = False
    tolerance: float = 1e-4
    no_compiler: str = ""


@dataclass
class Arm:
    """One way to run all steps.

    `run` returns the results to read afterwards. `prepare` runs before a turn,
    and is not timed.
    """

    run: Callable[[], Any]
    first_ms: float | None = None
    prepare: Callable[[], None] = lambda: None


def modules_of(context: Context) -> tuple[Any, Any]:
    """Return torch and gpuos.torch.

    Each row is a new program. The scheduler therefore forgets that it left the
    thread to PyTorch in an earlier row.
    """
    torch = torch_of(context)
    gt = importlib.import_module("gpuos.torch")
    gt.bridge().watch_anew()  # It raises if a part is missing.
    return torch, gt


def device_of(context: Context) -> str:
    """Return PyTorch's name of the backend."""
    return "cuda" if context.is_cuda else "cpu"


def _all_steps(work: Work) -> list[Any]:
    if work.loop is not None:
        return work.loop(work.inputs)
    return [work.step(*inputs) for inputs in work.inputs]


def eager_arm(_torch: Any, work: Work) -> Arm:
    """Run plain PyTorch, without the methods that a scheduler has installed."""

    def leave_pytorch_alone() -> None:
        importlib.import_module("gpuos.torch.scheduling").retire()

    return Arm(lambda: _all_steps(work), prepare=leave_pytorch_alone)


def scheduled_arm(gt: Any, work: Work) -> Arm:
    def run() -> list[Any]:
        with gt.scheduler(**work.options):
            return _all_steps(work)

    return Arm(run)


def foreach_arm(_torch: Any, work: Work) -> Arm:
    """Run all steps with PyTorch's `_foreach` functions."""
    if work.foreach is None:
        message = "not a list of equal operations"
        raise Unavailable(message)
    return Arm(functools.partial(work.foreach, work.inputs))


def graph_arm(torch: Any, work: Work) -> Arm:
    """Capture all steps in one CUDA graph and replay it."""
    replay, took = captured(torch, lambda: _all_steps(work))
    return Arm(replay, MILLI * took)


def compiled_arm(torch: Any, work: Work, mode: str) -> Arm:
    """Compile a step. The time of the first call includes the compiler."""
    if work.no_compiler:
        raise Unavailable(work.no_compiler)
    forget_compiled()
    torch._dynamo.reset()
    step = torch.compile(work.step, mode=mode)

    def run() -> list[Any]:
        kept: list[Any] = []
        for inputs in work.inputs:
            if mode == "reduce-overhead":
                # The next call overwrites its results.
                torch.compiler.cudagraph_mark_step_begin()
                kept.clear()
            kept.append(step(*inputs))
        return kept

    first = seconds(lambda: read(torch, step(*work.inputs[0])))
    return Arm(run, MILLI * first)


def tensors_in(torch: Any, results: Any) -> Iterable[Any]:
    """Yield every tensor of nested results."""
    if isinstance(results, torch.Tensor):
        yield results
    elif isinstance(results, (list, tuple)):
        for one in results:
            yield from tensors_in(torch, one)


def _last_tensor(torch: Any, results: Any) -> Any:
    if isinstance(results, torch.Tensor):
        return results
    if isinstance(results, (list, tuple)):
        for one in reversed(results):
            found = _last_tensor(torch, one)
            if found is not None:
                return found
    return None


def read(torch: Any, results: Any) -> None:
    """Wait for all work, and read the last number.

    Reading all results would take longer than some programs.
    """
    last = _last_tensor(torch, results)
    if last.is_cuda:
        torch.cuda.synchronize()
    last.flatten()[-1].item()


def check_same(torch: Any, expected: Any, came: Any, tolerance: float) -> None:
    """Raise an error unless all results are finite and equal eager's."""
    ours = list(tensors_in(torch, came))
    theirs = list(tensors_in(torch, expected))
    if len(ours) != len(theirs):
        message = f"expected {len(theirs)} results, came {len(ours)}"
        raise ValueError(message)
    for one, other in zip(ours, theirs, strict=True):
        scale = max(1e-6, other.detach().abs().max().item())
        error = (one.detach() - other.detach()).abs().max().item()
        if not error <= tolerance * scale:
            message = (
                f"expected eager's results within {tolerance:g} of {scale:g}, "
                f"came {error:g}"
            )
            raise ValueError(message)


def check_work(torch: Any, gt: Any, work: Work) -> None:
    """Raise an error unless a scheduler and eager return equal results."""

    def own() -> list[tuple[Any, ...]]:
        return [
            tuple(
                x.clone() if isinstance(x, torch.Tensor) else x for x in inputs
            )
            for inputs in work.inputs
        ]

    expected = [work.step(*inputs) for inputs in own()]
    ours = replace(work, inputs=own())
    with gt.scheduler(**work.options):
        came = _all_steps(ours)
    check_same(torch, expected, came, work.tolerance)


def warm_up(torch: Any, gt: Any, arm: Arm, least: int = 0) -> float:
    """Run `arm` until it needs no new program. Return the seconds for that.

    No run waits for a compiler. The first runs are interpreted and share the
    processors with the compiler. There are at least `least` runs. The function
    ends after `WARM_S`.
    """
    start = time.perf_counter()
    before = None
    runs = 0
    while time.perf_counter() - start < WARM_S:
        read(torch, arm.run())
        runs += 1
        now = gt.stats()
        is_known = not now["compiling"] and now["programs"] == before
        if is_known and runs >= least:
            break
        before = now["programs"]
        while gt.stats()["compiling"] and time.perf_counter() - start < WARM_S:
            time.sleep(PAUSE_S)
    return time.perf_counter() - start


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def seconds_in_turns(
    torch: Any,
    arms: dict[str, Arm],
    reps: int,
    turns: int = TURNS,
    *,
    settles: bool = True,
) -> dict[str, list[float]]:
    """Return each arm's seconds in `reps` repetitions or some more.

    The arms take turns of a few repetitions, because a machine gets slower or
    faster. The first repetition of a turn does not count, because another arm
    left the caches and Python's specialised code. With `settles` a turn begins
    on processors that are not disturbed.

    Python's garbage collector pauses, as in `timeit`. It would search all
    imported objects whenever the program keeps many results.
    """
    times: dict[str, list[float]] = {name: [] for name in arms}
    with _without_collector():
        for _ in range(turns):
            for name, arm in arms.items():
                arm.prepare()
                with settled() if settles else contextlib.nullcontext():
                    read(torch, arm.run())
                    for _ in range(-(-reps // turns)):
                        start = time.perf_counter()
                        results = arm.run()
                        read(torch, results)
                        times[name].append(time.perf_counter() - start)
                        del results  # outside of the next timing
    return times
