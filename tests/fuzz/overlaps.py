"""Two outputs of a program anywhere in one small memory, and plain indices.

An output that overlaps itself or the other one must be refused. All others must
be written as in NumPy. Strides are arbitrary, so only NumPy arrays are used.
"""

import random
from collections.abc import Iterator

import numpy as np

import gpuos

ELEMENTS = 40
MOST_AXES = 3
CASES = 4000

# Sizes, strides in elements, the first element.
View = tuple[tuple[int, ...], tuple[int, ...], int]


def draw(dice: random.Random) -> View:
    while True:
        rank = dice.randint(0, MOST_AXES)
        sizes = tuple(dice.choice([0, 1, 2, 2, 3, 4]) for _ in range(rank))
        strides = tuple(dice.randint(-7, 9) for _ in range(rank))
        first = dice.randrange(ELEMENTS)
        if all(0 <= at < ELEMENTS for at in places(sizes, strides, first)):
            return sizes, strides, first


def places(
    sizes: tuple[int, ...], strides: tuple[int, ...], first: int
) -> Iterator[int]:
    for index in np.ndindex(sizes):
        yield first + sum(k * s for k, s in zip(index, strides, strict=True))


def on(memory: np.ndarray, view: View) -> np.ndarray:
    sizes, strides, first = view
    steps = [stride * memory.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(memory[first:], sizes, steps)


def finding(rt: gpuos.Runtime, f: gpuos.Fused, one: View, other: View) -> str:
    given = [[*places(*one)], [*places(*other)]]
    is_wrong = len(set(given[0] + given[1])) != sum(map(len, given))
    x, y = (np.arange(len(at), dtype="f4") for at in given)
    x, y = x.reshape(one[0]), y.reshape(other[0])
    memory = np.full(ELEMENTS, -1, "f4")
    wanted = memory.copy()
    try:
        f(x, y, out=(on(memory, one), on(memory, other)))
        rt.synchronize()
    except gpuos.InvalidArgument as error:
        is_same = np.array_equal(memory, wanted)
        return "" if is_wrong and is_same else f"refused: {error}"
    if is_wrong:
        return "not refused"
    on(wanted, one)[...] = x + 1
    on(wanted, other)[...] = y * 2
    if (memory != wanted).any():
        return f"expected {wanted}, got {memory}"
    return ""


def first_finding(rt: gpuos.Runtime, seed: int, count: int = CASES) -> str:
    """Return the finding with its two outputs, or an empty text."""
    dice = random.Random(seed)
    f = rt.fuse(lambda x, y: (x + 1, y * 2))
    for _ in range(count):
        one, other = draw(dice), draw(dice)
        found = finding(rt, f, one, other)
        if found:
            return (
                "outputs of (sizes, strides, first) "
                f"{one} and {other} of {ELEMENTS} elements: {found}"
            )
    return ""
