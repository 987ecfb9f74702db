"""Random programs on random arrays, each step compared with NumPy.

A program returns all of its values, and each step is checked with the program's
own previous results. Errors therefore do not grow, and ulps mean what the pages
say. The same steps are also run with only the last value as the result, in
memory of any layout, and compiled. Both must give the same bits.
"""

import contextlib
import functools
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import wide
from arrays import (
    LAYOUTS,
    SHAPED,
    WRITABLE,
    Array,
    draw_array,
    draw_shape,
    lay_out,
)
from expected import Refused, difference, quietly
from expressions import expression_of, last_place
from short_floats import SHORT, kind, rounded
from steps import DTYPES, JOINS, NAMES, OF_AXES, REDUCING, Move, Step, draw_step

import gpuos
from gpuos import functions as F

MOST_STEPS = 8
MOST_ELEMENTS = 100_000
MOST_AXES = 5
MOST_EARLIER = 2
ARRAYS = 0.25  # of the programs run as operators of arrays, too


class Invalid(Exception):
    """NumPy refuses a step, or it would be too large."""


@dataclass(frozen=True)
class Case:
    """A program and the arrays that it is called with."""

    inputs: tuple[Array, ...]
    steps: tuple[Step, ...]
    out: Array  # the layout of the last value, written into given memory
    is_compiled: bool = False
    earlier: tuple[tuple[Array, ...], ...] = ()  # inputs of earlier calls

    def source(self, *, is_whole: bool) -> str:
        names = [f"x{k}" for k in range(len(self.inputs))]
        lines = [f"def program({', '.join(names)}):"]
        for step in self.steps:
            name = f"y{len(names)}"
            lines.append(f"    {name} = {step.line(names)}")
            names.append(name)
        made = ", ".join(names[len(self.inputs) :]) if is_whole else names[-1]
        return "\n".join([*lines, f"    return {made}"])

    def function(self, *, is_whole: bool) -> Any:
        names: dict[str, Any] = {"np": np, "F": F}
        exec(self.source(is_whole=is_whole), names)  # noqa: S102 (our own)
        return names["program"]

    def text(self, backend: str) -> str:
        """Python that can be pasted."""
        calls = [*self.earlier, self.inputs]
        unlike = list(dict.fromkeys(x for inputs in calls for x in inputs))
        arrays = "".join(f"    {x.text(backend)},\n" for x in unlike)
        lines = []
        for inputs in calls:
            given = ", ".join(f"arrays[{unlike.index(x)}]" for x in inputs)
            lines.append(f"made = program({given})\n")
        needs = "import ml_dtypes\n" * any(x.dtype in SHORT for x in unlike)
        return (
            f"{needs}import numpy as np\n\nimport gpuos\n"
            "from gpuos import functions as F\n\nnan, inf = np.nan, np.inf\n\n\n"
            f"{self.source(is_whole=True)}\n\n\n"
            f"rt = gpuos.Runtime({backend!r})\narrays = [\n{arrays}]\n"
            f"program = rt.fuse(program)\n{''.join(lines)}"
            "for y in made if isinstance(made, tuple) else (made,):\n"
            "    print(y.numpy())\n"
        )


# A name in the table of steps, the dtype and the layout of its first operand.
Cell = tuple[str, np.dtype, str]


def cells() -> list[Cell]:
    """Return all that there are: rows need an axis."""
    return [
        (name, dtype, layout)
        for name, dtypes in NAMES.items()
        for dtype in dtypes
        for layout in LAYOUTS
        if not (name in OF_AXES and layout == "no axes")
    ]


def draw(dice: random.Random, cell: Cell) -> Case:
    """A case whose steps NumPy does; the first one is of this cell."""
    name, dtype, layout = cell
    while True:
        shape = draw_shape(dice, MOST_AXES)
        first = draw_array(dice, shape, dtype, layout)
        inputs = (first, *_draw_inputs(dice, shape, first))
        is_wide = dice.random() < wide.WIDE
        if is_wide:
            inputs += tuple(wide.draw_inputs(dice, shape))
        values = [x.value() for x in inputs]
        steps = _draw_steps(dice, values, name)
        if steps:
            break
    if is_wide:
        for step in wide.draw_steps(dice, values, len(inputs)):
            with contextlib.suppress(Invalid):
                values.append(_value(step, values))
                steps.append(step)
    case = Case(inputs, tuple(steps), inputs[0])
    last = values_of(case)[-1]
    layout = dice.choice(WRITABLE)
    return replace(case, out=lay_out(dice, last.shape, last.dtype, layout))


def _draw_inputs(
    dice: random.Random, shape: tuple[int, ...], first: Array
) -> Iterator[Array]:
    """Yield the arrays after the first; some of them are the very same array."""
    drawn = [first]
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3])):
        if dice.random() < 0.2:
            yield dice.choice(drawn)
            continue
        layout = dice.choice(LAYOUTS)
        drawn.append(draw_array(dice, shape, dice.choice(DTYPES), layout))
        yield drawn[-1]


def _draw_steps(
    dice: random.Random, values: list[np.ndarray], first: str
) -> list[Step]:
    """Draw steps that begin with the one of this name, or none."""
    steps: list[Step] = []
    for _ in range(dice.randint(1, 2 * MOST_STEPS)):
        if len(steps) == MOST_STEPS:
            break
        step = draw_step(dice, values, None if steps else first)
        try:
            values.append(_value(step, values))
        except Invalid:
            if not steps:
                break
            continue
        steps.append(step)
    return steps


def _value(step: Step, values: list[np.ndarray]) -> np.ndarray:
    try:
        shapes = [values[k].shape for k in step.operands if isinstance(k, int)]
        if math.prod(np.broadcast_shapes(*shapes)) > MOST_ELEMENTS:
            raise Invalid("too large")
        made = quietly(step.expect, values)
    except (Refused, ValueError, IndexError, OverflowError) as error:
        raise Invalid(str(error)) from error
    if made.value.ndim > MOST_AXES + 1:
        raise Invalid("too many axes")
    return quietly(rounded, made.value, made.dtype)


@functools.lru_cache(maxsize=8)
def values_of(case: Case) -> list[np.ndarray]:
    """Return the inputs and NumPy's results. Raises Invalid."""
    values = [x.value() for x in case.inputs]
    for step in case.steps:
        values.append(_value(step, values))
    return values


def with_out(case: Case, last: np.ndarray, layout: str = "contiguous") -> Case:
    """Return the same case with memory for its last value."""
    dice = random.Random(0)
    return replace(case, out=lay_out(dice, last.shape, last.dtype, layout))


def called_again(dice: random.Random, case: Case) -> Case:
    """Draw a second call of the program with other layouts and numbers.

    At times the arrays have another size.
    """
    sizes = {1: 1}
    if dice.random() < 0.3:
        sizes |= {2: dice.randint(2, 9), 3: dice.choice([2, 3, 40])}
    try:
        return _called_again(dice, case, sizes)
    except Invalid:
        return _called_again(dice, case, {})


def _called_again(
    dice: random.Random, case: Case, sizes: dict[int, int]
) -> Case:
    others: dict[Array, Array] = {}
    for x in dict.fromkeys(case.inputs):
        shape = [sizes.get(n, n) for n in x.value().shape]
        if math.prod(shape) > MOST_ELEMENTS:
            raise Invalid("too large")
        layout = dice.choice(SHAPED) if shape else "no axes"
        others[x] = lay_out(dice, shape, x.dtype, layout)
    inputs = tuple(others[x] for x in case.inputs)
    earlier = (*case.earlier, case.inputs)[-MOST_EARLIER:]
    case = replace(case, inputs=inputs, earlier=earlier)
    last = values_of(case)[-1]
    layout = dice.choice(WRITABLE)
    return replace(case, out=lay_out(dice, last.shape, last.dtype, layout))


# ---- running one


def finding(rt: gpuos.Runtime, case: Case) -> str | None:
    """Return the error of a case, or None."""
    try:
        return _finding(rt, case)
    except gpuos.InvalidArgument as error:
        text = str(error).splitlines()[0]
        is_promised = any(refusal in text for refusal in REFUSALS)
        return None if is_promised else f"refused: {text}"
    except Exception as error:  # noqa: BLE001 (each error is a finding)
        return f"{type(error).__name__}: {error}"


# Refusals that docs/programs.md allows.
REFUSALS = (
    "got complex",  # reductions
    "reshape: expected arrays that are not broadcast",
    "reshape: expected arrays whose elements are stored in order",
    "reshape: expected no value of a reduction",
    "along which values are joined",  # an argmax
    "reshape: expected no joined value",
    "along the joined axis",
    "inputs and views of them",  # too many
)


def _finding(rt: gpuos.Runtime, case: Case) -> str | None:
    inputs = [x.value() for x in case.inputs]
    arrays = _arrays(rt, case.inputs)
    fused = _fused(rt, case, is_whole=True)
    if case.is_compiled:
        fused.compile(*arrays)
    made = fused(*arrays)
    made = [y.numpy() for y in (made if isinstance(made, tuple) else (made,))]
    values: list[Any] = [*inputs]
    for step, got in zip(case.steps, made, strict=True):
        wrong = difference(got, quietly(step.expect, values))
        if wrong:
            names = [f"x{k}" for k in range(len(inputs))]
            names += [f"y{k}" for k in range(len(inputs), len(values) + 1)]
            return f"{names[len(values)]} = {step.line(names)}: {wrong}"
        values.append(got)
    return (
        _finding_of_last(rt, case, arrays, made[-1])
        or _finding_in_place(rt, case, made[-1])
        or _finding_of_expression(rt, case, arrays, made)
        or _finding_of_arrays(rt, case, made)
    )


def _finding_of_last(
    rt: gpuos.Runtime, case: Case, arrays: list[Any], wanted: np.ndarray
) -> str | None:
    """Alone and into given memory it has the same bits, and nothing else is."""
    memory = case.out.memory().copy()
    expected = memory.copy()
    shown = case.out.of(expected)
    shown[...] = wanted
    written = rt.array(memory)
    fused = _fused(rt, case, is_whole=False)
    fused(*arrays, out=case.out.of(written))
    if _bits(written.numpy()) == _bits(expected):
        return None
    got = case.out.of(written.numpy())
    return f"alone, in memory that is {case.out.layout}: {got}, not {shown}"


def _finding_in_place(
    rt: gpuos.Runtime, case: Case, wanted: np.ndarray
) -> str | None:
    """Written over an input of its shape and dtype it has the same bits."""
    for x, shown in ((x, x.value()) for x in case.inputs):
        if x.layout == "repeated" or shown.shape != wanted.shape:
            continue
        if shown.dtype != wanted.dtype:
            continue
        over = x.of(rt.array(x.memory()))
        given = [over if y == x else _on(rt, y) for y in case.inputs]
        try:
            rt.fuse(case.function(is_whole=False))(*given, out=over)
        except gpuos.InvalidArgument as error:
            if "overlaps input" in str(error):
                continue  # read in another order than it is written
            raise
        if _bits(over.numpy()) != _bits(wanted):
            return f"over x{case.inputs.index(x)}: {over.numpy()}, not {wanted}"
    return None


def _finding_of_expression(
    rt: gpuos.Runtime, case: Case, arrays: list[Any], made: list[np.ndarray]
) -> str | None:
    """The newest value that an expression can have, as one."""
    place = last_place(case.steps, len(arrays))
    if place is None:
        return None
    text, order = expression_of(case.steps, len(arrays), place)
    wanted = made[place - len(arrays)]
    dice = random.Random(text)
    given = {f"x{k}": arrays[k] for k in order}
    names = dice.sample([*given], len(given))
    is_named = dice.random() < 0.5
    op = rt.define("drawn", text, inputs=names if is_named else None)
    names = names if is_named else [*given]
    by_place = dice.randint(0, len(names))
    rest = dice.sample(names[by_place:], len(names) - by_place)
    try:
        out = rt.empty(wanted.shape, wanted.dtype)
        first = (given[name] for name in names[:by_place])
        rt.submit(op, *first, out=out, **{name: given[name] for name in rest})
        if _bits(out.numpy()) != _bits(wanted):
            how = f"inputs={names}, by name {rest}"
            return f"define('{text}'), {how}: {out.numpy()}, not {wanted}"
    finally:
        rt.undefine(op)
    return None


def _finding_of_arrays(
    rt: gpuos.Runtime, case: Case, wanted: list[np.ndarray]
) -> str | None:
    """Call the function with arrays, whose operations are collected.

    They read the values at the time when they were written.
    """
    source = case.source(is_whole=True)
    dice = random.Random(source)
    if case.is_compiled or dice.random() > ARRAYS or _has_parts(case):
        return None
    memory = {
        x: rt.array(x.value() if x.layout == "repeated" else x.memory())
        for x in case.inputs
    }
    arrays = {
        x: y if x.layout == "repeated" else x.of(y) for x, y in memory.items()
    }
    is_whole = dice.random() < 0.5
    made = case.function(is_whole=is_whole)(*(arrays[x] for x in case.inputs))
    made = made if isinstance(made, tuple) else (made,)
    is_view = (isinstance(s.what, Move) or s.name in VIEWS for s in case.steps)
    if not any(is_view):
        for written in memory.values():  # of which no result is a view
            dice.choice(WRITERS)(rt, written)
    for k, (array, want) in enumerate(
        zip(made, wanted[-len(made) :], strict=True)
    ):
        got = array.numpy()
        is_same = (got.dtype, got.shape) == (want.dtype, want.shape)
        if not is_same or _bits(got) != _bits(want):
            name = f"y{len(case.inputs) + len(wanted) - len(made) + k}"
            return f"{name} of arrays: {got!r}, not {want!r}"
    return None


# Functions that return a view of an array, except those that move its axes.
VIEWS = ("real", "imag", "parts")


def _has_parts(case: Case) -> bool:
    """Return whether a program may reduce joined arrays.

    Its parts are then separate rows, but joined arrays have one row
    (docs/numbers.md).
    """
    names = {step.name for step in case.steps}
    return bool(names & JOINS) and bool(names & REDUCING)


# Functions that write all of an array.
WRITERS = (
    lambda _, x: x.fill(0),
    lambda _, x: x.copy_from(np.zeros(x.shape, x.dtype)),
    lambda rt, x: (
        rt.fuse(np.logical_xor)(x, x, out=x)
        if x.dtype == bool
        else rt.fuse(lambda y: (y * 0).astype(y.dtype))(x, out=x)
    ),
    lambda _, x: x.__setitem__(..., x[..., ::-1] if x.ndim else x),
    lambda _, x: x.__setitem__(slice(None) if x.ndim else (), 1),
    lambda _rt, _x: None,
)


def _bits(array: np.ndarray) -> bytes:
    """Each NaN is NaN."""
    if kind(array.dtype) in "fc":
        array = array.copy()
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def _fused(rt: gpuos.Runtime, case: Case, *, is_whole: bool) -> Any:
    """Return the program after its earlier calls, which may leave state."""
    fused = rt.fuse(case.function(is_whole=is_whole))
    for inputs in case.earlier:
        fused(*_arrays(rt, inputs))
    return fused


def _arrays(rt: gpuos.Runtime, inputs: tuple[Array, ...]) -> list[Any]:
    made = {x: _on(rt, x) for x in dict.fromkeys(inputs)}
    return [made[x] for x in inputs]


def _on(rt: gpuos.Runtime, x: Array) -> Any:
    if rt.backend == "host":
        return x.value()
    if x.layout != "repeated":
        return x.of(rt.array(x.memory()))
    if x.dtype in SHORT:  # which no array interface has
        return rt.array(x.value())
    return Repeated(rt.array(x.memory()), x)


class Repeated:
    """Memory of a device in which elements repeat; rt.array() has no such."""

    def __init__(self, memory: gpuos.Array, x: Array) -> None:
        shown = x.value()
        interface = dict(memory.__cuda_array_interface__)
        interface |= {"shape": shown.shape, "strides": shown.strides}
        self.__cuda_array_interface__ = interface
        self._memory = memory


# ---- making a finding smaller


def shrink(rt: gpuos.Runtime, case: Case, most: int = 500) -> Case:
    """The smallest case found that is wrong still."""
    for _ in range(most):
        for smaller in _smaller(case):
            if _is_valid(smaller) and finding(rt, smaller):
                case = smaller
                break
        else:
            return case
    return case


def _is_valid(case: Case) -> bool:
    try:
        last = values_of(case)[-1]
    except Invalid:
        return False
    out = case.out.value()
    return (last.shape, last.dtype) == (out.shape, out.dtype)


def _smaller(case: Case) -> Iterator[Case]:
    for k in range(len(case.earlier)):
        yield replace(case, earlier=case.earlier[:k] + case.earlier[k + 1 :])
    for k in reversed(range(len(case.steps))):
        yield from _with_out(_without_step(case, k))
    for k in range(len(case.inputs)):
        if len(case.inputs) > 1:
            yield from _with_out(_without_input(case, k))
    for k, x in enumerate(case.inputs):
        value = x.value()
        shapes = []
        for axis, n in enumerate(value.shape):
            if n > 1:
                less = (n // 2, n - 1)
                shapes += [
                    (*value.shape[:axis], m, *value.shape[axis + 1 :])
                    for m in less
                ]
        tries = [
            lay_out(random.Random(0), s, x.dtype, "contiguous") for s in shapes
        ]
        if x.layout != "contiguous" and value.ndim:
            tries.append(
                lay_out(random.Random(0), value.shape, x.dtype, "contiguous")
            )
        for y in tries:
            same = replace(y, seed=x.seed)
            inputs = (*case.inputs[:k], same, *case.inputs[k + 1 :])
            yield from _with_out(replace(case, inputs=inputs))
    if case.out.layout != "contiguous":
        yield from _with_out(case)


def _with_out(case: Case | None) -> Iterator[Case]:
    """With an out of the last value's shape: as it was, else contiguous."""
    if case is None or not case.steps:
        return
    try:
        last = values_of(case)[-1]
    except Invalid:
        return
    plain = with_out(case, last)
    if case.out != plain.out:
        yield plain
    yield with_out(case, last, case.out.layout)


def _without_step(case: Case, gone: int) -> Case | None:
    place = len(case.inputs) + gone
    instead = case.steps[gone].operands[0]
    if not isinstance(instead, int):
        return None
    return _without(case, place, instead, gone=gone)


def _without_input(case: Case, gone: int) -> Case | None:
    instead = 0 if gone else 1
    made = _without(case, gone, instead, gone=None)

    def kept(inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return inputs[:gone] + inputs[gone + 1 :]

    earlier = tuple(kept(inputs) for inputs in case.earlier)
    return replace(made, inputs=kept(case.inputs), earlier=earlier)


def _without(case: Case, place: int, instead: int, gone: int | None) -> Case:
    def moved(k: Any) -> Any:
        if not isinstance(k, int):
            return k
        k = instead if k == place else k
        return k - (k > place)

    steps = [
        replace(step, operands=tuple(moved(k) for k in step.operands))
        for index, step in enumerate(case.steps)
        if index != gone
    ]
    return replace(case, steps=tuple(steps))


# ---- the table of drawn programs


def count(table: Counter, case: Case) -> None:
    """Add to a table of step, dtype and layout."""
    table["cases"] += 1
    dtypes = [x.dtype for x in case.inputs]
    layouts = [x.layout for x in case.inputs]
    for step, value in zip(
        case.steps, values_of(case)[len(dtypes) :], strict=True
    ):
        for k in step.operands:
            if isinstance(k, int):
                table[step.name, dtypes[k].name, layouts[k]] += 1
        dtypes.append(value.dtype)
        layouts.append("computed")
