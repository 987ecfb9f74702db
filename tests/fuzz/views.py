"""Views of a value: indices, shapes and axes, as text that NumPy does too."""

import math
import random

import numpy as np

# The views by their names in the table of steps.
VIEWS = {}


def _named(draw):
    VIEWS[draw.__name__] = draw
    return draw


def draw_view(dice: random.Random, name: str, x: np.ndarray, most: int) -> str:
    """Draw a text of {0} with at most `most` axes."""
    return VIEWS[name](dice, x, most)


def _bound(dice: random.Random, n: int) -> str:
    if dice.random() < 0.35:
        return ""
    if dice.random() < 0.05:
        return str(dice.choice([-(10**20), 10**20, -(2**63), 2**63 - 1]))
    return str(dice.randint(-n - 1, n + 1))


def draw_slice(dice: random.Random, n: int) -> str:
    """Draw a slice of an axis of this size; sometimes all of it."""
    if dice.random() < 0.2:
        return ":"
    step = dice.choice(["", "", "", ":", ":1", ":2", ":-1", ":-2", ":3"])
    return f"{_bound(dice, n)}:{_bound(dice, n)}{step}"


@_named
def index(dice, x, most):
    named = dice.randint(0, x.ndim)
    rest = dice.randint(0, named)  # the axes before an Ellipsis
    sizes = [*x.shape[:rest], *x.shape[x.ndim - named + rest :]]
    parts = []
    for n in sizes:
        if n and dice.random() < 0.25:
            parts.append(str(dice.randint(-n, n - 1)))
        else:
            parts.append(draw_slice(dice, n))
    # After all named axes it may be omitted.
    if not parts or rest < named or dice.random() < 0.3:
        parts.insert(rest, "...")
    new = dice.choice([0, 0, 0, 1, 2])
    for _ in range(min(new, most - x.ndim)):
        parts.insert(dice.randint(0, len(parts)), "None")
    return f"{{0}}[{', '.join(parts)}]"


@_named
def flip(dice, x, _most):
    if dice.random() < 0.3 or not x.ndim:
        return "np.flip({0})"
    count = dice.randint(1, x.ndim)
    axes = tuple(dice.sample(range(x.ndim), count))
    axes = tuple(axis - x.ndim * dice.randint(0, 1) for axis in axes)
    return f"np.flip({{0}}, {axes[0] if count == 1 else axes})"


@_named
def broadcast_to(dice, x, most):
    shape = [n if n != 1 else dice.choice([0, 1, 2, 3]) for n in x.shape]
    more = dice.randint(0, min(2, most - x.ndim))
    shape = [*(dice.choice([0, 1, 2, 3]) for _ in range(more)), *shape]
    return f"np.broadcast_to({{0}}, {tuple(shape)})"


@_named
def reshape(dice, x, most):
    if dice.random() < 0.3:
        return dice.choice(["{0}.ravel()", "np.reshape({0}, -1)"])
    shape: list[int] = []
    left = x.size
    for _ in range(dice.randint(0, most - 1)):
        shape.append(_divisor(dice, left))
        left //= max(shape[-1], 1)
    if left != 1 or math.prod(shape) != x.size:
        shape.append(left)
    if shape and x.size and dice.random() < 0.4:
        shape[dice.randrange(len(shape))] = -1
    return f"{{0}}.reshape({tuple(shape)})"


def _divisor(dice: random.Random, n: int) -> int:
    if n == 0:
        return dice.choice([0, 1, 2])
    return dice.choice([k for k in range(1, min(n, 64) + 1) if n % k == 0])


@_named
def squeeze(dice, x, _most):
    singles = [axis for axis, n in enumerate(x.shape) if n == 1]
    if not singles:
        return "{0}[...]"
    axes = tuple(dice.sample(singles, dice.randint(1, len(singles))))
    return f"np.squeeze({{0}}, {axes[0] if len(axes) == 1 else axes})"


@_named
def split(dice, x, _most):
    if not x.ndim:
        return "{0}[...]"
    axis = dice.randrange(x.ndim)
    n = x.shape[axis]
    if dice.random() < 0.5:
        count = _divisor(dice, n) or 1
        sections: object = count
    else:
        sections = [dice.randint(-n, n) for _ in range(dice.randint(0, 3))]
        count = len(sections) + 1
    axis -= x.ndim * dice.randint(0, 1)
    part = dice.randrange(count)
    return f"np.split({{0}}, {sections}, {axis})[{part}]"


# ---- Joined values: a step takes two.


def draw_join(dice: random.Random, name: str, x: np.ndarray) -> str:
    """A text of {0} and {1}, which have x's shape and dtype."""
    if name == "stack":
        axis = dice.randint(-x.ndim - 1, x.ndim)
        return f"np.stack([{{0}}, {{1}}, {{0}}][:{dice.randint(1, 3)}], {axis})"
    axis = dice.randrange(x.ndim) if x.ndim else 0
    if name == "roll":
        axes = tuple(dice.sample(range(x.ndim), min(x.ndim, 2)))
        shifts = tuple(dice.randint(-5, 5) for _ in axes)
        if len(axes) == 2 and dice.random() < 0.3:
            return f"np.roll({{0}}, {shifts}, {axes})"
        return f"np.roll({{0}}, {dice.randint(-5, 5)}, {axis})"
    part = f"[{':, ' * axis}{draw_slice(dice, x.shape[axis] if x.ndim else 0)}]"
    parts = dice.choice(
        [
            f"{{0}}, {{1}}{part}",
            f"{{0}}{part}, {{1}}, {{0}}",
            f"*np.split({{0}}, [1], {axis})[::-1]",
            f"*np.split({{0}}, {_divisor(dice, x.shape[axis] if x.ndim else 1) or 1}, {axis})",
        ]
    )
    return f"np.concatenate([{parts}], {axis - x.ndim * dice.randint(0, 1)})"
