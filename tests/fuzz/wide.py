"""Programs of more arrays than a task has arguments, which gpuos cuts."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from arrays import LAYOUTS, Array, draw_array
from steps import DTYPES, Choice, Number, Step, numbers_for, step_of
from vocabulary import functions

WIDE = 0.04  # of the programs
MOST_STEPS = 24
_TWO = [f for f in functions() if f.inputs == 2]


def draw_inputs(dice: random.Random, shape: tuple[int, ...]) -> list[Array]:
    """Draw as many inputs as a program can take in addition to its own."""
    dtypes = dice.sample(DTYPES, 2)
    return [
        draw_array(dice, shape, dice.choice(dtypes), dice.choice(LAYOUTS))
        for _ in range(dice.randint(24, 56))
    ]


def draw_steps(
    dice: random.Random, values: list[np.ndarray], inputs: int
) -> Iterator[Step]:
    """Yield steps that each use the previous result and other inputs. Before
    the next one, the caller adds the last value to `values`, if NumPy has it.
    """
    left = list(range(inputs))
    for _ in range(MOST_STEPS):
        if not left:
            return
        last = len(values) - 1
        if dice.random() < 0.5 and len(left) > 1:
            operands: tuple[Any, ...] = (left.pop(), last, left.pop())
            yield Step("np.where({0}, {1}, {2})", operands, Choice(), "where")
            continue
        other: Any = left.pop()
        if dice.random() < 0.2:
            other = Number(dice.choice(numbers_for(values[last].dtype)))
        yield step_of(dice.choice(_TWO), (last, other))
