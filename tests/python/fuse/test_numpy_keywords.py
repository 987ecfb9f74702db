"""Arguments of NumPy's functions other than arrays: keywords, lists, numbers.

The tables come from NumPy: the signatures of its functions and the names of its
arrays. Each call gives NumPy's result, or an error names the called function.
"""

import array
import collections
import itertools
import operator
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from fuse_support import outcome
from numpy_support import VALUES, agree, functions_of_numpy
from peers_support import on

import gpuos
from gpuos import refusals

M = np.array([[1.0, 0.5], [0.25, -0.5]], "f4")
MASK = np.array([[True, False], [True, True]])
# Arguments that are tried until NumPy takes them.
ARGUMENTS = [
    *((M,), (M, M), ([M, M],), (M, 1), (M, 0, 1), (M, (0, 1)), (M, (2, 2))),
    *((M, "f8"), (MASK, M, M), ([MASK], [M]), (M[0],), (M[None], 1)),
]
# Values to try for a keyword of this name.
KEYWORDS = {name: values[0] for name, values in VALUES.items()} | {
    "where": MASK,
    "mean": np.array([[0.5]], "f4"),
    "append": np.array([[1], [2]]),
    "weights": M * M,
    "x": M * M,
}
# They look at the host's memory, or at none that has a value.
LEFT_OUT = ("array2string", "empty_like", "may_share_memory", "copyto", "save")


def known_functions():
    """Return each function, and arguments that NumPy takes."""
    for name, function in functions_of_numpy().items():
        if not name.startswith(LEFT_OUT):
            yield (
                name,
                (function, next(a for a in ARGUMENTS if fits(function, a))),
            )


def fits(function, args):
    return not isinstance(outcome(function, *args), Exception)


FUNCTIONS = dict(known_functions())


def check(wanted, got, words):
    """Both are alike, or ours is refused by a sentence with these words."""
    if isinstance(got, Exception):
        text = str(got)
        assert isinstance(got, (gpuos.InvalidArgument, TypeError, ValueError))
        assert isinstance(wanted, Exception) or all(w in text for w in words)
        assert not re.search(r"(^|\s)_\w", text), text
        return
    assert not isinstance(wanted, Exception), repr(wanted)
    agree(wanted, got)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_keyword_works_or_is_named(rt, name):
    function, args = FUNCTIONS[name]
    mine = [on(rt, x) for x in args]
    for keyword in refusals.parameters_of(function):
        if keyword not in KEYWORDS:
            continue
        value = KEYWORDS[keyword]
        wanted = outcome(function, *args, **{keyword: value})
        if isinstance(wanted, TypeError):  # it is among `args`
            continue
        got = outcome(function, *mine, **{keyword: on(rt, value)})
        check(wanted, got, [f"{name}: ", f"{keyword}="])
        fused = rt.fuse(lambda x, y: function(*x, **y))
        got = outcome(fused, mine, {keyword: on(rt, value)})
        if name != "size":  # a number, which is no result
            check(wanted, got, [f"{name}: "])
    got = outcome(function, *mine, nonsense=1)
    assert isinstance(got, (TypeError, gpuos.InvalidArgument)), got


def beside_lists(x):
    """Yield the arguments with a list, or a number, instead of each array but
    one."""
    places = [i for i, one in enumerate(x) if isinstance(one, np.ndarray)]
    for place in places if len(places) > 1 else ():
        yield [*x[:place], x[place].tolist(), *x[place + 1 :]]
        yield [*x[:place], 2.5, *x[place + 1 :]]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lists_and_numbers_are_arrays(rt, name):
    function, args = FUNCTIONS[name]
    cases = list(beside_lists(args))
    if isinstance(args[0], list):
        cases += [(one, *args[1:]) for one in beside_lists(args[0])]
    for case in cases:
        wanted = outcome(function, *case)
        got = outcome(function, *(on(rt, x) for x in case))
        check(wanted, got, [f"{name}: expected"])
        assert "fused" not in str(got)


class Clearing:
    """A row that empties a list when NumPy asks for its numbers."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        self.data.clear()
        return np.zeros(3)


def test_a_list_may_change_while_it_is_read(rt):
    data = [np.ones(3)]
    data += [Clearing(data), np.ones(3)]
    assert np.append(rt.ones(3, "f8"), data).sum() == 9


ROWS = {
    "x": np.array([1.0, 2.5, -3.0], "f4"),
    "m": np.arange(6.0).reshape(2, 3),
}
BESIDE = [
    *("np.append(x, 3)", "np.append([1, 2], x)", "np.vstack([x, [1, 2, 3]])"),
    *("np.column_stack([x, [1, 2, 3]])", "np.dstack([x, [1, 2, 3]])"),
    *("np.dot(x, [1, 2, 3])", "np.dot([1, 2, 3], x)", "x.dot([1, 2, 3])"),
    *("[1] * i[2]", "np.dot(x, 3)", "np.inner(i[2], x)"),
    *("np.outer([1, 2], x)", "np.outer(x, 3)", "np.stack([x[0], 3])"),
    *("np.trapezoid(x, [1, 2, 4])", "np.average(x, weights=[1, 2, 3])"),
    *("np.average(m, axis=1, weights=[1, 2, 3], returned=True)",),
    *("np.sum(x, where=[True, False, True])", "x.sum(where=[1 > 0] * 3)"),
    *("np.where([True, False, True], x, 0)", "x.clip([0, 1, 2], 9)"),
    *("np.isin([1, 2], x)", "np.meshgrid(x, [1, 2])", "np.atleast_1d(3, x)"),
    *("np.gradient(x, [0, 1, 3])", "np.hstack([x, [1], (2, 3)])"),
    *("np.concatenate([x, x], dtype='f8')", "np.tile([1, 2], i[2])"),
    *("np.mean(m, axis=i[1])", "m.mean(i[1])", "np.round(m, i[1])"),
    *("np.diff(m, n=i[1])", "np.flip(m, i[1])", "np.roll(m, i[1], axis=i[0])"),
    *("np.pad(x, i[1], constant_values=np.int64(3))", "np.tril(m, i[1])"),
    *("np.mean(c, where=[True, False, True])", "np.var(c, where=c.real > 0)"),
    *("np.std(c, mean=c[:1])", "np.diff(x, n=0)", "b ** 2", "b ** 3"),
    *("np.clip(b, 0, np.float32(2))", "np.clip(u, np.int8(0), np.float16(2))"),
    *("np.clip(u, i[:1], np.float32(2))", "x + 10**20", "10**20 - x"),
    *("np.clip(x, 0, 10**20)", "np.maximum(x, -(10**20))", "x < 10**20"),
    *("put(x, 10**20)", "put(x > 0, 10**20)", "x.fill(10**20)"),
]
ROWS |= {"i": np.arange(3), "c": np.array([1, 2j, 3 - 1j], "c8")}
ROWS |= {"b": np.array([True, False, True]), "u": np.array([1, 2, 3], "u1")}


def put(a, value):
    a = a.copy()
    a[0] = value
    return a


# Cases that NumPy 1 computes differently, or does not have.
OF_NUMPY_2 = ("trapezoid", "10**20", "float32(2)", "mean=", "correction=")


def skip_if_old(text):
    is_old = np.lib.NumpyVersion(np.__version__) < "2.0.0"
    if is_old and any(words in text for words in OF_NUMPY_2):
        pytest.skip("NumPy 1 has another rule")


@pytest.mark.parametrize("text", BESIDE)
def test_examples_are_numpys(rt, text):
    skip_if_old(text)
    names = {"np": np, "put": put}
    wanted = eval(text, names | {name: x.copy() for name, x in ROWS.items()})
    got = eval(text, names | {name: rt.array(x) for name, x in ROWS.items()})
    if wanted is not None:
        agree(wanted, got)


CLIPPED = ["bool", "i1", "u1", "i4", "u4", "i8", "f2", "f4", "f8"]


@pytest.mark.parametrize("dtype", CLIPPED)
def test_clip_has_the_dtype_of_all_three(rt, dtype):
    fused = rt.fuse(np.clip)
    for of_low, of_high in itertools.product(CLIPPED, repeat=2):
        three = [
            np.array(numbers).astype(of)
            for numbers, of in (
                ([0, 1, 9], dtype),
                ([1, 1, 1], of_low),
                ([1, 2, 3], of_high),
            )
        ]
        wanted = outcome(np.clip, *three)
        if isinstance(wanted, Exception):  # NumPy has none of bools alone
            continue
        mine = [rt.array(x) for x in three]
        agree(wanted, np.clip(*mine))
        agree(wanted, fused(*mine))


SAID = {
    "np.gradient(x[:1])": "gradient: expected 2 elements or more",
    "np.gradient(x[0], axis=0)": "gradient: expected a value with axes",
    "np.std(x, ddof=1, correction=1)": "std: expected ddof= or correction=",
    "np.clip(x, 0, 1, dtype='f8')": "clip: expected no argument dtype=",
    "np.concatenate([x, 3])": "concatenate: expected shapes",
    "x * [1, 2, 3]": r"multiply: expected arrays .* got a list; np\.array",
    "np.roll(x, 'a')": "roll: expected shift as integers",
    "np.round(x, 'a')": "round: 'str' object",
    "x.astype(int) + 10**20": "add: expected a number that fits",
    "x.astype('i4').fill(10**20)": "array: expected a number that fits int32",
    "x.__delitem__(0)": "array: expected no del",
    "x * bytearray(b'123')": "multiply: expected arrays .* got a bytearray",
    "'abc' * x": "multiply: expected arrays .* got a str",
    "[1, 2, 3] - x": r"subtract: expected arrays .* got a list; np\.array",
}
FUSED = {
    "f'{x[0]:.2f}'": "__format__: a traced value .*; return it to read, print",
    "np.stack([x, m])": "stack: expected arrays of 1 axes, got one of 2",
    "np.append(x, 3)": "append: expected values of the fused function",
    "x.std(where=x > 0, initial=1)": "std: expected no argument initial=",
    "np.mean(x, where=x > 0, out=x)": "mean: expected no out=",
    "np.nanstd(x, out=x)": "nanstd: expected no out=",
    "np.add.reduce(x, axis=0)": "add.reduce: a fused function has no",
    "m.T.reshape(-1)": r"reshape: .* got \(2, 3\); reshape",
    "np.clip(x, 0, 1, dtype='f4')": "clip: expected no argument dtype=",
}


@pytest.mark.parametrize("text", [*SAID, *FUSED])
def test_refusals_name_the_called_function(rt, text):
    skip_if_old(text)
    function = eval(f"lambda x, m: {text}", {"np": np})
    function = rt.fuse(function) if text in FUSED else function
    with pytest.raises((gpuos.InvalidArgument, TypeError)) as caught:
        function(rt.array(ROWS["x"]), rt.array(ROWS["m"]))
    assert caught.match(f"^{(FUSED | SAID)[text]}")


class Held:
    """An object that NumPy converts to an array."""

    def __array__(self, dtype=None, copy=None):
        return np.array([0.0, 2.5, 5.0])


class Other:
    """Has its own comparisons, which take precedence over NumPy's."""

    __array_priority__ = 1

    def __array__(self, dtype=None, copy=None):
        return np.zeros(3)

    def __eq__(self, other):
        return "its own"

    __hash__ = None


DATA = [
    *(array.array("d", [1, 2.5, 9]), memoryview(array.array("i", [1, 2, -3]))),
    *(collections.deque([1, 2.5, 3]), Decimal("2.5"), Fraction(5, 2), Held()),
    *([Fraction(5, 2)] * 3, bytearray(b"\1\2\3"), object(), b"abc", "abc"),
    *(None, {1: 2}, {1, 2}, Other(), [None, 2.5, "x"], Fraction(1, 3)),
]


@pytest.mark.parametrize("data", DATA, ids=lambda x: type(x).__name__)
def test_data_of_any_kind_compares_as_with_numpy(rt, data):
    x = ROWS["x"]
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        compare = getattr(operator, name)
        wanted = outcome(compare, x, data)
        got = outcome(compare, rt.array(x), data)
        if isinstance(wanted, np.ndarray):
            agree(wanted, got)
        else:
            assert isinstance(wanted, type(got))


def test_missing_array_attributes_suggest_numpy(rt):
    x = rt.ones((3, 3))
    names = [name for name in dir(np.ndarray) if not name.startswith("_")]
    lacking = [name for name in names if not hasattr(x, name)]
    assert {"flags", "tobytes", "view"} <= {*lacking}
    for name in lacking:
        sentence = rf"{name}: an array .*; x\.numpy\(\)\.{name} "
        with pytest.raises(AttributeError, match=sentence):
            getattr(x, name)


def test_shared_memory_is_detected(rt):
    x = rt.array(np.arange(6.0))
    assert np.may_share_memory(x, x)
    assert np.may_share_memory(x[1:], x[:-1])
    assert not np.may_share_memory(x[3:], x[:3])
    mixed = np.random.default_rng(0).permutation(x)
    assert sorted(mixed) == sorted(x.tolist())
    assert x.tolist() == [*range(6)]
    real = np.real(x)
    real[0] = 9
    assert x[0] == 9
    assert np.imag(x).tolist() == [0] * 6


def test_zeros_of_both_signs_are_distinguished(rt):
    x = rt.array([1.0, 2.0])
    for zero in (0.0, -0.0, 0.0):
        ends = np.pad(x, 1, constant_values=zero).numpy()[[0, -1]]
        assert (np.signbit(ends) == np.signbit(zero)).all()
