"""NumPy's functions that are neither ufuncs nor plain reductions, and norms.

Each draws the text of a call on one value, and computes the expected result.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from expected import WIDE, Expected, Refused, quietly
from short_floats import SHORT, is_missing, kind, rounded, widened

Compute = Callable[[np.ndarray], Expected]


@dataclass(frozen=True)
class Other:
    """The result of a drawn text for its operand."""

    compute: Compute

    def expect(self, operands: list[Any]) -> Expected:
        try:
            return quietly(self.compute, operands[0])
        except (TypeError, ValueError, OverflowError) as error:
            raise Refused(str(error)) from None


def _exact(text: str, compute: Callable[[Any], Any]) -> tuple[str, Compute]:
    """Return a function that NumPy computes in its result's dtype."""

    def made(x: np.ndarray) -> Expected:
        value = np.asarray(compute(widened(x)))
        dtype = x.dtype if x.dtype in SHORT else value.dtype
        if is_missing(dtype):
            raise Refused("no such dtype")
        # No rule says which of two zeros a clip gives. Complex numbers are
        # combined by an addition.
        has_sign = dtype.kind != "c" and not text.startswith("np.clip")
        return Expected(rounded(value, dtype), dtype, has_sign=has_sign)

    return text, made


def _clip(dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    numbers = [0, 1, 5] if x.dtype.kind in "biu" else [-1, 0, 0.5, 2]
    low, high = sorted(dice.choices(numbers, k=2))
    low, high = dice.choice([(low, high), (None, high), (low, None)])
    if x.dtype.kind in "bc":
        return "np.clip({0}, 0, 1)", _refused
    return _exact(
        f"np.clip({{0}}, {low}, {high})", lambda x: np.clip(x, low, high)
    )


def _refused(x: np.ndarray) -> Expected:
    raise Refused(f"not of {x.dtype}")


def _round(dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    if x.dtype.kind in "bc":
        return "np.round({0})", _refused
    if kind(x.dtype) == "f" and dice.random() < 0.3:
        return _exact("np.fix({0})", np.trunc)
    name = dice.choice(["round", "around"])
    if x.dtype.kind != "f" or x.dtype in SHORT or dice.random() < 0.5:
        return _exact(f"np.{name}({{0}})", np.round)
    decimals = dice.choice([1, 2, -1])
    return _exact(
        f"np.{name}({{0}}, {decimals})", lambda x: np.round(x, decimals)
    )


def _split_number(
    name: str, dice: random.Random, x: np.ndarray
) -> tuple[str, Compute]:
    """Return a function with two results. One of them is used."""
    which = dice.randrange(2)
    text = f"np.{name}({{0}})[{which}]"
    if x.dtype.kind == "c":
        return text, _refused
    if name == "modf" or which == 0:
        return _exact(text, lambda x: getattr(np, name)(x)[which])

    def exponent(x: np.ndarray) -> Expected:
        return Expected(np.asarray(np.frexp(widened(x))[1]), np.dtype("i4"))

    return text, exponent


def _test(name: str, _: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    if x.dtype.kind == "c" and name.endswith("inf"):
        return f"np.{name}({{0}})", _refused

    def made(x: np.ndarray) -> Expected:
        value = np.asarray(getattr(np, name)(widened(x)))
        return Expected(value, value.dtype)

    return f"np.{name}({{0}})", made


def _like(name: str, dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    """Draw an array of the same shape with one number, perhaps of another size."""
    number = ""
    if name == "full_like":
        numbers = [", 3", ", -2.5", ", len({0})", ", {0}.size % 7"]
        if kind(x.dtype) == "f":  # what is too large for eight bits
            numbers += [", 500", ", -6e4"]
        number = dice.choice(numbers)
        if x.ndim == 0 or x.dtype.kind == "u":
            number = ", 3"
    text = f"np.{name}({{0}}{number})"

    def compute(x: np.ndarray) -> Any:
        return eval(text.format("x"), {"np": np, "x": x})

    return _exact(text, compute)


def _nan_to_num(dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    dtype = x.dtype
    if dtype in SHORT:  # whose largest number NumPy does not know
        text = "nan=0.5, posinf=2.0, neginf=-2.0"
    else:
        text = dice.choice(["", "nan=0.5", "posinf=2.0, neginf=-2.0"])
    how = eval(f"dict({text})")
    comma = ", " if text else ""
    return _exact(
        f"np.nan_to_num({{0}}{comma}{text})", lambda x: np.nan_to_num(x, **how)
    )


def _angle(dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    """Return angle(), which is 0 or pi for a real number."""
    deg = dice.random() < 0.3
    if x.dtype.kind not in "fc" or x.dtype in SHORT:
        return "np.angle({0})", _refused

    def made(x: np.ndarray) -> Expected:
        dtype = np.angle(x, deg=deg).dtype
        wide = x.astype(WIDE[x.dtype])
        many = 1 if dtype.itemsize == 2 else 6
        return Expected(np.asarray(np.angle(wide, deg=deg)), dtype, many)

    return f"np.angle({{0}}, deg={deg})", made


def _parts(dice: random.Random, _x: np.ndarray) -> tuple[str, Compute]:
    name = dice.choice(["real", "imag"])
    return _exact(f"np.{name}({{0}})", getattr(np, name))


def _axes(dice: random.Random, rank: int) -> Any:
    axes = sorted(dice.sample(range(rank), dice.randint(0, rank)))
    return tuple(axes) if axes else None


def _norm(dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    keepdims = dice.random() < 0.5
    order: Any = dice.choice(
        [None, 2, 1, 0, 3, 0.5, -1, float("inf"), float("-inf")]
    )
    if x.ndim and order is not None:
        axis = dice.randrange(-x.ndim, x.ndim)
    else:
        order, axis = None, None

    def made(x: np.ndarray) -> Expected:
        how = {"axis": axis, "keepdims": keepdims}
        given = widened(x)
        dtype = np.linalg.norm(given, order, **how).dtype
        wide = np.abs(given.astype(WIDE.get(x.dtype, np.longdouble)))
        value = np.asarray(_norm_of(wide, order, how))
        count = max(wide.size // max(value.size, 1), 1)
        eps = _eps(dtype)
        # A power of a power: each error counts as often as the exponents say.
        terms = (24 + math.log2(count + 1)) * (1 if order in (None, 2) else 6)
        slack = terms * eps * np.nan_to_num(value, posinf=0, neginf=0)
        is_whole = np.isfinite(wide).all(axis=axis, keepdims=keepdims)
        most = float(np.finfo("f4" if eps > 1e-10 else "f8").max) ** 0.25
        large = wide.max(axis=axis, keepdims=keepdims, initial=0) > most
        small = ((wide < 1 / most) & (wide > 0)).any(
            axis=axis, keepdims=keepdims
        )
        is_exact = order in (0, float("inf"), float("-inf"))
        free = False if is_exact else ~is_whole | large | small
        if x.dtype in SHORT:
            dtype = x.dtype
        return Expected(value, dtype, 1, slack, free)

    return (
        f"np.linalg.norm({{0}}, {order!r}, {axis}, {keepdims})".replace(
            "inf", "np.inf"
        ),
        made,
    )


def _norm_of(size: np.ndarray, order: Any, how: dict[str, Any]) -> Any:
    if order is None or order == 2:
        return np.sqrt((size * size).sum(**how))
    if order == 0:
        return (size != 0).sum(**how).astype(np.longdouble)
    if math.isinf(order):
        return size.max(**how) if order > 0 else size.min(**how)
    return (size**order).sum(**how) ** (1 / np.longdouble(order))


def _logsumexp(dice: random.Random, x: np.ndarray) -> tuple[str, Compute]:
    how = {"axis": _axes(dice, x.ndim), "keepdims": dice.random() < 0.5}

    def made(x: np.ndarray) -> Expected:
        if kind(x.dtype) != "f":
            raise Refused("of reals")
        wide = widened(x).astype(np.longdouble)
        largest = wide.max(**(how | {"keepdims": True}), initial=-np.inf)
        shift = np.where(np.isfinite(largest), largest, 0)
        total = np.exp(wide - shift).sum(**how)
        value = np.log(total) + shift.reshape(total.shape)
        eps = _eps(x.dtype)
        size = np.abs(np.nan_to_num(shift.reshape(total.shape))) + 8
        slack = (16 + math.log2(wide.size + 1)) * eps * size
        return Expected(np.asarray(value), x.dtype, 1, slack)

    return f"F.logsumexp({{0}}, {how['axis']}, {how['keepdims']})", made


def _eps(dtype: np.dtype) -> float:
    """Return the eps of the type in which a result of this dtype is computed."""
    is_short = dtype in SHORT or dtype.itemsize < 4
    return float(np.finfo("f4" if is_short else dtype).eps)


# Each draws a text with {0}, and the function for the result.
OTHERS: dict[str, Callable[[random.Random, Any], tuple[str, Compute]]] = {
    "clip": _clip,
    "round": _round,
    "nan_to_num": _nan_to_num,
    "angle": _angle,
    "parts": _parts,
    "norm": _norm,
    "logsumexp": _logsumexp,
}
OTHERS |= {
    name: partial(draw, name)
    for draw, names in {
        _split_number: ("modf", "frexp"),
        _test: ("isposinf", "isneginf", "isreal", "iscomplex"),
        _like: ("zeros_like", "ones_like", "full_like"),
    }.items()
    for name in names
}
