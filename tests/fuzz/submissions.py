"""Random tasks over overlapping memory, compared with the same tasks in order.

A case is a list of actions for each of its lanes. A lane is a thread, or on a
GPU also a stream.
"""

import contextlib
import importlib.util
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lanes
import numpy as np
from tasks import CELLS, FUSED, LONG, SHARED, Action, Lane
from watch import watch

import gpuos

WAIT_S = 60.0


@dataclass(frozen=True)
class Case:
    options: dict[str, Any]
    lanes: tuple[tuple[Action, ...], ...]
    is_threaded: bool
    in_streams: bool = False

    def text(self, backend: str) -> str:
        """Python that can be pasted, lane after lane."""
        made = [
            "import contextlib",
            "import numpy as np",
            "import gpuos",
            f"rt = gpuos.Runtime({backend!r}, **{self.options})",
            f"r = rt.array(np.arange({SHARED}, dtype='int32'))",
            "rt.define('both', 'o = a + b')",
        ]
        for k, lane in enumerate(self.lanes):
            made.append(f"# lane {k}")
            made.append(f"m = rt.array(np.arange({CELLS}, dtype='int32'))")
            made.append(f"long = rt.empty({LONG}, 'int32')")
            made.append("s, told = {}, []")
            made += [action.ours for action in lane]
            made.append("print([ticket for ticket, fails in told if fails])")
            made.append("print(m.numpy())")
        return "\n".join(made)


# ---- drawing


def draw(
    dice: random.Random, *, is_compiled: bool = False, has_streams: bool = False
) -> Case:
    options = {
        "queue_capacity": dice.choice([64, 64, 256, 32768]),
        "workers": dice.choice([0, 1, 2, 3]),
        "residency": dice.choice(["auto", "burst", "resident"]),
        "linger_us": dice.choice([1, 20, 100]),
        "flush_after_us": dice.choice([1, 50, 200]),
        "compile_programs_after": 0,
    }
    count = dice.choice([1, 1, 1, 2, 3])
    in_streams = has_streams and dice.random() < 0.5
    # PyTorch captures in one thread at a time.
    is_threaded = count > 1 and not in_streams
    lanes = [
        Lane(dice, f"l{k}", compiles=is_compiled, in_stream=in_streams)
        for k in range(count)
    ]
    drawn = tuple(tuple(lane.draw()) for lane in lanes)
    return Case(options, drawn, is_threaded, in_streams)


# ---- running one


def _model(actions: tuple[Action, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the final memory and the values read meanwhile, of tasks in
    order."""
    names: dict[str, Any] = {
        "np": np,
        "m": np.arange(CELLS, dtype="int32"),
        "r": np.arange(SHARED, dtype="int32"),
        "seen": [],
        "maximum": np.maximum,
        "where": np.where,
        "shifted": _shifted,
    }
    with np.errstate(all="ignore"):
        for action in actions:
            exec(action.theirs, names)  # noqa: S102 (our own)
    return names["m"], names["seen"]


def _shifted(x: np.ndarray, by: int, count: int) -> np.ndarray:
    """Elements from `by` on; those outside of `x` are 0."""
    at = np.arange(by, by + count)
    is_there = (at >= 0) & (at < len(x))
    return np.where(is_there, x[np.clip(at, 0, len(x) - 1)], 0)


def _tell(told: list[tuple[gpuos.Ticket, bool]]) -> None:
    """Check that each ticket reports its own task."""
    for ticket, fails in told:
        try:
            ticket.wait(WAIT_S)
        except gpuos.TaskError as error:
            if not fails or "argument 1 ('a'): index " not in str(error):
                raise
        else:
            if fails:
                raise AssertionError("expected TaskError, got none")
    told.clear()


class Stream:
    """One of PyTorch's, with captures."""

    def __init__(self, rt: gpuos.Runtime) -> None:
        import torch  # noqa: PLC0415 (only for streams)

        self._rt = rt
        self._cuda = torch.cuda
        self.torch = torch.cuda.Stream()

    def replay(self, submit: Callable[[], Any], times: int) -> None:
        graph = self._cuda.CUDAGraph()
        self._rt.flush(self.torch)
        mode = "thread_local"  # other lanes continue
        with self._cuda.graph(
            graph, stream=self.torch, capture_error_mode=mode
        ):
            submit()
            self._rt.flush(self.torch)
        with self._cuda.stream(self.torch):
            for _ in range(times):
                graph.replay()
        self.torch.synchronize()  # no other code waits for it


class Run:
    """The runtime's execution of one lane."""

    def __init__(
        self, rt: gpuos.Runtime, shared: Any, lane: Any, *, in_stream: bool
    ) -> None:
        fused = {
            name: rt.fuse(eval(text, {"np": np}))
            for name, text in FUSED.items()
        }
        self._names: dict[str, Any] = {
            "rt": rt,
            "np": np,
            "time": time,
            "m": rt.array(np.arange(CELLS, dtype="int32")),
            "r": shared,
            "long": rt.empty(LONG, "int32"),
            "s": {},
            "seen": [],
            "gpuos": gpuos,
            "contextlib": contextlib,
            "told": [],
            "tell": _tell,
            "fused": fused,
            "aliases": {},
        }
        if in_stream:
            stream = Stream(rt)
            self._names |= {"s": {"stream": stream.torch}}
            self._names |= {"replay": stream.replay}
        self._names["t"] = rt.submit("copy", shared, out=rt.empty(64, "int32"))
        self._lane = lane
        self.error = ""

    def steps(self) -> Iterator[None]:
        """Run an action at a time."""
        for action in (*self._lane, Action("tell(told)")):
            try:
                exec(action.ours, self._names)  # noqa: S102 (our own)
            except Exception as error:  # noqa: BLE001 (a finding)
                self.error = f"{action.ours}: {type(error).__name__}: {error}"
                return
            yield

    def __call__(self) -> None:
        for _ in self.steps():
            pass

    def difference(self) -> str:
        m, seen = _model(self._lane)
        if self.error:
            return self.error
        looks = [a.ours for a in self._lane if a.ours.startswith("seen")]
        for text, ours, theirs in zip(
            looks, self._names["seen"], seen, strict=True
        ):
            if not np.array_equal(ours, theirs):
                return f"{text}: expected {theirs}, got {ours}"
        ours = self._names["m"].numpy()
        if np.array_equal(ours, m):
            return ""
        at = int(np.argmax(ours != m))
        return f"m[{at}]: expected {m[at]}, got {ours[at]}"


def finding(backend: str, case: Case) -> str:
    """Return the error of a case, or ""."""
    try:
        with gpuos.Runtime(backend, **case.options) as rt:
            shared = rt.array(np.arange(SHARED, dtype="int32"))
            rt.define("both", "o = a + b")
            runs = [
                Run(rt, shared, lane, in_stream=case.in_streams)
                for lane in case.lanes
            ]
            _run_all(runs, is_threaded=case.is_threaded)
            return next((d for d in (r.difference() for r in runs) if d), "")
    except Exception as error:  # noqa: BLE001 (each error is a finding)
        return f"{type(error).__name__}: {error}"


def _run_all(runs: list[Run], *, is_threaded: bool) -> None:
    if not is_threaded:
        for _ in itertools.zip_longest(*(run.steps() for run in runs)):
            pass
        return
    threads = [threading.Thread(target=run, daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
        if thread.is_alive():
            raise TimeoutError(f"a lane was not done in {WAIT_S:.0f} s")


def first_finding(
    backend: str,
    count: int,
    seed: int,
    *,
    seconds: float = float("inf"),
    is_compiled: bool = False,
) -> str:
    """Return the first failing one of `count` cases with its error, or ""."""
    end = time.monotonic() + seconds
    has_torch = importlib.util.find_spec("torch") is not None
    has_streams = backend == "cuda" and has_torch
    for index in range(count):
        if time.monotonic() > end:
            break
        dice = random.Random(f"{seed}:{index}")
        case = draw(dice, is_compiled=is_compiled, has_streams=has_streams)
        with watch().case(lambda case=case: case.text(backend)):
            found = finding(backend, case)
        if found:
            case = shrink(backend, case)
            found = finding(backend, case) or found
            return f"seed {seed}, case {index}: {found}\n{case.text(backend)}"
    return ""


# ---- making a finding smaller


def shrink(backend: str, case: Case, tries: int = 5) -> Case:
    """Fewer actions that are wrong still, seen in one of a few tries."""

    def is_wrong(smaller: Case) -> bool:
        try:
            for lane in smaller.lanes:
                _model(lane)
        except Exception:  # noqa: BLE001 (it needs a removed action)
            return False
        return any(finding(backend, smaller) for _ in range(tries))

    return lanes.shrink(case, is_wrong)
