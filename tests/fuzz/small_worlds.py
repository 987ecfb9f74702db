"""Every program of a few sums, differences and transposes of small arrays.

Random programs rarely sum a sum and then combine it with its operand. Such
patterns decide the loops of a program, so all of them are tested.
"""

from collections.abc import Iterator

import numpy as np

import gpuos

Step = tuple[str, int, int]  # what, and the places of its operands
Shape = tuple[int, ...]

# The arrays of a program, and the number of steps that are tested with them.
WORLDS: list[tuple[tuple[Shape, ...], int]] = [
    *(
        ((shape,), 4)
        for shape in [(), (3,), (2, 2), (3, 1), (1, 2), (2, 3), (2, 2, 2)]
    ),
    *(
        (shapes, 3)
        for shapes in [
            ((2, 2), (2, 2)),
            ((2, 2), (2,)),
            ((2, 1), (1, 2)),
            ((2, 2), (1,)),
            ((3,), (2, 3)),
        ]
    ),
]
ALONE = {
    "sum0": lambda x: np.sum(x, axis=0),
    "kept1": lambda x: np.sum(x, axis=-1, keepdims=True),
    "turn": lambda x: x.T,
    "row": lambda x: x[None],
}


def programs(length: int, inputs: int) -> Iterator[tuple[Step, ...]]:
    """All in which each value but the last is used."""
    yield from _longer((), length, inputs)


def _longer(
    steps: tuple[Step, ...], length: int, inputs: int
) -> Iterator[tuple[Step, ...]]:
    count = len(steps) + inputs  # of values
    unused = set(range(count)) - {k for step in steps for k in step[1:]}
    if len(steps) == length:
        if unused == {count - 1}:
            yield steps
        return
    if len(unused) > length - len(steps) + 1:
        return
    tries = [(name, k, k) for name in ALONE for k in range(count)]
    tries += [
        ("less", i, k) for i in range(count) for k in range(count) if i != k
    ]
    for step in tries:
        yield from _longer((*steps, step), length, inputs)


def run(steps: tuple[Step, ...], *arrays):
    values = [*arrays]
    for name, i, k in steps:
        if values[i].ndim == 0 and name.startswith(("sum", "kept")):
            raise IndexError("no axis to sum along")
        if name == "less":
            values.append(2 * values[i] - values[k])
        else:
            values.append(ALONE[name](values[i]))
    return values[-1]


def finding(rt: gpuos.Runtime, length: int, *shapes: Shape) -> str:
    """Return the first wrong program, or an empty text."""
    arrays = [
        np.arange(7 + k, 7 + k + np.prod(shape, dtype=int)).reshape(shape) ** 2
        for k, shape in enumerate(shapes)
    ]
    on = [rt.array(x) for x in arrays]
    for steps in programs(length, len(arrays)):
        try:
            wanted = run(steps, *arrays)
        except (ValueError, IndexError):
            continue
        if wanted.ndim > 4:
            continue
        if len(on) == 1:
            fused = rt.fuse(lambda x, steps=steps: run(steps, x))
        else:
            fused = rt.fuse(lambda x, y, steps=steps: run(steps, x, y))
        made = fused(*on).numpy()
        if made.shape != wanted.shape or (made != wanted).any():
            return f"{shapes} {steps}: expected {wanted}, got {made}"
    return ""


def first_finding(rt: gpuos.Runtime) -> str:
    tries = (
        finding(rt, length, *shapes)
        for shapes, longest in WORLDS
        for length in range(1, longest + 1)
    )
    return next((found for found in tries if found), "")
