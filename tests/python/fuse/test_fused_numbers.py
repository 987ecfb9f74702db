"""Computations of numbers alone in a fused function give Python's results."""

import gc
import math
import operator
import random
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import singledispatch
from numbers import Integral, Number

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
    "(2 if isinstance({}, int) else 0.5)",
    "(2 if isinstance({}, (float, np.inexact)) else 0.5)",
    "len(repr({}))",
    "np.result_type({}, 'float32').itemsize",
    "np.linspace(0, {}, 3)[1]",
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
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except (ArithmeticError, AttributeError) as error:
            return error
        except (TypeError, ValueError, gpuos.Error) as error:
            return error


def is_too_hard(text: str, k, j) -> bool:
    """Return whether Python itself would take long, or much memory."""
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


# ---- Functions that do more with numbers, each called in this order.


def interp_of_changed(x, k):
    w = np.ones(3)
    s = np.interp(k, [0, 1, 2], w)
    w *= 2
    return x * s + np.interp(k, [0, 1, 2], w)


def kinds_of_errors(x, b, k):
    try:
        s = b**k
    except ZeroDivisionError:
        return x * 0
    except OverflowError:
        return x * 7
    return x * s


def raising(x, k):
    with np.errstate(all="raise"):
        try:
            s = np.float64(1) / k
        except FloatingPointError:
            s = 0.5
    return x * s


def quiet(x, k):
    with np.errstate(all="ignore"):
        s = np.exp(k)
    return x * s


def in_a_thread(x, k):
    with ThreadPoolExecutor(1) as pool:
        s = pool.submit(lambda: k * 10000000000).result()
    return x * s


def told_and_computed(x, k, j):
    a, b = j + 1.5, k * 2
    y = x + 1 if b > 3 else x
    return y * (k * 0.1) * int(j) + a


def halved(x, k):
    while k > 1:
        k = k / 2
    return x * k


def from_a_table(x, k):
    return x * {1: 10, 2: 20}.get(k, 0) if k in {1, 2, 3} else x - len(str(k))


MORE = [
    (interp_of_changed, [(1.5,), (0.5,)]),
    (kinds_of_errors, [(0.0, -1), (10.0, 400), (2.0, 3)]),
    (raising, [(2.0,), (0.0,), (4.0,)]),
    (quiet, [(1.0,), (1000.0,), (2.0,)]),
    (in_a_thread, [(2**31,), (3,)]),
    (told_and_computed, [(k, 2) for k in (1, 2, 5, 7.5)]),
    (halved, [(9.0,), (3.0,), (100.0,)]),
    (from_a_table, [(1,), (2,), (3,), (4,), (1234,)]),
    (lambda x, k: x * (1 if k else 2), [(0,), (3,), (0.0,), (5,)]),
    (lambda x, k: x + float(f"{k:.1f}"), [(0.25,), (0.31,)]),
    (lambda x, k: x * k.bit_length() * k.conjugate(), [(5,), (1000,)]),
    (lambda x, k: x * pow(k, 3, 7), [(5,), (6,)]),
    (lambda x, k: x * np.float32(k), [(0.5,), (1.5,)]),
    (lambda x, k: x < k, [(2**70,), (-(2**70),), (2,)]),
    (lambda x, k: x + (k**3 - k**3 + k) % 1000, [(10**30,), (7,)]),
    (lambda x, k: x * np.longdouble(2) * k, [(math.nan,), (math.nan,)]),
    (lambda x, k: x * np.divmod(k, 3)[1], [(math.inf,), (5.0,)]),
    (lambda x, t: x * np.copysign(1, t[0]), [((0.0,),), ((-0.0,),)]),
    (lambda x, k: x * np.copysign(1, float(k)), [(0.0,), (-0.0,), (1.0,)]),
    (
        lambda x, z: x * np.float32((complex(z).real - 1) * 1e8),
        [(1.00000001 + 1j,), (1.00000002 + 1j,)],
    ),
]


@pytest.mark.parametrize(
    ("function", "calls"), MORE, ids=[f"{i}" for i in range(len(MORE))]
)
def test_calls_in_order_are_numpys(host, function, calls):
    x = np.array([1, 2, 3], "float32")
    on = host.array(x)
    fused = host.fuse(function)
    for args in calls:
        wanted = outcome(function, x, *args)
        got = outcome(fused, on, *args)
        if isinstance(wanted, np.ndarray) and wanted.dtype.char in "gG":
            continue
        assert not differ(wanted, got), (args, wanted, got)


# These need the number itself.
OF_NUMBERS = """
float(Fraction(k) / 3)|sum(range(k))|len([0] * k)|len(k * "ab")|math.comb(k, 2)
len((0,) * k + (1,))|math.gcd(k, 4)|len(bytearray(b"ab") * k)|"abcd"[k] * 2 == "a"
isinstance(k, int)|isinstance(k, float)|isinstance(k, bool)|isinstance(k, complex)
isinstance(k, np.generic)|isinstance(k, Number)|isinstance(k + 1, Integral)
isinstance(k / 2, float)|isinstance(np.sqrt(k), np.floating)|np.isscalar(k)
operator.index(k)|[5, 6, 7, 8][k]|len([1, 2, 3, 4][:k])|k.as_integer_ratio()[0]
np.arange(abs(k)).sum()|np.linspace(0, k, 3)[1]|np.geomspace(1, k, 3)[2]|np.gcd(k, 4)
np.full(3, k)[1]|np.histogram([1, 2, 3], k)[0][0]|np.min_scalar_type(k).itemsize
np.repeat(k, 3)[1]|np.outer(k, 2)[0, 0]|np.stack([k, 1])[0]|np.eye(3)[0, 0] * k
np.result_type(k, np.float32).itemsize|np.atleast_1d(k + complex(k))|len(str([k]))
len(repr(k))|len(f"{k!r}")|len("%d" % k)|float(np.array([k, 1])[0])|kinds(k)
""".replace("\n", "|").strip("|")


@singledispatch
def kinds(_):
    return 2


kinds.register(int)(lambda _: 3)
kinds.register(float)(lambda _: 5)
NAMES = {"Fraction": Fraction, "Number": Number, "Integral": Integral}
NAMES |= {"np": np, "math": math, "operator": operator, "kinds": kinds}


def test_a_number_that_is_used_before_it_decides_stays_right(host):
    def scaled(x, k):
        factor = k + 1
        y = x * factor
        return y if repr(factor) else x

    fused = host.fuse(scaled)
    x = host.array(np.arange(3.0))
    for _ in range(2):  # The second call computes the numbers again.
        assert fused(x, 2).tolist() == [0, 3, 6]


@pytest.mark.parametrize("text", OF_NUMBERS.split("|"))
def test_functions_that_need_a_number_get_one(host, text):
    function = eval(f"lambda x, k: x * ({text})", NAMES)
    x = np.array([1.0, 2.0, 3.0])
    for numbers in ([3, 2], [2.5, 0.5], [1 + 2j], [np.float32(1.5)]):
        fused = host.fuse(function)  # one of several programs for each kind
        for k in numbers:
            wanted = outcome(function, x, k)
            got = outcome(fused, host.array(x), k)
            assert not differ(wanted, got), (k, wanted, got)
    if text.startswith("isinstance"):
        for k in (2, 7, 9):
            fused(host.array(x), k)
        assert len(fused.programs()) == 2


def test_powers_of_bools_are_numpys(host):
    bools = np.array([False, True])
    fused = host.fuse(lambda x, k: x**k)
    for k in (0, 1, 2, 3, 2.0, True, np.int8(2), 7):
        # Before NumPy 2.3 `**` takes 2.0 for 2.
        wanted = np.power(bools, k) if isinstance(k, float) else bools**k
        assert not differ(wanted, fused(host.array(bools), k)), k
    assert len(fused.programs()) == 5  # one of integers that are not 2


# ---- Arrays of NumPy without axes, which are no numbers.


def begun_again(x, k):
    y = x * [1, 2, 3, 4][k]
    k += 1
    return y * k


POINTS = [
    lambda x, k: x * np.sinc(k),
    lambda x, k: x + np.rad2deg(k),
    lambda x, k: np.sin(k),  # noqa: ARG005
    lambda x, k: k / 3 + x,
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int16", "uint8"])
def test_an_array_without_axes_is_computed_with_as_arrays_are(host, dtype):
    x = host.array(np.ones(2, dtype))
    for function in POINTS:
        for number in (9, 57, 100):
            k = np.array(number, dtype)
            got = host.fuse(function)(x, k)
            wanted = host.fuse(function)(x, host.array(k))
            assert got.dtype == wanted.dtype
            assert got.numpy().tobytes() == wanted.numpy().tobytes()


def test_a_zero_dimensional_argument_is_not_changed(host):
    fused, k = host.fuse(begun_again), np.array(2)
    assert fused(host.ones(2), k).numpy().tolist() == [9, 9]
    k[()] = 1
    assert fused(host.ones(2), k).numpy().tolist() == [4, 4]
    assert k == 1
    assert len(fused.programs()) == 2


WRITES = [
    lambda s: s.fill(7),
    lambda s: s[None].__setitem__(0, 7),
    lambda s: s.__setitem__(..., 7),
    lambda s: np.copyto(s, 7),
]


@pytest.mark.parametrize("kind", [np.float64, np.longdouble])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_number_is_refused(host, write, kind):
    def function(x, k):
        s = np.where(k > 1, kind(2), kind(3))
        write(s)
        return x * float(s)

    with pytest.raises((gpuos.InvalidArgument, ValueError, AttributeError)):
        host.fuse(function)(host.ones(2), 2.0)


def test_few_programs_of_many_values(host):
    x = host.ones(3)
    for function, most in ((told_and_computed, 3), (from_a_table, 4)):
        fused = host.fuse(function)
        for k in (0.1, 0.2, 0.3, 1.0, 5.0, 6.0, 7.0):
            fused(x, *((k, 2) if function is told_and_computed else (k > 1,)))
        assert len(fused.programs()) <= most
    fused = host.fuse(lambda x, k: x if k else -x)
    for k in range(10):
        fused(x, k)
    assert len(fused.programs()) == 2


def test_a_function_that_asks_for_many_numbers_runs_once(host):
    runs = []

    def count_down(x, k):
        runs.append(k)
        while k > 1:
            k = k - 1.0
        return x * k

    host.fuse(count_down)(host.ones(3), 2000.5)
    assert len(runs) == 1


class Hooked(np.float64):
    hook = None

    def __mul__(self, other):
        hook, Hooked.hook = Hooked.hook, None
        if hook is not None:
            hook()
        return np.float64(float(self) * other)


def test_a_nested_call_changes_no_program(host):
    def function(x, op, k):
        return x + k * 2 if op == "add" else x * (k * 2)

    def hundreds(x, op, k):  # noqa: ARG001
        return x * (k * 100)

    fused, x = host.fuse(function), host.array([1.0, 2.0, 3.0])
    fused(x, "mul", Hooked(3))
    fused(x, "add", Hooked(3))
    Hooked.hook = lambda: fused(x, "mul", Hooked(3))
    assert fused(x, "add", Hooked(3)).numpy().tolist() == [7, 8, 9]
    Hooked.hook = lambda: fused.replace(hundreds)
    new = host.ones(3, dtype="float64")
    fused(new, "add", Hooked(3))
    assert fused(new, "add", Hooked(3)).numpy().tolist() == [300] * 3


def test_ctrl_c_during_a_trace_is_raised(host):
    def function(x, k):
        try:
            return x * x[k]
        except BaseException:  # noqa: BLE001
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt):
        host.fuse(function)(host.ones(3), 2)


def test_numbers_that_hold_their_function_are_collected(host):
    class Number(np.float64):
        pass

    fused, number = host.fuse(lambda x, k: x * (k * 2)), Number(2)
    number.holder = fused
    gone = weakref.ref(number)
    fused(host.ones(3), number)
    del fused, number
    gc.collect()
    assert gone() is None
