"""Arrays and NumPy's agree, or both refuse: tables of calls, NumPy is the oracle."""

import itertools
import operator
from functools import partial

import numpy as np
import pytest
from fuse_support import (
    DTYPES,
    ODD,
    assert_close,
    name_of,
    outcome,
    quietly,
)

import gpuos


def as_numpy(x):
    return x.numpy() if isinstance(x, gpuos.Array) else x


def agree(got, wanted, ulps=1):
    """Check equal results, or errors of both."""
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        both = isinstance(wanted, Exception) and isinstance(got, Exception)
        assert both, f"{got!r}, not {wanted!r}"
    elif isinstance(wanted, tuple):
        for one, other in zip(got, wanted, strict=True):
            agree(one, other, ulps)
    else:
        got, wanted = np.asarray(as_numpy(got)), np.asarray(wanted)
        assert got.shape == wanted.shape
        ulps = ulps if wanted.dtype.kind in "fc" else 0
        assert_close(np.atleast_1d(got), np.atleast_1d(wanted), ulps)


# ---- x[mask] = value.

MASKED = [(), (1,), (4,), (2, 3), (0, 2), (2, 1, 2)]


def values_for(count):
    """Return arrays of every shape with this number of elements, and of
    others."""
    shapes = {(), (0,), (1,), (2,), (3,), (1, 1), (2, 3)}
    shapes |= {(count,), (1, count), (count, 1), (count + 1,)}
    for shape in sorted(shapes):
        yield np.arange(10, 10 + np.prod(shape, dtype=int)).reshape(shape)


@pytest.mark.parametrize("shape", MASKED, ids=str)
def test_masked_assignment_keeps_the_order_of_values(rt, shape):
    random = np.random.default_rng(5)
    start = random.normal(size=shape).astype("float32")
    masks = [random.random(shape) < chance for chance in (0.0, 0.4, 0.7, 1.0)]
    for mask in map(np.asarray, masks):
        for value in values_for(int(mask.sum())):
            wanted = start.copy()
            refusal = outcome(operator.setitem, wanted, mask, value)
            kinds = [(mask, value), (rt.array(mask), rt.array(value))]
            kinds += [(rt.array(mask), value)]
            if value.size > 0:  # a list without elements has one axis
                kinds += [(mask, value.tolist())]
            for our_mask, our_value in kinds:
                got = rt.array(start)
                made = outcome(operator.setitem, got, our_mask, our_value)
                assert type(made) is type(refusal), f"{made!r}, not {refusal!r}"
                agree(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_at_masks_of_all_dtypes(rt, dtype):
    mask = np.array([[True, False, True], [False, True, False]])
    for other in DTYPES:
        if other.kind == "c" and dtype.kind != "c":
            continue
        start = np.arange(6).reshape(2, 3).astype(dtype)
        value = np.array([1, 0, 2]).astype(other)
        wanted, got = start.copy(), rt.array(start)
        wanted[mask] = value
        got[rt.array(mask)] = rt.array(value)
        agree(got, wanted)


# ---- dtype= of ufuncs.

UFUNCS = [
    np.absolute,
    np.add,
    np.arctan2,
    np.bitwise_and,
    np.divmod,
    np.equal,
    np.exp,
    np.floor_divide,
    np.frexp,
    np.greater,
    np.invert,
    np.isnan,
    np.ldexp,
    np.left_shift,
    np.less_equal,
    np.logical_and,
    np.logical_not,
    np.maximum,
    np.modf,
    np.multiply,
    np.negative,
    np.not_equal,
    np.power,
    np.rint,
    np.signbit,
    np.sqrt,
    np.square,
    np.subtract,
    np.true_divide,
]


def numbers(dtype):
    return np.array([3, 1, 2.75 if dtype.kind in "fc" else 0]).astype(dtype)


def second_of(ufunc, dtype):
    """Its second operands: of this dtype, and numbers."""
    if ufunc.nin == 1:
        return [()]
    ones = np.ones(3, "int16" if ufunc is np.ldexp else dtype)
    return [(ones,), (2,), (1.5,), (True,)]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=name_of)
def test_ufuncs_return_the_requested_dtype(rt, ufunc):
    names = [dtype.name for dtype in DTYPES]
    for given, asked in itertools.product(DTYPES, names):
        if ufunc is np.ldexp and not (
            given.kind == "f" and np.can_cast(given, asked)
        ):
            continue  # NumPy does not have this loop for all of its dtypes
        x = numbers(given)
        for rest in second_of(ufunc, given):
            wanted = outcome(ufunc, x, *rest, dtype=asked)
            ours = [
                rt.array(y) if isinstance(y, np.ndarray) else y for y in rest
            ]
            ways = [partial(fused_of(rt, ufunc, rest, asked), rt.array(x))]
            if {given, np.dtype(asked)} <= {*ODD}:  # the others trace alike
                ways.append(partial(ufunc, rt.array(x), *ours, dtype=asked))
            text = f"{ufunc.__name__}({given}, {rest}, dtype={asked})"
            for got in map(outcome, ways):
                if is_ours_to_refuse((given.name, asked), got, wanted):
                    continue
                try:
                    agree(got, wanted, ulps=2)
                except AssertionError as error:
                    raise AssertionError(f"{text}: {error}") from None


def fused_of(rt, ufunc, rest, asked):
    """Return a fused function with the numbers in the program's text."""
    if rest and isinstance(rest[0], np.ndarray):
        own = rt.array(rest[0])
        fused = rt.fuse(lambda x, y: ufunc(x, y, dtype=asked))
        return lambda x: fused(x, own)
    return rt.fuse(lambda x: ufunc(x, *rest, dtype=asked))


def is_ours_to_refuse(dtypes, got, wanted):
    """Programs do not have all functions of complex numbers."""
    is_refused = isinstance(got, Exception) and not isinstance(
        wanted, Exception
    )
    return is_refused and not {"complex64", "complex128"}.isdisjoint(dtypes)


def test_membership_is_that_of_numpy(rt):
    x = np.arange(3, dtype="uint8")
    ours = rt.array(x)
    for number in (-1, 0, 2, 3, 255, 256, 300):
        assert (number in ours) == (number in x)


# ---- Subclasses of ndarray.


class Plain(np.ndarray):
    """A subclass that computes as its base does."""


class Loud(np.ndarray):
    """A subclass with its own ufuncs."""

    def __array_ufunc__(self, *args, **keywords):
        raise AssertionError


def mapped(tmp_path):
    made = np.memmap(tmp_path / "x", "float64", "w+", shape=(2, 2))
    made[...] = 1
    return made


def test_plain_subclasses_are_arrays(host, tmp_path):
    ones = host.array(np.ones((2, 2)))
    for y in (mapped(tmp_path), np.ones((2, 2)).view(Plain)):
        assert (ones + y).tolist() == (y + ones).tolist() == [[2, 2]] * 2
        fused = host.fuse(lambda a, b: a + b)
        assert fused(ones, y).tolist() == [[2, 2]] * 2
        made = gpuos.fuse(lambda a: a + 1)(y)
        assert made.tolist() == [[2, 2]] * 2


OWN = {
    "MaskedArray": lambda: np.ma.array(np.ones((2, 2)), mask=np.eye(2)),
    "matrix": lambda: quietly(np.matrix, np.ones((2, 2))),
    "Loud": lambda: np.ones((2, 2)).view(Loud),
}


@pytest.mark.parametrize("kind", OWN)
def test_arrays_with_operations_of_their_own_are_refused(host, kind):
    y = OWN[kind]()
    x = host.array(np.ones((2, 2)))
    uses = [
        lambda: np.add(x, y),
        lambda: host.fuse(lambda a, b: a + b)(x, y),
        lambda: gpuos.fuse(lambda a: a + 1)(y),
        lambda: host.submit("add", x, y, out=x),
        lambda: host.submit("add", x, x, out=y),
        lambda: operator.iadd(x, y),
        lambda: np.add(x, x, out=y),
    ]
    for use in uses:
        with pytest.raises(gpuos.InvalidArgument, match=f"{kind}, whose"):
            use()
    assert x.tolist() == [[1, 1]] * 2


def test_masks_stay_where_their_class_computes(rt):
    x, y = np.array([1.0, 2.0]), np.ma.array([10.0, 20.0], mask=[0, 1])
    for function in (operator.add, operator.mul, operator.sub):
        for pair, ours in [((x, y), (rt.array(x), y))]:
            wanted, got = function(*pair), function(*ours)
            assert isinstance(got, np.ma.MaskedArray)
            assert got.tolist() == wanted.tolist() != [None, None]


# ---- Functions that change their arguments, and results in out=.


def test_nan_to_num_in_place(rt):
    for dtype in ("float32", "float64", "int32", "complex64", "complex128"):
        start = np.array([1, 2, 3]).astype(dtype)
        if start.dtype.kind in "fc":
            start[1:] = np.nan, np.inf
        wanted, got = start.copy(), rt.array(start)
        assert np.nan_to_num(got, copy=False, nan=7.0) is got
        np.nan_to_num(wanted, copy=False, nan=7.0)
        agree(got, wanted)
        assert np.nan_to_num(got) is not got
    with pytest.raises(gpuos.InvalidArgument, match="copy=True"):
        rt.fuse(lambda v: np.nan_to_num(v, copy=False))(rt.ones(2))


OUTS = {
    "repeated": lambda _, x, o: np.add(x[0], 1, out=o),
    "a column": lambda _, x, o: np.multiply(x[:, :1], 2.0, out=o),
    "masked": lambda m, x, o: np.add(x[0], 1, out=o, where=m),
    "sum": lambda _, x, o: np.sum(x[None], axis=0, out=o),
    "clip": lambda _, x, o: np.clip(x, 0, 1, out=o),
    "clip in place": lambda _, x, o: np.clip(x, 0, 1, o),
    "method": lambda _, x, o: x.clip(0, 1, o),
    "mean": lambda _, x, o: np.mean(x[None], 0, None, o),
    "max": lambda _, x, o: np.max(x[None], 0, o),
    "part": lambda _, x, o: np.modf(x, out=(None, o))[1],
    "parts": lambda _, x, o: np.divmod(x, 2, out=(o, None))[1],
}


@pytest.mark.parametrize("name", OUTS)
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_functions_write_into_given_arrays(rt, name, dtype):
    x = np.array([[-1, 2, 3], [4, 5, -6]]).astype(dtype)
    mask = x > 2
    for of in ("float32", "float64"):
        wanted, got = np.full((2, 3), 9, of), rt.array(np.full((2, 3), 9, of))
        expected = outcome(OUTS[name], mask, x, wanted)
        made = outcome(OUTS[name], rt.array(mask), rt.array(x), got)
        if isinstance(expected, np.ndarray) and expected is wanted:
            assert made is got
        agree(made, expected)
        agree(got, wanted)


def test_out_of_too_few_axes_is_refused(rt):
    x = rt.array(np.ones((2, 3)))
    for shape in [(3,), (2, 2), ()]:
        with pytest.raises(ValueError, match="expected"):
            np.add(x, 1, out=rt.zeros(shape, "float64"))


# ---- Small calls.

CALLS = {
    "expand_dims": lambda x: np.expand_dims(x, np.int64(0)),
    "expand_dims twice": lambda x: np.expand_dims(x, (np.int8(0), -1)),
    "equal to a list": lambda x: np.array_equal(x, [1, 2]),
    "unequal to a list": lambda x: np.array_equal([1, 3], x),
    "equal to a number": lambda x: np.array_equal(x, 5),
    "equal to itself": lambda x: np.array_equal(x, x, equal_nan=True),
    "equal without NaN": lambda x: np.array_equal(x, x, equal_nan=False),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
}


@pytest.mark.parametrize("name", CALLS)
def test_small_calls_of_all_dtypes(rt, name):
    function = CALLS[name]
    ways = [function]
    if "equal" not in name and "conj" not in name:
        ways.append(rt.fuse(function))
    for dtype in DTYPES:
        arrays = [np.array([1, 2]).astype(dtype)]
        if dtype.kind in "fc":
            arrays.append(np.array([1, np.nan]).astype(dtype))
        for x, way in itertools.product(arrays, ways):
            got = outcome(way, rt.array(x))
            agree(got, outcome(function, x))


REFUSED = {
    r"selects is not known": lambda x: x[x > 0],
    r"selects is not known before": lambda x: x[x.numpy() > 0],
    r"got a list; np\.array": lambda x: np.add(x, [1, 2]),
    r"got a tuple; np\.array": lambda x: np.maximum((1, 2), x),
    r"multiply\.reduce: .* prod": lambda x: np.multiply.reduce(x, axis=0),
    r"add\.accumulate": lambda x: np.add.accumulate(x, axis=0, dtype="f8"),
    r"except out, .* got order": lambda x: np.add(x, 1, order="C"),
    r"except out, .* got subok": lambda x: np.add(x, 1, subok=False),
    r"except out, .* got signature": lambda x: np.add(x, 1, signature="dd->d"),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refusals_say_what_to_write(rt, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        REFUSED[sentence](rt.array([1.0, 2.0]))
    assert "fused function" not in str(caught.value)


@pytest.mark.torch
def test_tensors_of_dtypes_that_numpy_lacks(rt):
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        whole = torch.arange(6.0).reshape(2, 3).to(getattr(torch, name))
        for tensor in (whole, whole.T, whole[1, 1]):
            made = rt.array(tensor)
            assert made.dtype.name == name
            assert made.astype("float32").tolist() == tensor.float().tolist()
            copy = rt.zeros(tuple(tensor.shape), name)
            copy.copy_from(tensor)
            assert copy.astype("float32").tolist() == tensor.float().tolist()
            assert rt.array(tensor, "float64").dtype == np.float64
