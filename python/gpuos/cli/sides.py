"""One loop of small operations, by NumPy and by gpuos, side by side."""

from __future__ import annotations

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
    """Who ran the loop, and what a step took."""

    name: str
    step_us: float


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


def measure(rt: gpuos.Runtime, seconds: float) -> tuple[list[Side], bool]:
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
    is_right = bool(np.allclose(a, c.numpy(), TOLERANCE, TOLERANCE))
    return [Side("NumPy", theirs), Side("gpuos", ours)], is_right


def lines_of(sides: list[Side]) -> list[str]:
    """Return bars, the factor and what was run, at most 80 columns each."""
    mark = "\u2588" if (sys.stdout.encoding or "").lower() == "utf-8" else "#"
    most = max(side.step_us for side in sides)
    lines = [
        f"A step of {OPERATIONS} operations on {ELEMENTS} numbers, in a loop:",
        "",
    ]
    for side in sides:
        bar = mark * max(1, round(BAR * side.step_us / most))
        lines.append(f"  {side.name:<6} {bar:<{BAR}} {side.step_us:6.2f} us")
    first, last = sides
    lines += [
        f"  {first.step_us / last.step_us:.1f} x, by these lines:",
        "",
        "    rt = gpuos.Runtime()",
        "    @rt.fuse",
        *textwrap.indent(textwrap.dedent(source_of_step()), "    ").split("\n"),
        "    for _ in range(steps): x, v = step(x, v)",
        "",
    ]
    return lines


def source_of_step() -> str:
    """Return what ran, as a user writes it: without types."""
    return re.sub(
        r": Any| -> tuple\[.*\]", "", inspect.getsource(step)
    ).rstrip()
