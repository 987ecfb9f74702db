"""What a fused function computes of numbers alone is what Python computes."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

import gpuos

COUNT = 150  # functions
DTYPES = ["uint8", "int32", "int64", "float32", "float64", "bool"]
DTYPES += ["complex64", "complex128"]
NUMBERS = [0, 1, 2, 3, -1, -3, 8, 100, 255, 2**31, 2**40, 0.5, -2.5, 1e300]
NUMBERS += [True, False, np.float32(1.5), np.int8(100), np.uint8(200)]
NUMBERS += [1j, 2 - 0.5j, np.complex64(1 - 2j), np.complex128(0.1j)]

# With texts in place of {}, which are numbers.
TEXTS_OF_TWO = ["+", "-", "*", "/", "//", "%", "<", ">=", "==", "!=", "&", "|"]
TEXTS_OF_NUMBERS = [
    *(f"({{}} {op} {{}})" for op in TEXTS_OF_TWO),
    "({} ** 2)",
    "(10 ** {})",
    "(2 ** -{})",
    "(1 << {})",
    "(-{})",
    "(~{})",
    "(+{})",
    "abs({})",
    "round({})",
    "round({}, 1)",
    "math.floor({})",
    "divmod({}, 3)[1]",
    "({}).real",
    "({}).imag",
    "({}).conjugate()",
    "np.conj({})",
    "np.angle({})",
    "np.exp({})",
    "np.sqrt({})",
    "np.square({})",
    "np.maximum({}, 1)",
    "np.divmod({}, 7)[0]",
    "np.where({} > 1, 2, 0.5)",
    "np.clip({}, 0, 3)",
    "(2 if {} > 1 else 0.5)",
]
TEXTS = [
    *(f"x {op} {{}}" for op in TEXTS_OF_TWO),
    *(f"{{}} {op} x" for op in TEXTS_OF_TWO),
    "x ** {}",
    "np.clip(x, -{}, {})",
    "np.where(x > {}, x, {})",
    "np.where(x, {}, {})",
    "np.maximum(x, {})",
    "np.add(x, {}) * {}",
    "x + np.atleast_1d(k + {})",
]


def number_text(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["k", "k", "j", "2", "0.5"])
    text = rng.choice(TEXTS_OF_NUMBERS)
    while "{}" in text:
        text = text.replace("{}", number_text(rng, depth - 1), 1)
    return text


def text_for(rng: random.Random) -> str:
    text = rng.choice(TEXTS)
    while "{}" in text:
        text = text.replace("{}", number_text(rng, rng.choice([1, 1, 2])), 1)
    return text


def outcome(function, *args):
    """The result, or the error."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except (ArithmeticError, TypeError, ValueError, gpuos.Error) as error:
            return error


def is_too_hard(text: str, k, j) -> bool:
    """Whether Python itself would take long, or memory."""
    powers = text.count("**") + text.count("<<")
    largest = max(float(abs(k)), float(abs(j)))
    return largest > (math.inf, 300, 3, 1, 1, 1, 1, 1)[min(powers, 7)]


def differ(wanted, got) -> bool:
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        return not (
            isinstance(got, Exception) and isinstance(wanted, Exception)
        )
    wanted, got = np.asarray(wanted), got.numpy()
    if (wanted.dtype, wanted.shape) != (got.dtype, got.shape):
        return True
    if wanted.dtype.kind in "fc":
        rtol = 1e-12 if wanted.dtype.char in "dD" else 1e-5
        return not np.allclose(wanted, got, rtol, equal_nan=True)
    return bool((wanted != got).any())


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_numbers_are_pythons(host, dtype):
    rng = random.Random(dtype)
    x = np.array([0, 1, 2, 3, 100, 200]).astype(dtype)
    on = host.array(x)
    for _ in range(COUNT):
        text = text_for(rng)
        function = eval(f"lambda x, k, j: {text}", {"np": np, "math": math})
        fused = host.fuse(function)
        for _ in range(4):
            k, j = rng.choice(NUMBERS), rng.choice(NUMBERS)
            if is_too_hard(text, k, j):
                continue
            wanted = outcome(function, x, k, j)
            if isinstance(wanted, ValueError) or "C long" in str(wanted):
                continue  # the power of an integer; NumPy cannot compare
            if "too large to convert to float" in str(wanted):
                continue  # it compares well
            if dtype == "bool" and text.startswith("x **"):
                continue  # bools give int8 with a 2, int64 with others
            if isinstance(wanted, np.ndarray) and wanted.dtype.char in "gGO":
                continue
            got = outcome(fused, on, k, j)
            if "np.where" in text and isinstance(got, gpuos.OutOfRange):
                continue  # NumPy's where() wraps
            if "expected a real dtype" in str(got):
                continue  # NumPy has an order of complex numbers
            assert not differ(wanted, got), (
                f"{text} of {dtype}, k = {k!r}, j = {j!r}: expected "
                f"{wanted!r}, got {got!r}"
            )


def test_one_program_serves_all_values_of_one_kind(host):
    fused = host.fuse(lambda x, k: x * (1 - 0.9**k) / (k * (k + 1)))
    x = host.ones(3, dtype="float64")
    for k in range(1, 50):
        made = fused(x, k).numpy()
        assert made.tolist() == [(1 - 0.9**k) / (k * (k + 1))] * 3
    assert len(fused.programs()) == 1


def test_a_branch_has_a_program_for_each_side(host):
    fused = host.fuse(lambda x, t: x * 2 if t > 0.5 else x + t)
    x = host.ones(2)
    for t in (0.1, 0.7, 0.2, 0.9, 0.3):
        assert fused(x, t).numpy()[0] == np.float32(2 if t > 0.5 else 1 + t)
    assert len(fused.programs()) == 2


def test_errors_are_pythons_and_may_be_caught(host):
    def reciprocal(x, k):
        try:
            return x * (1 / k)
        except ZeroDivisionError:
            return x * 0

    x = host.ones(2)
    fused = host.fuse(reciprocal)
    assert [fused(x, k).numpy()[0] for k in (2, 0, 4)] == [0.5, 0, 0.25]
    with pytest.raises(ZeroDivisionError):
        host.fuse(lambda x, k: x % (5 // k))(x, 0)


def test_deferred_operations_may_be_made_of_them(host):
    fused = host.fuse(lambda x, k: x * 10**-k)
    x = host.ones(2)
    made = fused(x + 1, 2) + fused(x, -1)
    assert made.numpy().tolist() == pytest.approx([10.02, 10.02])
