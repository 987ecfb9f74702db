"""One loop of small operations, by NumPy and PyTorch and by gpuos."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import textwrap
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import gpuos

ELEMENTS = 256
DTYPE = "float32"
WARM_STEPS = 200  # also where the program is compiled meanwhile
STEPS_A_LOOK = 500
CHECKED_STEPS = 1000
BAR = 32
# Two additions of float32 in another order, a thousand steps later.
TOLERANCE = 1e-3


def step(x: Any, v: Any) -> tuple[Any, Any]:
    force = -4.0 * x - 0.1 * v
    v = v + 0.01 * force
    return x + 0.01 * v, v


OPERATIONS = 7  # of it


@dataclass(frozen=True)
class Side:
    """A contestant with the time of a step and its ratio to another's time.

    `factor` is None for a contestant that others are compared with.
    """

    name: str
    step_us: float
    factor: float | None = None


def begin() -> tuple[Any, Any]:
    """Return where springs begin: positions and speeds."""
    return np.linspace(-1, 1, ELEMENTS, dtype=DTYPE), np.zeros(ELEMENTS, DTYPE)


def time_of(
    function: Callable[[Any, Any], tuple[Any, Any]],
    x: Any,
    v: Any,
    finish: Callable[[Any], Any],
    seconds: float,
) -> float:
    """Return the microseconds of a step, by the best of some looks."""
    for _ in range(WARM_STEPS):
        x, v = function(x, v)
    finish(x)
    best = float("inf")
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(STEPS_A_LOOK):
            x, v = function(x, v)
        finish(x)
        now = time.perf_counter()
        best = min(best, (now - start) / STEPS_A_LOOK)
        if now >= end:
            return best * 1e6


def pair(theirs: str, ours: str, us: tuple[float, float]) -> list[Side]:
    """Return two sides, the second compared with the first."""
    return [Side(theirs, us[0]), Side(ours, us[1], us[0] / us[1])]


def is_same(a: Any, b: Any) -> bool:
    """Return whether two results of `CHECKED_STEPS` agree within rounding."""
    return bool(np.allclose(a, b, TOLERANCE, TOLERANCE))


def numpy_sides(rt: gpuos.Runtime, seconds: float) -> tuple[list[Side], bool]:
    """Return both sides, and whether they come to the same."""
    fused = rt.fuse(step)
    x, v = begin()
    theirs = time_of(step, x, v, lambda x: x, seconds / 2)
    ours = time_of(
        fused, rt.array(x), rt.array(v), lambda x: x.numpy(), seconds / 2
    )
    a, b = begin()
    c, d = rt.array(a), rt.array(b)
    for _ in range(CHECKED_STEPS):
        a, b = step(a, b)
        c, d = fused(c, d)
    sides = pair("NumPy", "gpuos", (theirs, ours))
    return sides, is_same(a, c.numpy())


def torch_sides(on_gpu: bool, seconds: float) -> tuple[list[Side], bool]:
    """Return PyTorch alone and in a scheduler, and whether they are the same.

    Empty if PyTorch is not there, or its bridge.
    """
    if importlib.util.find_spec("torch") is None:
        return [], True
    torch: Any = importlib.import_module("torch")
    gt: Any = importlib.import_module("gpuos.torch")
    if not importlib.import_module("gpuos.torch.building").is_built():
        return [], True
    device = "cuda" if on_gpu and torch.cuda.is_available() else "cpu"

    def tensors() -> list[Any]:
        return [torch.from_numpy(each).to(device) for each in begin()]

    def result() -> Any:
        x, v = tensors()
        for _ in range(CHECKED_STEPS):
            x, v = step(x, v)
        return x.cpu()

    def time() -> float:
        x, v = tensors()
        return time_of(step, x, v, lambda x: x.cpu(), seconds / 2)

    with torch.no_grad():
        theirs, expected = time(), result()
        with gt.scheduler():
            ours, came = time(), result()
    sides = pair("PyTorch", "+ scheduler", (theirs, ours))
    return sides, is_same(expected, came)


def lines_of(sides: list[Side]) -> list[str]:
    """Return lines of bars, factors and code, at most 80 columns each."""
    mark = "\u2588" if (sys.stdout.encoding or "").lower() == "utf-8" else "#"
    most = max(side.step_us for side in sides)
    width = max(len(side.name) for side in sides)
    lines = [
        f"A step of {OPERATIONS} operations on {ELEMENTS} numbers, in a loop:",
        "",
    ]
    for side in sides:
        bar = mark * max(1, round(BAR * side.step_us / most))
        text = f"  {side.name:<{width}}  {bar:<{BAR}} {side.step_us:7.2f} us"
        if side.factor is not None:
            text += f"  {side.factor:4.1f} x"
        lines.append(text)
    lines += [
        "",
        "by these lines:",
        "",
        "    rt = gpuos.Runtime()",
        "    @rt.fuse",
        *textwrap.indent(textwrap.dedent(source_of_step()), "    ").split("\n"),
        "    for _ in range(steps): x, v = step(x, v)",
        "",
    ]
    if any(side.name == "PyTorch" for side in sides):
        lines += [
            "and under PyTorch, without a change of the loop, by one:",
            "",
        ]
        lines += ["    with torch.no_grad(), gpuos.torch.scheduler():", ""]
    return lines


def source_of_step() -> str:
    """Return the code that ran, without types, as a user writes it."""
    return re.sub(
        r": Any| -> tuple\[.*\]", "", inspect.getsource(step)
    ).rstrip()
