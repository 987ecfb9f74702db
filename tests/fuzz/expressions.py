"""A value of a program as the text of an expression, which has the same bits."""

import re
from collections.abc import Sequence

from steps import Choice, Elementwise, Reduction, Step
from vocabulary import functions

MOST_TEXT = 2000
MOST_INPUTS = 16
# Functions that only programs have.
PROGRAMS_ONLY = ("nan",)
NOT_THERE = {
    f.name
    for f in functions()
    if not f.rule and not f.name.startswith("logical")
}
INPUT = re.compile(r"\bx(\d+)\b")


def expression_of(
    steps: Sequence[Step], inputs: int, place: int
) -> tuple[str, list[int]] | None:
    """Return the text and its inputs in order; None if it has none.

    Each value appears in the text as often as it is used.
    """
    texts: list[str | None] = [f"x{k}" for k in range(inputs)]
    for step in steps[: place - inputs + 1]:
        texts.append(_text(step, texts))
    text = texts[place]
    if text is None:
        return None
    order = list(dict.fromkeys(int(k) for k in INPUT.findall(text)))
    if not order or len(order) > MOST_INPUTS:
        return None
    return f"o = {text}", order


def _text(step: Step, texts: list[str | None]) -> str | None:
    given = []
    for operand in step.operands:
        text = (
            texts[operand] if isinstance(operand, int) else f"({operand.value})"
        )
        if text is None:
            return None
        given.append(text)
    made = _call(step, given)
    return made if made is None or len(made) < MOST_TEXT else None


def _call(step: Step, given: list[str]) -> str | None:
    what = step.what
    if isinstance(what, Elementwise) and what.function.name not in NOT_THERE:
        return f"{what.function.name}({', '.join(given)})"
    if isinstance(what, Choice):
        return f"where({', '.join(given)})"
    if isinstance(what, Reduction) and not what.name.startswith(PROGRAMS_ONLY):
        if "ddof" in what.how:
            return None
        how = "" if what.how["axis"] is None else f", axis={what.how['axis']}"
        if what.how["keepdims"]:
            how += ", keepdims=True"
        return f"{what.name}({given[0]}{how})"
    return None


def last_place(steps: Sequence[Step], inputs: int) -> int | None:
    """Return the newest value that an expression can have."""
    for place in reversed(range(inputs, inputs + len(steps))):
        if expression_of(steps, inputs, place):
            return place
    return None
