"""The steps of a random program: one class for each kind.

A step has a text that programs and NumPy both evaluate, and its expected result
for given operands.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import expected
import numpy as np
from activations import OF_ONE, OF_ROWS
from expected import Expected, Refused
from others import OTHERS, Other
from short_floats import kind
from views import VIEWS, draw_join, draw_view
from vocabulary import Function, dtypes, functions

import gpuos
from gpuos import numpy_names

DTYPES = dtypes()
FUNCTIONS = functions()
# of_reduction() does not say how exact the last two are.
REDUCTIONS = sorted(
    {*numpy_names.reductions()}
    - {"amax", "amin", "nanargmax", "nanargmin", "average", "nanprod"}
)
MOST_AXES = 6


@dataclass(frozen=True)
class Step:
    """`text` with {0}, {1} for operands; a number stands for itself."""

    text: str
    operands: tuple[Any, ...]  # an int is the place of a value
    what: Any  # of its kind
    name: str  # in the table of drawn steps

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


@dataclass(frozen=True, eq=False)  # a dict has no hash
class Reduction:
    name: str
    how: dict[str, Any]  # keywords

    def expect(self, operands: list[Any]) -> Expected:
        return expected.of_reduction(self.name, operands[0], self.how)


@dataclass(frozen=True)
class Move:
    """A step that moves axes and elements: NumPy evaluates the very same text."""

    text: str

    def expect(self, operands: list[Any]) -> Expected:
        text = self.text.format("x[0]", "x[-1]")
        made = eval(text, {"x": operands, "np": np})
        made = np.asarray(made)  # of one element NumPy makes a number
        return Expected(made, made.dtype)


@dataclass(frozen=True)
class Difference:
    """A difference of neighbours along an axis."""

    axis: int

    def expect(self, operands: list[Any]) -> Expected:
        x = operands[0]
        if x.ndim == 0:
            raise Refused("no axis")
        along = np.moveaxis(x, self.axis, -1)
        name = "not_equal" if x.dtype == bool else "subtract"
        function = _FUNCTION[name]
        made = expected.of_function(function, [along[..., 1:], along[..., :-1]])

        def back(part: Any) -> Any:
            whole = np.broadcast_to(part, made.value.shape)
            return np.moveaxis(whole, -1, self.axis)

        return made._replace(
            value=back(made.value),
            slack=back(made.slack),
            is_free=back(made.is_free),
        )


@dataclass(frozen=True)
class Activation:
    """A composite function of gpuos.functions."""

    name: str
    axis: tuple[int, ...] = ()

    def expect(self, operands: list[Any]) -> Expected:
        table: Any = OF_ROWS if self.axis else OF_ONE
        return expected.of_activation(table[self.name], operands[0], *self.axis)


def draw_step(
    dice: random.Random, values: list[np.ndarray], name: str | None = None
) -> Step:
    """Draw a step on existing values. NumPy may refuse it.

    A given name draws the step of this name on the first value.
    """
    if name is None:
        kind = dice.choices([*KINDS], KINDS.values())[0]
        name = dice.choice(_NAMES_OF[kind])
        return kind(dice, values, name, _place(dice, values))
    kind = next(kind for kind in KINDS if name in _NAMES_OF[kind])
    return kind(dice, values, name, 0)


def _place(dice: random.Random, values: list[np.ndarray]) -> int:
    """The newest ones more often."""
    return max(dice.randrange(len(values)), dice.randrange(len(values)))


def _function(dice, values, name, first):
    function = _FUNCTION[name]
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


def _choice(dice, values, _name, first):
    operands = (first, _place(dice, values), _place(dice, values))
    return Step("np.where({0}, {1}, {2})", operands, Choice(), "where")


def _cast(dice, _values, _name, place):
    dtype = dice.choice(DTYPES)
    text = f"{{0}}.astype({dtype.name!r})"
    return Step(text, (place,), Cast(dtype), "astype")


def _reduction(dice, values, name, place):
    rank = values[place].ndim
    axes = dice.sample(range(-rank, rank), dice.randint(0, rank))
    axes = list({axis % rank: axis for axis in axes}.values())
    axis: Any = tuple(axes)
    if name.startswith("arg") or dice.random() < 0.5:
        axis = axes[0] if axes else None
    elif not axes:
        axis = None
    how = {"axis": axis, "keepdims": dice.random() < 0.5}
    if name in expected.SPREADS and dice.random() < 0.3:
        how["ddof"] = dice.choice([1, 2])
    given = ", ".join(f"{key}={value}" for key, value in how.items())
    what = Reduction(name, how)
    return Step(f"np.{name}({{0}}, {given})", (place,), what, name)


def _move(dice, values, _name, place):
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


def _view(dice, values, name, place):
    text = draw_view(dice, name, values[place], MOST_AXES)
    return Step(text, (place,), Move(text), name)


def _join(dice, values, name, place):
    x = values[place]
    others = [
        k
        for k, y in enumerate(values)
        if (y.shape, y.dtype) == (x.shape, x.dtype)
    ]
    text = draw_join(dice, name, x)
    return Step(text, (place, dice.choice(others)), Move(text), name)


def _difference(dice, values, name, place):
    rank = values[place].ndim
    axis = dice.randint(-rank, rank - 1) if rank else -1
    text = f"np.diff({{0}}, axis={axis})"
    return Step(text, (place,), Difference(axis), name)


def _activation(dice, values, name, place):
    if name in OF_ONE:
        return Step(f"F.{name}({{0}})", (place,), Activation(name), name)
    rank = values[place].ndim
    axis = dice.randint(-rank, rank - 1) if rank else -1
    text = f"F.{name}({{0}}, axis={axis})"
    return Step(text, (place,), Activation(name, (axis,)), name)


def _other(dice, values, name, place):
    text, compute = OTHERS[name](dice, values[place])
    return Step(text, (place,), Other(compute), name)


JOINS = {"concatenate", "stack", "roll"}
REDUCING = {*REDUCTIONS, *OF_ROWS, "norm", "logsumexp"}
# Functions that need an axis.
OF_AXES = {*OF_ROWS, "diff", "concatenate", "roll"}

# Each draws the step of one of its names; and how often it is chosen.
KINDS = {
    _function: 12,
    _choice: 1,
    _cast: 3,
    _reduction: 4,
    _move: 3,
    _view: 6,
    _join: 1,
    _difference: 1,
    _activation: 2,
    _other: 3,
}
_FUNCTION = {function.name: function for function in FUNCTIONS}
_NAMES_OF = {
    _function: [*_FUNCTION],
    _choice: ["where"],
    _cast: ["astype"],
    _reduction: REDUCTIONS,
    _move: ["axes"],
    _view: [*VIEWS],
    _join: sorted(JOINS),
    _difference: ["diff"],
    _activation: [*OF_ONE, *OF_ROWS],
    _other: [*OTHERS],
}


def _names() -> dict[str, list[np.dtype]]:
    """Each name in the table, and the dtypes that NumPy has it for."""
    found = {}
    for function in FUNCTIONS:
        what = Elementwise(function)
        found[function.name] = [
            dtype
            for dtype in DTYPES
            if _is_defined(what, dtype, function.inputs)
        ]
    for name in REDUCTIONS:
        what = Reduction(name, {"axis": None, "keepdims": False})
        found[name] = [dtype for dtype in DTYPES if _is_defined(what, dtype, 1)]
    for name in ("where", "astype", "axes", "diff", *VIEWS, *_NAMES_OF[_join]):
        found[name] = DTYPES
    for name, draw in OTHERS.items():
        found[name] = []
        for dtype in DTYPES:
            _, compute = draw(random.Random(0), np.ones(1, dtype))
            if _is_defined(Other(compute), dtype, 1):
                found[name].append(dtype)
    for name in (*OF_ONE, *OF_ROWS):
        found[name] = [dtype for dtype in DTYPES if kind(dtype) == "f"]
    return found


def _is_defined(what: Any, dtype: np.dtype, operands: int) -> bool:
    try:
        what.expect([np.ones(1, dtype)] * operands)
    except Refused:
        return False
    return True


NAMES = _names()
UNKNOWN = {name for name in gpuos.functions.__all__ if not hasattr(np, name)}
UNKNOWN -= NAMES.keys()
if UNKNOWN:
    raise ValueError(f"activations.py: expected a line for each of {UNKNOWN}")
