"""The expected result of a program's step, from NumPy and plain arithmetic.

Integers, comparisons, and reals with 0 ulps in docs/functions.md are exact, in
NumPy's own type. Others use a wider type, with those ulps.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from activations import OF_ROWS
from short_floats import (
    FLOAT,
    HALF,
    SHORT,
    is_missing,
    kind,
    promoted,
    rounded,
    widened,
    with_stand_ins,
)
from vocabulary import Function, ulps

ULPS = ulps()
WIDE = {
    np.dtype("float16"): np.dtype("float64"),
    np.dtype("float32"): np.dtype("float64"),
    np.dtype("float64"): np.dtype(np.longdouble),
    np.dtype("complex64"): np.dtype("complex128"),
    np.dtype("complex128"): np.dtype(np.clongdouble),
}
# Near 0 these lose more than ulps (docs/functions.md).
CROSSING = {"lgamma", "logaddexp", "logaddexp2"}


SPREADS = ("var", "std", "nanvar", "nanstd")


class Refused(Exception):
    """NumPy does not do it, and no program should."""


class Expected(NamedTuple):
    """The expected value, and the allowed distance of a result."""

    value: np.ndarray  # in a wider type, if any
    dtype: np.dtype
    ulps: float = 0
    slack: Any = 0  # allowed in addition to ulps, in absolute numbers
    is_free: Any = False  # where nothing is promised
    has_sign: bool = True  # of zero


def _erfc(x):
    """Compute erfc with one digit more than the C library, by a Taylor step."""
    near = np.asarray(x, "f8")
    made = _each(math.erfc)(near).astype(np.longdouble)
    rest = np.where(np.isfinite(near), x - near.astype(np.longdouble), 0)
    slope = -2 / np.sqrt(np.longdouble(np.pi)) * np.exp(-(x * x))
    return made + rest * slope


def _gelu(x):
    wide = x.astype(np.longdouble)
    made = wide / 2 * _erfc(-wide / np.sqrt(np.longdouble(2)))
    return np.where(x == -np.inf, -0.0, made)


def _each(function):
    def compute(x):
        made = np.vectorize(function, otypes=["f8"])(np.asarray(x, "f8"))
        return made.astype(x.dtype)

    return compute


def _lgamma(x):
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _gelu_tanh(x):
    x = x.astype(np.longdouble)
    inner = np.sqrt(2 / np.longdouble(np.pi)) * (x + 0.044715 * x**3)
    made = x / (1 + np.exp(-2 * inner))
    return np.where(x == -np.inf, -0.0, made)


def _sinc(x):
    """Exactly 0 of whole numbers, unlike NumPy's."""
    rest = np.abs(x - 2 * np.rint(x / 2))
    near = np.where(rest > 0.5, 1 - rest, rest)
    pi = np.longdouble("3.14159265358979323846264338")
    made = np.sin(pi * near) / (pi * np.abs(x))
    return np.where(x == 0, 1, np.where(np.abs(x) % 2 > 1, -made, made))


def _real_power(x, y):
    """Compute a power. The C library's power of -inf is wrong for -2**63.

    NumPy uses a square root if one exponent of 0.5 applies to all elements, and
    the root of -inf is NaN. So a further element is appended.
    """
    x, y = np.broadcast_arrays(x, y)
    made = _powers(np.append(x, x.dtype.type(1)), np.append(y, y.dtype.type(1)))
    return made[:-1].reshape(x.shape)


def _powers(x, y):
    near = np.power(np.asarray(x, "f8"), np.asarray(y, "f8"))
    is_wrong = np.isinf(x) & (np.abs(y) > 1e18)
    return np.where(is_wrong, near, np.power(x, y))


# Functions that NumPy does not have, in the type of the argument.
OWN = {
    "power": _real_power,
    "float_power": _real_power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "lgamma": _each(_lgamma),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: np.where(x == -np.inf, -0.0, x / (1 + np.exp(-x))),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "sinc": _sinc,
}


def quietly(function, *args, **keywords):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **keywords)


# ---- elementwise functions


def of_function(function: Function, operands: list[Any]) -> Expected:
    given, short = with_stand_ins(operands)
    if function.name == "ldexp":  # has a place for integers
        given = [given[0], widened(operands[1])]
    *types, result = _types(function, getattr(np, function.name, None), given)
    if short is None:
        args = [
            quietly(np.asarray, x).astype(t)
            for x, t in zip(given, types, strict=True)
        ]
        return _computed(function, args, result, operands[-1])
    args = [
        rounded(quietly(np.asarray, x), short if t == HALF else t)
        for x, t in zip(operands, types, strict=True)
    ]
    if function.name == "nextafter":
        made = np.where(args[0] == args[1], args[1], np.nextafter(*args))
        return Expected(made.astype(short), short)
    args = [widened(x) for x in args]
    if result != HALF:
        return _computed(function, args, result, operands[-1])
    made = _computed(function, args, FLOAT, operands[-1])
    return made._replace(dtype=short, ulps=min(made.ulps, 1))


def _computed(
    function: Function, args: list[Any], result: np.dtype, last: Any
) -> Expected:
    """Expect a function of operands in NumPy's dtypes; `last` is not
    converted."""
    ufunc = getattr(np, function.name, None)
    if function.name == "power" and _is_known(last) and result.kind == "f":
        made = quietly(POWERS[last], args[0])
        return Expected(np.asarray(made), result)
    if any(x.dtype.kind == "c" for x in args) or result.kind == "c":
        return _of_complex(function, args, result)
    special = SPECIAL.get(function.name)
    if special is not None and (
        result.kind != "f" or not any(ULPS.get(function.own, (0,)))
    ):
        made = quietly(special, *args)
        return Expected(np.asarray(made).astype(result), result)
    free: Any = False
    if function.name in ("copysign", "signbit"):
        free = np.isnan(args[-1])  # whose sign is not promised
    off = ULPS.get(function.own, (0, 0, 0))
    compute = OWN.get(function.name, ufunc)
    if result.kind != "f" or not any(off):
        made = np.asarray(quietly(compute, *args))
        return Expected(made, result, is_free=free)
    wide = WIDE[result]
    made = quietly(compute, *[x.astype(wide) for x in args])
    # A half is a rounded float.
    many = {"float16": 1, "float32": max(off[:2]), "float64": off[2] + 1}
    slack = 0.0
    if function.own in CROSSING:
        slack = 8 * float(np.finfo(result).eps)
        slack = (
            slack
            * sum(
                np.abs(np.nan_to_num(x.astype(wide), posinf=0, neginf=0))
                for x in args
            )
            + slack
        )
    return Expected(np.asarray(made), result, many[result.name], slack)


def _types(function, ufunc, operands):
    """The dtypes of operands and result, as NumPy promotes them."""
    kinds = [
        x.dtype if isinstance(x, np.ndarray) else type(x) for x in operands
    ]
    if isinstance(ufunc, np.ufunc):
        try:
            types = ufunc.resolve_dtypes((*kinds, None))
        except TypeError as error:
            raise Refused(str(error)) from None
        if function.name == "ldexp" and kinds[0] is int:
            types = ufunc.resolve_dtypes((float, kinds[1], None))
    else:
        given = next(k for k in kinds if isinstance(k, np.dtype))
        if function.name in ("real", "imag"):
            if given.kind != "c":
                raise Refused("only complex numbers have parts here")
            return [given, np.empty(0, given).real.dtype]
        if given.kind == "c":
            raise Refused("no complex numbers")
        rule = np.divide if function.rule == "Division" else np.sqrt
        real = rule.resolve_dtypes((given,) * rule.nin + (None,))[-1]
        types = (real, real)
    if any(t.kind not in "biufc" or is_missing(t) for t in types):
        raise Refused("no such dtype")
    return types


def _of_complex(function, args, result):
    compute = getattr(np, function.name)
    if not function.has_complex:
        raise Refused("no complex numbers")
    made = np.asarray(quietly(compute, *[_widen(x) for x in args]))
    if result.kind not in "cf":
        return Expected(made, result)
    size = np.abs(made)
    for x in args:
        size = size + np.abs(_widen(x)) * (function.name in ("add", "subtract"))
    if function.name in ("multiply", "square"):
        size = np.abs(_widen(args[0])) * np.abs(_widen(args[-1]))
    info = np.finfo(result)
    eps, tiny = float(info.eps), float(info.tiny)
    # So far all squares fit.
    far = float(info.max) ** 0.47
    with np.errstate(all="ignore"):
        # Infinities and NaN follow C, not NumPy. Intermediate results may
        # overflow.
        wild = ~np.isfinite(made) | (size > info.max / 30)
        for x in args:
            wild |= ~np.isfinite(x) | (np.abs(_widen(x)) > far)
            wild |= (np.abs(_widen(x)) < 1 / far) & (x != 0)
        if function.name == "divide":
            # Division by zero divides the parts of the dividend by 0, for any signs.
            x, y = np.broadcast_arrays(_widen(args[0]), args[1])
            made = np.array(made)
            made.real[y == 0] = x.real[y == 0] / 0.0
            made.imag[y == 0] = x.imag[y == 0] / 0.0
            wild &= y != 0
    return Expected(made, result, 1, 8 * eps * np.nan_to_num(size) + tiny, wild)


def _widen(x):
    return x.astype(WIDE.get(x.dtype, x.dtype))


# ---- functions that NumPy computes differently or leaves open


def _first_of(wins):
    return lambda x, y: np.where(wins(x, y), x, y)


def _is_nan(x):
    return np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, "?")


def _power(x, y):
    """Rounded towards zero where NumPy refuses, and 0 of 0."""
    if y.dtype.kind == "u":
        return np.power(x, y)
    made = np.power(x, np.maximum(y, 0))
    signs = np.where(y % 2 != 0, x, x * x)
    below = np.where(np.isin(x, np.array([1, -1], x.dtype)), signs, 0)
    return np.where(y < 0, below, made)


def _divide(function):
    def compute(x, y):
        if x.dtype.kind not in "biu":
            return function(x, y)
        return np.where(
            y == 0,
            np.zeros((), x.dtype),
            function(x, np.where(y == 0, np.ones((), y.dtype), y)),
        )

    return compute


def _reciprocal(x):
    if x.dtype.kind not in "iu":
        return np.reciprocal(x)
    return np.where(
        x == 0,
        np.zeros((), x.dtype),
        np.reciprocal(np.where(x == 0, np.ones((), x.dtype), x)),
    )


SPECIAL = {
    # If two zeros are equal, the first is returned.
    "maximum": _first_of(lambda x, y: (x >= y) | _is_nan(x)),
    "minimum": _first_of(lambda x, y: (x <= y) | _is_nan(x)),
    "fmax": _first_of(lambda x, y: (x >= y) | _is_nan(y)),
    "fmin": _first_of(lambda x, y: (x <= y) | _is_nan(y)),
    "floor_divide": _divide(np.floor_divide),
    "remainder": _divide(np.remainder),
    "fmod": _divide(np.fmod),
    "reciprocal": _reciprocal,
    "power": _power,
    # NumPy's halves keep the first of two zeros, unlike C and its floats.
    "nextafter": lambda x, y: np.where(x == y, y, np.nextafter(x, y)),
}


def _is_known(exponent):
    return not isinstance(exponent, np.ndarray) and exponent in POWERS


def of_choice(condition: Any, x: Any, y: Any) -> Expected:
    dtype = promoted(x, y)
    if is_missing(dtype):
        raise Refused("no such dtype")
    x, y = rounded(x, dtype), rounded(y, dtype)
    return Expected(np.asarray(np.where(condition.astype(bool), x, y)), dtype)


def of_activation(compute: Any, x: np.ndarray, *axis: int) -> Expected:
    """Compute with one rounding at the end and those of the formula."""
    if x.dtype in SHORT:
        made = of_activation(compute, widened(x), *axis)
        return made._replace(dtype=x.dtype)
    if x.dtype.kind != "f":
        raise Refused("of reals")
    wide = x.astype(WIDE[x.dtype])
    made = np.asarray(quietly(compute, wide, *axis))
    type_of_steps = np.dtype("f4") if x.dtype.itemsize == 2 else x.dtype
    eps = float(np.finfo(type_of_steps).eps)
    size = np.nan_to_num(np.abs(wide), nan=0, posinf=0, neginf=0)
    if axis and size.size:
        size = size.max(axis=axis[0], keepdims=True)
    # An intermediate overflow is allowed. Infinities are limits, which the
    # pages do not promise.
    free = np.broadcast_to(~np.isfinite(wide), made.shape)
    if axis:
        free = free | ~np.isfinite(wide).all(axis=axis[0], keepdims=True)
    if size.size:
        free = free | (size > float(np.finfo(type_of_steps).max) / 8)
    count = wide.shape[axis[0]] if axis else 1
    # A difference of logarithms is as exact as they are.
    near = 1 if compute is OF_ROWS["log_softmax"] else np.abs(made) + eps
    slack = (8 + math.log2(count + 1)) * eps * (size + 1) * np.minimum(near, 1)
    slack = slack + 8 * eps * np.abs(np.nan_to_num(made, posinf=0, neginf=0))
    return Expected(made, x.dtype, 1, slack, free)


# The function of a power with a literal exponent.
POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


# ---- casts, reductions


def of_cast(x: np.ndarray, dtype: np.dtype) -> Expected:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        raise Refused("complex numbers have no such cast")
    x = widened(x)
    made = np.asarray(quietly(rounded, x, dtype))
    free = np.zeros(x.shape, bool)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        # A value that does not fit depends on the processor.
        info = np.iinfo(dtype)
        with np.errstate(invalid="ignore"):
            cut = np.trunc(x.astype(np.longdouble))
            free = ~((cut >= info.min) & (cut <= info.max))
    return Expected(made, dtype, is_free=free)


def of_reduction(name: str, x: np.ndarray, how: dict[str, Any]) -> Expected:
    if x.dtype in SHORT:
        made = of_reduction(name, widened(x), how)
        return made._replace(dtype=x.dtype) if made.dtype == FLOAT else made
    try:
        made = np.asarray(quietly(getattr(np, name), x, **how))
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from None
    dtype = made.dtype
    if is_missing(dtype):
        raise Refused("no such dtype")
    if dtype.kind in "biu" or name in ("max", "min", "ptp", "nanmax", "nanmin"):
        return Expected(made, dtype, has_sign=False)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = {key: how[key] for key in ("axis", "keepdims")}
        wide = x.astype(WIDE.get(x.dtype, np.longdouble))
        plain = np.nan_to_num(np.abs(wide), nan=0, posinf=0, neginf=0)
        total = np.asarray(plain.sum(**rows))
        count = max(plain.size // max(made.size, 1), 1)
        exact = np.asarray(getattr(np, name)(wide, **how))
        largest = np.asarray(plain.max(initial=0, **rows))
        eps = float(
            np.finfo(np.dtype("f4") if dtype.itemsize == 2 else dtype).eps
        )
        tiny = float(
            np.finfo(np.dtype("f4") if dtype.itemsize == 2 else dtype).tiny
        )
        terms = 24 + math.log2(count + 1)
        if name in SPREADS:
            terms *= count / max(count - how.get("ddof", 0), 1)
            slack = eps * 4 * terms * largest**2 + tiny
            if "std" in name:  # a root: what is near 0 is less exact
                near = np.sqrt(slack) * (np.abs(exact) < 1e-3 * largest)
                slack = eps * 4 * terms * largest + np.sqrt(tiny) + near
        elif name == "prod":
            slack = (
                eps
                * (count + terms)
                * np.abs(np.nan_to_num(exact, posinf=0, neginf=0))
            )
        else:
            slack = eps * terms * total / (count if "mean" in name else 1)
        limit = float(
            np.finfo(
                np.dtype("f4")
                if dtype.itemsize == 2
                else np.dtype(dtype.type(0).real.dtype)
            ).max
        )
        free = np.broadcast_to(
            total + (largest**2) * (name in ("var", "std", "nanvar", "nanstd"))
            > limit / 4,
            exact.shape,
        )
        if name == "prod":
            powers = np.where(plain > 1, plain, 1).prod(**rows)
            small = np.where((plain < 1) & (plain > 0), plain, 1).prod(**rows)
            free = (
                free
                | (np.asarray(powers) > limit / 4)
                | (np.asarray(small) < 1 / limit)
            )
        if dtype.kind == "c":
            free = free | ~np.isfinite(exact)
    return Expected(exact, dtype, 1, slack, free)


# ---- comparison


def _ordered(values):
    """Floats as integers in the order of the numbers, one ulp apart."""
    whole = f"i{values.dtype.itemsize}"
    bits = values.reshape(-1).view(whole).reshape(values.shape).astype(np.int64)
    lowest = np.int64(-(1 << (8 * values.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits).astype(np.longdouble)


def difference(got: np.ndarray, expected: Expected) -> str | None:
    """Return the error of a result, or None."""
    value, dtype = expected.value, expected.dtype
    if (got.dtype, got.shape) != (dtype, value.shape):
        return (
            f"expected {dtype} of {value.shape}, got {got.dtype} of {got.shape}"
        )
    if dtype.kind == "c":
        parts = [
            difference(
                part(got).copy(),
                expected._replace(value=part(value), dtype=part(got).dtype),
            )
            for part in (np.real, np.imag)
        ]
        return parts[0] or parts[1]
    with np.errstate(all="ignore"):
        wanted = rounded(np.asarray(value, order="C"), dtype)
    if kind(dtype) != "f":
        wrong = got != wanted
    else:
        got = got.copy(order="C")
        with np.errstate(all="ignore"):
            apart = np.abs(_ordered(got) - _ordered(wanted))
            near = (
                np.abs(
                    widened(got).astype(np.longdouble)
                    - widened(value).astype(np.longdouble)
                )
                <= expected.slack
            )
            wrong = ~(
                (apart <= expected.ulps)
                | near
                | (np.isnan(got) & np.isnan(wanted))
            )
            if expected.ulps == 0 and expected.has_sign:
                wrong |= (np.signbit(got) != np.signbit(wanted)) & ~np.isnan(
                    wanted
                )
    wrong = wrong & ~np.asarray(expected.is_free)
    if not wrong.any():
        return None
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    at = tuple(int(k) for k in at)
    return f"at {at}: expected {wanted[at]!r}, got {got[at]!r}"
