"""Every program of a few sums, differences and turns of one small array.

Random programs seldom sum a sum and then meet what was summed. What belongs
into which loops is decided by such patterns, so all of them are tried.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import gpuos

Step = tuple[str, int, int]  # what, and the places of its operands

SHAPES = [(), (3,), (2, 2), (3, 1), (1, 2), (2, 3), (2, 2, 2)]

ALONE = {
    "sum0": lambda x: np.sum(x, axis=0),
    "kept1": lambda x: np.sum(x, axis=-1, keepdims=True),
    "turn": lambda x: x.T,
    "row": lambda x: x[None],
}


def programs(length: int) -> Iterator[tuple[Step, ...]]:
    """All in which each value but the last is used."""
    yield from _longer((), length)


def _longer(steps: tuple[Step, ...], length: int) -> Iterator[tuple[Step, ...]]:
    count = len(steps) + 1  # values, the array among them
    unused = set(range(count)) - {k for step in steps for k in step[1:]}
    if len(steps) == length:
        if unused == {length}:
            yield steps
        return
    if len(unused) > length - len(steps) + 1:
        return
    tries = [(name, k, k) for name in ALONE for k in range(count)]
    tries += [
        ("less", i, k) for i in range(count) for k in range(count) if i != k
    ]
    for step in tries:
        yield from _longer((*steps, step), length)


def run(steps: tuple[Step, ...], x):
    values = [x]
    for name, i, k in steps:
        if values[i].ndim == 0 and name.startswith(("sum", "kept")):
            raise IndexError("no axis to sum along")
        if name == "less":
            values.append(2 * values[i] - values[k])
        else:
            values.append(ALONE[name](values[i]))
    return values[-1]


def finding(rt: gpuos.Runtime, length: int, shape: tuple[int, ...]) -> str:
    """What the first wrong program is, or nothing."""
    x = np.arange(7, 7 + np.prod(shape)).reshape(shape) ** 2
    on = rt.array(x)
    for steps in programs(length):
        try:
            wanted = run(steps, x)
        except (ValueError, IndexError):
            continue
        if wanted.ndim > 4:
            continue
        made = rt.fuse(lambda x, steps=steps: run(steps, x))(on).numpy()
        if made.shape != wanted.shape or (made != wanted).any():
            return f"{shape} {steps}: expected {wanted}, got {made}"
    return ""


def first_finding(rt: gpuos.Runtime, longest: int = 4) -> str:
    """Of all programs up to that length, on arrays of each shape."""
    tries = (
        finding(rt, length, shape)
        for length in range(1, longest + 1)
        for shape in SHAPES
    )
    return next((found for found in tries if found), "")
