"""What a random program is made of: one class for each kind of step.

A step has the text that programs and NumPy read alike, and what it should give
for operands that are at hand.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import expected
import numpy as np
from activations import ELSEWHERE, OF_ONE, OF_ROWS
from expected import Expected, Refused
from short_floats import kind
from vocabulary import Function, dtypes, functions

import gpuos

DTYPES = dtypes()
FUNCTIONS = functions()
REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmax",
    "argmin",
    "ptp",
    "count_nonzero",
    "nansum",
    "nanmax",
    "nanmin",
    "nanmean",
    "nanstd",
    "nanvar",
]
MOST_AXES = 6


@dataclass(frozen=True)
class Step:
    """`text` with {0}, {1} for operands; a number stands for itself."""

    text: str
    operands: tuple[Any, ...]  # an int is the place of a value
    what: Any  # of its kind
    name: str  # in the table of what was drawn

    def expect(self, values: list[Any]) -> Expected:
        given = [
            values[k] if isinstance(k, int) else k.value for k in self.operands
        ]
        return self.what.expect(given)

    def line(self, names: list[str]) -> str:
        given = [
            names[k] if isinstance(k, int) else repr(k.value)
            for k in self.operands
        ]
        return self.text.format(*given)


@dataclass(frozen=True, eq=False)  # 2 and 2.0 are equal, and not the same
class Number:
    value: Any


@dataclass(frozen=True)
class Elementwise:
    function: Function

    def expect(self, operands: list[Any]) -> Expected:
        return expected.of_function(self.function, operands)


@dataclass(frozen=True)
class Choice:
    def expect(self, operands: list[Any]) -> Expected:
        return expected.of_choice(*operands)


@dataclass(frozen=True)
class Cast:
    dtype: np.dtype

    def expect(self, operands: list[Any]) -> Expected:
        return expected.of_cast(operands[0], self.dtype)


@dataclass(frozen=True)
class Reduction:
    name: str
    axis: Any
    keepdims: bool

    def expect(self, operands: list[Any]) -> Expected:
        return expected.of_reduction(
            self.name, operands[0], self.axis, self.keepdims
        )


@dataclass(frozen=True)
class Move:
    """Of axes: NumPy does the very same text."""

    text: str

    def expect(self, operands: list[Any]) -> Expected:
        made = eval(self.text.format("x"), {"x": operands[0], "np": np})
        return Expected(made, made.dtype)


@dataclass(frozen=True)
class Activation:
    """A function of gpuos.functions that is made of others."""

    name: str
    axis: tuple[int, ...] = ()

    def expect(self, operands: list[Any]) -> Expected:
        table: Any = OF_ROWS if self.axis else OF_ONE
        return expected.of_activation(table[self.name], operands[0], *self.axis)


def draw_step(dice: random.Random, values: list[np.ndarray]) -> Step:
    """A step on values that there are; NumPy may refuse it."""
    return dice.choices(
        [_function, _choice, _cast, _reduction, _move, _activation],
        [12, 1, 3, 4, 3, 2],
    )[0](dice, values)


def _place(dice: random.Random, values: list[np.ndarray]) -> int:
    """The newest ones more often."""
    return max(dice.randrange(len(values)), dice.randrange(len(values)))


def _function(dice, values):
    function = dice.choice(FUNCTIONS)
    first = _place(dice, values)
    operands: list[Any] = [first]
    if function.inputs == 2:
        second: Any = _place(dice, values)
        if dice.random() < 0.3:
            second = Number(dice.choice(numbers_for(values[first].dtype)))
        operands.append(second)
        if dice.random() < 0.2:
            operands.reverse()
    return step_of(function, operands)


def step_of(function: Function, operands: Sequence[Any]) -> Step:
    """The call of a function by the name that programs have for it."""
    marks = ", ".join(f"{{{k}}}" for k in range(function.inputs))
    text = f"F.{function.name}({marks})"
    if hasattr(np, function.name):
        text = f"np.{function.name}({marks})"
    elif function.name == "gelu_tanh":
        text = "F.gelu({0}, approximate='tanh')"
    return Step(text, tuple(operands), Elementwise(function), function.name)


def numbers_for(dtype: np.dtype) -> list[Any]:
    """Numbers of Python that every value of that dtype may meet."""
    if dtype.kind in "iu":
        return [0, 1, 2, 3, 7]
    return [0, 1, 2, -1.0, 0.5, 2.0, -3.25, 1e-3]


def _choice(dice, values):
    operands = tuple(_place(dice, values) for _ in range(3))
    return Step("np.where({0}, {1}, {2})", operands, Choice(), "where")


def _cast(dice, values):
    dtype = dice.choice(DTYPES)
    operands = (_place(dice, values),)
    text = f"{{0}}.astype({dtype.name!r})"
    return Step(text, operands, Cast(dtype), "astype")


def _reduction(dice, values):
    name = dice.choice(REDUCTIONS)
    place = _place(dice, values)
    rank = values[place].ndim
    axes = dice.sample(range(-rank, rank), dice.randint(0, rank))
    axes = list({axis % rank: axis for axis in axes}.values())
    axis: Any = tuple(axes)
    if name.startswith("arg") or dice.random() < 0.5:
        axis = axes[0] if axes else None
    elif not axes:
        axis = None
    keepdims = dice.random() < 0.5
    text = f"np.{name}({{0}}, axis={axis}, keepdims={keepdims})"
    return Step(text, (place,), Reduction(name, axis, keepdims), name)


def _move(dice, values):
    place = _place(dice, values)
    rank = values[place].ndim
    order = list(range(rank))
    dice.shuffle(order)
    texts = ["{0}.T", "{0}[...]", f"np.transpose({{0}}, {tuple(order)})"]
    if rank < MOST_AXES:
        at = dice.randint(-rank - 1, rank)
        where = dice.randint(0, rank)
        texts += [
            f"np.expand_dims({{0}}, {at})",
            "{0}[" + ":, " * where + "None]",
            "{0}[..., None]",
            "{0}[None, ..., :]" if rank else "{0}[None]",
        ]
    if rank > 1:
        one, other = dice.sample(range(-rank, rank), 2)
        texts += [
            f"np.swapaxes({{0}}, {one}, {other})",
            f"np.moveaxis({{0}}, {one}, {other})",
            "np.matrix_transpose({0})",
        ]
    text = dice.choice(texts)
    return Step(text, (place,), Move(text), "axes")


def _activation(dice, values):
    name = dice.choice([*OF_ONE, *OF_ROWS])
    place = _place(dice, values)
    if name in OF_ONE:
        return Step(f"F.{name}({{0}})", (place,), Activation(name), name)
    rank = values[place].ndim
    axis = dice.randint(-rank, rank - 1) if rank else -1
    text = f"F.{name}({{0}}, axis={axis})"
    return Step(text, (place,), Activation(name, (axis,)), name)


def _names() -> dict[str, list[np.dtype]]:
    """Each name in the table, and the dtypes that NumPy has it for."""
    found = {}
    for function in FUNCTIONS:
        found[function.name] = [
            dtype for dtype in DTYPES if _is_defined(function, dtype)
        ]
    for name in ("where", "astype", "axes", *REDUCTIONS):
        found[name] = DTYPES
    for name in (*OF_ONE, *OF_ROWS):
        found[name] = [dtype for dtype in DTYPES if kind(dtype) == "f"]
    return found


def _is_defined(function: Function, dtype: np.dtype) -> bool:
    one = np.ones(1, dtype)
    try:
        expected.of_function(function, [one] * function.inputs)
    except Refused:
        return False
    return True


NAMES = _names()
UNKNOWN = set(gpuos.functions.__all__) - {*OF_ONE, *OF_ROWS, *ELSEWHERE}
if UNKNOWN:
    raise ValueError(f"activations.py: expected a line for each of {UNKNOWN}")
