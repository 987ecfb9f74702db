"""Random arrays of every layout, as text that can be pasted."""

import functools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_STORED = 1_000_000  # elements; gaps of each axis would multiply


@dataclass(frozen=True)
class Array:
    """Elements in memory, and how they are looked at."""

    dtype: np.dtype
    stored: tuple[int, ...]  # the shape in memory
    seed: int
    looks: tuple[str, ...]  # of "{}", one around the other: "{}[::-1]"
    layout: str

    def memory(self) -> np.ndarray:
        return _memory(self)

    def value(self) -> np.ndarray:
        return _value(self)

    def of(self, memory: Any) -> Any:
        """The same looks at other memory: a runtime's array has no repeats."""
        return eval(self._look("x"), {"x": memory, "np": np})

    def text(self, backend: str) -> str:
        values = self.memory().ravel().tolist()
        made = f"np.array({values}, {self.dtype.name!r})"
        made = f"{made}.reshape({self.stored})"
        if backend == "host":
            return self._look(made)
        if self.layout == "repeated":  # here it is a copy, see Repeated
            return f"rt.array({self._look(made)})"
        return self._look(f"rt.array({made})")

    def _look(self, text: str) -> str:
        for look in self.looks:
            text = look.replace("{}", text)
        return text


# A case requests the same arrays repeatedly, and must not write to them.
@functools.lru_cache(maxsize=64)
def _memory(x: Array) -> np.ndarray:
    made = numbers(x.dtype, math.prod(x.stored), x.seed).reshape(x.stored)
    made.flags.writeable = False
    return made


@functools.lru_cache(maxsize=64)
def _value(x: Array) -> np.ndarray:
    return x.of(_memory(x))


def numbers(dtype: np.dtype, count: int, seed: int) -> np.ndarray:
    """Some special ones among ordinary ones."""
    dice = np.random.default_rng(seed)
    if dtype.kind == "b":
        return dice.integers(0, 2, count).astype(dtype)
    is_special = dice.random(count) < 0.2
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = np.array([0, 1, 2, 7, info.max, info.min, info.max - 1], dtype)
        plain = dice.integers(-9 if info.min else 0, 10, count).astype(dtype)
        return np.where(is_special, dice.choice(edges, count), plain)
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 1e4, np.inf, -np.inf, np.nan]
    plain = dice.normal(0, dice.choice([0.5, 4.0]), count)
    made = np.where(is_special, dice.choice(edges, count), plain)
    if dice.random() < 0.15:  # equal ones meet, and zeros of both signs
        made = dice.choice([0.0, -0.0, 1.0, -1.0], count)
    if dtype.kind == "c":
        finite = np.nan_to_num(made, posinf=5.0, neginf=-5.0)
        return (finite + 1j * np.roll(finite, 1)).astype(dtype)
    return made.astype(dtype)


def draw_shape(dice: random.Random, most_axes: int) -> tuple[int, ...]:
    """Draw a shape, mostly a small one: 0 to 3 elements show most errors."""
    kind = dice.random()
    if kind < 0.02:  # of many tiles and slices
        return dice.choice([(70_000,), (3, 30_000), (30_000, 3), (2, 9, 2_000)])
    if kind < 0.05:
        return (dice.choice([255, 257, 1024, 5000]),)
    if kind < 0.1:
        return (dice.choice([3, 33]), dice.choice([16, 17, 129, 700]))
    rank = dice.randint(0, most_axes)
    if kind < 0.3:  # what has lost an axis broadcasts against what has it
        return (dice.choice([1, 2, 3]),) * rank
    return tuple(dice.choice([0, 1, 1, 2, 2, 3, 3, 4]) for _ in range(rank))


def draw_array(
    dice: random.Random, shape: tuple[int, ...], dtype: np.dtype, layout: str
) -> Array:
    own = [n if dice.random() < 0.8 else 1 for n in shape]
    if dice.random() < 0.2:
        own = own[dice.randint(0, len(own)) :]
    return lay_out(dice, own, dtype, layout)


def lay_out(
    dice: random.Random, own: Sequence[int], dtype: np.dtype, layout: str
) -> Array:
    """One of the shape `own`, or without axes if that is its layout."""
    stored, looks = _LAID_OUT[layout](dice, list(own))
    if math.prod(stored) > MOST_STORED:
        layout = "contiguous"
        stored, looks = own, []
    seed = dice.randrange(1 << 30)
    return Array(dtype, tuple(stored), seed, tuple(looks), layout)


# ---- layouts: the shape in memory, and looks that make `own` of it


def _transposed(dice, own):
    order = list(range(len(own)))
    dice.shuffle(order)
    back = tuple(order.index(axis) for axis in range(len(own)))
    return [own[axis] for axis in order], [f"{{}}.transpose({back})"]


def _stepped(dice, own, steps):
    """Take every n-th element, from the front or from the back."""
    chosen = [dice.choice(steps) for _ in own]
    stored = [n * abs(step) for n, step in zip(own, chosen, strict=True)]
    parts = "".join(f"::{step}, " for step in chosen)
    return stored, [f"{{}}[{parts}...]"]


def _gaps(dice, own):
    stored, looks = _stepped(dice, own, [1, 2, 3])
    order, back = _transposed(dice, stored)
    return order, [*back, *looks]


def _repeated(dice, own):
    stored = [1 if dice.random() < 0.5 else n for n in own]
    return stored, [f"np.broadcast_to({{}}, {tuple(own)})"]


def _new_axis(dice, own):
    """Axes of one element that no memory has a stride for."""
    kept = [n for n in own if n != 1]
    parts = "".join("None, " if n == 1 else ":, " for n in own)
    stored, looks = _transposed(dice, kept)
    return stored, [*looks, f"{{}}[{parts}...]"]


def _offset(dice, own):
    before = [dice.randint(0, 3) for _ in own]
    behind = [dice.randint(0, 2) for _ in own]
    parts = "".join(f"{k}:{k + n}, " for k, n in zip(before, own, strict=True))
    stored = [a + n + b for a, n, b in zip(before, own, behind, strict=True)]
    return stored, [f"{{}}[{parts}...]"]


_LAID_OUT = {
    "contiguous": lambda _dice, own: (own, []),
    "transposed": _transposed,
    "gaps": _gaps,
    "backward": lambda dice, own: _stepped(dice, own, [1, -1, -1, -2]),
    "repeated": _repeated,
    "new axis": _new_axis,
    "offset": _offset,
    "no axes": lambda _dice, _own: ([], []),
}
LAYOUTS = tuple(_LAID_OUT)
# Layouts of an array of a given shape, and of a written one.
SHAPED = tuple(name for name in LAYOUTS if name != "no axes")
WRITABLE = tuple(name for name in SHAPED if name != "repeated")
