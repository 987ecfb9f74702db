"""Arrays compute what NumPy's do: operators, functions, methods, assignment."""

import itertools
import operator

import numpy as np
import pytest
from fuse_support import DTYPES, assert_close, name_of, outcome, quietly, sample

import gpuos
from gpuos import functions as F

IN_PLACE = [
    getattr(operator, f"i{name}")
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul"),
        *("pow", "and", "or", "xor", "lshift", "rshift"),
    )
]


def numbers(dtype):
    """Leave out zeros and large numbers, which programs treat separately."""
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind == "c":
        return np.array([1 + 1j, 2 - 1j, 0.5], dtype)
    return np.array([1, 2, 3], dtype)


def same(got, wanted):
    """One of both says no, or both have the same."""
    assert isinstance(got, gpuos.Array)
    wanted = np.asarray(wanted)
    if wanted.dtype.kind == "c":
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)
    else:
        assert_close(got.numpy(), wanted, ulps=wanted.dtype.kind == "f")


def compare(function, numpys, ours):
    wanted, got = outcome(function, *numpys), outcome(function, *ours)
    if isinstance(wanted, Exception):
        assert isinstance(got, Exception), f"{got!r}, not {wanted!r}"
    elif isinstance(got, Exception):
        is_complex = any(np.asarray(x).dtype.kind == "c" for x in numpys)
        assert is_complex, f"{got!r}, not {wanted!r}"
    else:
        same(got, wanted)


def test_products_of_rows_of_all_dtypes(rt):
    for a, b in itertools.product(DTYPES, repeat=2):
        x, y = numbers(a), numbers(b)
        compare(operator.matmul, (x, y), (rt.array(x), rt.array(y)))
    for number in (True, 2, 0.5, np.int8(3)):
        x = numbers(DTYPES[-1])
        compare(operator.matmul, (x, number), (rt.array(x), number))
        compare(operator.matmul, (number, x), (number, rt.array(x)))


@pytest.mark.parametrize("function", IN_PLACE, ids=name_of)
def test_operators_in_place(rt, function):
    for a, b in itertools.product(DTYPES, repeat=2):
        x, y = numbers(a), numbers(b)
        ours = rt.array(x)
        array = ours
        compare(function, (x, y), (ours, rt.array(y)))
        assert ours is array
    view = rt.array(np.arange(6.0))
    view[::2] += 10
    np.testing.assert_array_equal(view.numpy(), [10, 1, 12, 3, 14, 5])


def test_divmod_gives_two(rt):
    x, y = np.array([7.0, -7, 3]), np.array([2.0, 2, -2])
    for pair in ((x, y), (x, 2.0), (7.0, y)):
        ours = [rt.array(v) if v is x or v is y else v for v in pair]
        for both in (divmod, rt.fuse(divmod)):
            for got, wanted in zip(both(*ours), divmod(*pair), strict=True):
                assert_close(got.numpy(), wanted)
    with pytest.raises(TypeError):
        pow(rt.array(x), 2, 3)


class Other:
    """An object of a type that NumPy does not know."""


@pytest.mark.parametrize(
    "other", ["text", b"", None, {}, {1.0}, Other(), ["a"]]
)
def test_wrong_operands_are_type_errors(rt, other):
    values = np.array([1.0, 2.0])
    x = rt.array(values)
    for function in (operator.add, operator.lt):
        with pytest.raises(TypeError):
            function(x, other)
        with pytest.raises(TypeError):
            function(other, x)
    for function in (operator.eq, operator.ne):
        for pair in ((x, other), (other, x)):
            wanted = function(values, other)
            np.testing.assert_array_equal(function(*pair).numpy(), wanted)


COMPARISONS = [
    getattr(operator, name) for name in ["eq", "ne", "lt", "le", "gt", "ge"]
]


@pytest.mark.parametrize(
    "data", [[1, 2, 3], (1, 0, 3), range(3), [[1], [2]], [2.5], [True, 0, 9]]
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "uint64"])
def test_sequences_are_compared_by_elements(rt, data, dtype):
    for values in (np.arange(3).astype(dtype), np.arange(3).astype(dtype)[:1]):
        x = rt.array(values)
        for function in COMPARISONS:
            for pair, known in (
                ((x, data), (values, data)),
                ((data, x), (data, values)),
            ):
                np.testing.assert_array_equal(
                    function(*pair).numpy(), function(*known)
                )
        assert (data in x) == (data in values)


def test_arrays_of_others_are_operands(rt):
    x = rt.array([1.0, 2.0])
    if rt.backend == "host":
        for made in (x + np.ones(2), np.ones(2) + x, np.float32(1) + x):
            assert isinstance(made, gpuos.Array)
            assert made.tolist() == [2, 3]
    else:
        with pytest.raises(gpuos.InvalidArgument):
            x + np.ones(2)


@pytest.mark.torch
def test_tensors_are_operands(rt):
    torch = pytest.importorskip("torch")
    x = rt.array([1.0, 2.0])
    ones = torch.ones(2, device="cpu" if rt.backend == "host" else "cuda")
    assert (x + ones).tolist() == [2, 3]


# ---- Assignment.

INDICES = [
    ...,
    0,
    -1,
    (1, 2),
    (slice(None), 1),
    slice(1, None),
    (slice(None), slice(None, None, 2)),
    (slice(None), slice(None, None, -1)),
    (0, slice(1, 3)),
    (None, 1),
    (..., 0),
    slice(0, 0),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize(
    "dtype", ["float32", "int16", "bool", "complex64", "complex128"]
)
def test_assignment(rt, index, dtype):
    start = sample(np.dtype(dtype))[:12].reshape(3, 4)
    shape = start[index].shape
    values = [1, True, np.float32(2.5), np.ones(shape, "int8")]
    values += [np.ones((1,) * 2 + shape[-1:])] if len(shape) == 2 else []
    values += [[7] * shape[-1]] if shape else []
    for value in values:
        wanted, got = start.copy(), rt.array(start)
        quietly(operator.setitem, wanted, index, value)
        got[index] = value
        np.testing.assert_array_equal(got.numpy(), wanted)
        if isinstance(value, np.ndarray):
            got[index] = 0
            got[index] = rt.array(value)
            np.testing.assert_array_equal(got.numpy(), wanted)


def test_turned_arrays_are_read_first(rt):
    wanted = np.arange(9).reshape(3, 3)
    got = rt.array(wanted)
    got += got.T
    got[...] = got[::-1, ::-1].T
    got[got.T > 5] = got.T[0, 1]
    wanted = wanted + wanted.T
    wanted = wanted[::-1, ::-1].T.copy()
    wanted = np.where(wanted.T > 5, wanted.T[0, 1], wanted)
    np.testing.assert_array_equal(got.numpy(), wanted)


ROW_MASK = np.array([True, False, True])


@pytest.mark.parametrize(
    ("mask", "value"),
    [
        (np.arange(12).reshape(3, 4) % 3 > 0, 10),
        (np.arange(12).reshape(3, 4) % 3 > 0, np.arange(8)),
        (ROW_MASK, 10),
        (ROW_MASK, np.arange(4)),
        (ROW_MASK, np.arange(8).reshape(2, 4)),
    ],
)
def test_masks_select_elements_or_rows(rt, mask, value):
    start = np.arange(12).reshape(3, 4)
    for own in (mask, rt.array(mask)):
        wanted, got = start.copy(), rt.array(start)
        wanted[mask] = got[own] = value
        np.testing.assert_array_equal(got.numpy(), wanted)
    # The error of got[mask] += 10 names this line.
    wanted[mask] += 10
    mask = mask.reshape(mask.shape + (1,) * (2 - mask.ndim))
    got[...] = np.where(rt.array(mask), got + 10, got)
    np.testing.assert_array_equal(got.numpy(), wanted)
    with pytest.raises(gpuos.InvalidArgument, match="mask of shape"):
        got[rt.array(np.ones(4, bool))] = 0


def test_wrong_assignments_are_refused(rt):
    x = rt.array(np.zeros((2, 3)))
    for index, value in [(0, np.ones(4)), (..., np.ones((3, 2)))]:
        with pytest.raises(gpuos.InvalidArgument):
            x[index] = rt.array(value)
    with pytest.raises(IndexError):
        x[2] = 1
    assert x.tolist() == [[0] * 3] * 2


# ---- One element.


def test_elements_become_numbers(rt):
    x = rt.array(np.array([[2.5]]))
    assert (float(x), int(x), complex(x), bool(x)) == (2.5, 2, 2.5 + 0j, True)
    assert (x.item(), x.item(0, 0), x.tolist()) == (2.5, 2.5, [[2.5]])
    assert not rt.array(np.array(0.0))
    assert range(10)[rt.array(np.array(3))] == 3
    assert 2.5 in x
    assert 3 not in x
    two = rt.array([1.0, 2.0])
    for function in (float, int, complex):
        with pytest.raises(TypeError, match=r"shape \(2,\)"):
            function(two)
    with pytest.raises(ValueError, match=r"shape \(2,\); call any"):
        bool(two)
    for wrong in (two, rt.array(np.array(1.0)), rt.array([1])):
        with pytest.raises(TypeError, match="as an index"):
            operator.index(wrong)


def test_str_and_repr_print_the_values(rt):
    x = rt.array(np.arange(3))
    assert str(x) == "[0 1 2]"
    assert "shape=(3,)" in repr(x)
    assert [int(element) for element in x] == [0, 1, 2]
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


# ---- NumPy's protocols.


def test_ufuncs_have_out_where_and_dtype(rt):
    x = rt.array(np.arange(4, dtype="float32"))
    out = rt.zeros(4)
    assert np.add(x, 1, out=out) is out
    assert out.tolist() == [1, 2, 3, 4]
    assert np.sqrt(x, out=out, where=x > 1).tolist()[:2] == [1, 2]
    assert np.add(x, 1, dtype="float64").dtype == np.float64
    assert np.multiply(x, rt.array(np.ones(4)), out=out).dtype == np.float32
    with pytest.raises(gpuos.InvalidArgument, match="expected out= with"):
        np.sqrt(x, where=x > 1)
    with pytest.raises(gpuos.InvalidArgument, match="an out of float64"):
        np.add(rt.array([1]), 0.5, out=rt.array([1]))
    with pytest.raises(gpuos.InvalidArgument, match="casting"):
        np.add(x, 1, casting="no")
    with pytest.raises(gpuos.InvalidArgument, match=r"add\.reduce"):
        np.add.reduce(x)


def test_functions_that_only_look_take_arrays(rt, tmp_path):
    x = rt.array([1.0, 2.0])
    np.save(tmp_path / "x.npy", x)
    assert np.load(tmp_path / "x.npy").tolist() == [1, 2]
    assert np.array2string(x) == "[1. 2.]"
    assert np.allclose(x, x + 1e-12)
    assert np.array_equal(x, x.copy())
    assert not np.array_equal(x, x[:1])
    assert (np.shape(x), np.size(x), np.ndim(x)) == ((2,), 2, 1)
    assert np.result_type(x, rt.ones(1)) == np.float64


def test_a_captured_array_is_still_refused(rt):
    x = rt.array([1.0, 2.0])
    for function in (lambda v: v + x, lambda v: x + v, lambda v: np.add(x, v)):
        with pytest.raises(gpuos.InvalidArgument, match="must be an argument"):
            rt.fuse(function)(x)


def test_functions_of_gpuos_take_arrays(rt):
    x = rt.array([[-1.0, 2.0]])
    assert F.relu(x).tolist() == [[0, 2]]
    assert F.where(x > 0, x, 0.5).tolist() == [[0.5, 2]]
    np.testing.assert_allclose(F.softmax(x, axis=-1).numpy().sum(), 1)
    with pytest.raises(gpuos.InvalidArgument):
        F.softmax(x, axis=5)


# ---- Views and new arrays.

SHAPES = [(), (1,), (3,), (2, 3), (1, 3), (2, 1, 3), (0, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_views_are_numpys(rt, shape):
    wanted = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    got = rt.array(wanted)
    axes = range(-len(shape) - 1, len(shape) + 1)
    calls = [(np.expand_dims, (axis,)) for axis in axes]
    calls += [(np.squeeze, ()), *((np.squeeze, (axis,)) for axis in axes)]
    for function in (np.swapaxes, np.moveaxis):
        calls += [
            (function, pair) for pair in itertools.product(axes, repeat=2)
        ]
    for function, args in calls:
        try:
            expected = function(wanted, *args)
        except ValueError:
            with pytest.raises((ValueError, IndexError)):
                function(got, *args)
            continue
        made = function(got, *args)
        np.testing.assert_array_equal(made.numpy(), expected)
        assert made.size == 0 or made.ptr == got.ptr


def test_reshape_copies_where_it_must(rt):
    x = rt.array(np.arange(6).reshape(2, 3))
    assert np.reshape(x, (3, 2)).ptr == x.ptr
    assert np.reshape(x.T, 6).tolist() == [0, 3, 1, 4, 2, 5]
    assert x.ravel().ptr == x.ptr
    assert x.flatten().ptr != x.ptr
    with pytest.raises(gpuos.InvalidArgument):
        np.reshape(x, (4, 2))


def test_arrays_are_joined(rt):
    shapes = [(), (2,), (3,), (2, 3), (1, 3), (2, 1)]
    for a, b in itertools.product(shapes, repeat=2):
        x, y = np.ones(a), np.arange(np.prod(b, dtype=int)).reshape(b)
        for function, axis in itertools.product(
            (np.concatenate, np.stack), (0, 1, -1, 2, None)
        ):
            if function is np.stack and axis is None:
                continue
            ours = rt.array(x), rt.array(y)
            try:
                wanted = function([x, y], axis=axis)
            except ValueError:
                with pytest.raises(ValueError, match=r"concatenate|axis|stack"):
                    function(ours, axis=axis)
                continue
            got = function(ours, axis=axis).numpy()
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


def test_new_arrays(rt):
    for got, wanted in [
        (rt.ones((2, 2)), np.ones((2, 2), "float32")),
        (rt.full(3, 7), np.full(3, 7)),
        (rt.full((2,), 2.5), np.full(2, 2.5)),
        (rt.full(2, 1, "int8"), np.full(2, 1, "int8")),
        (rt.full((2, 2), rt.array([1, 2])), np.full((2, 2), [1, 2])),
        (rt.full(2, True), np.full(2, True)),
        (rt.arange(4), np.arange(4)),
        (rt.arange(1, 2, 0.25), np.arange(1, 2, 0.25)),
        (rt.arange(3, dtype="float32"), np.arange(3, dtype="float32")),
        (rt.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (rt.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, False)),
        (rt.zeros_like(rt.ones(2, "int16")), np.zeros(2, "int16")),
        (rt.zeros_like(np.ones((1, 2)), "bool"), np.zeros((1, 2), "bool")),
    ]:
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(got.numpy(), wanted)
        assert got.runtime is rt


SHAPE = (2, 3)
SLICES = [
    slice(None),
    slice(None, 1),
    slice(1, None),
    slice(None, None, -1),
    slice(None, 2),
    slice(None, None, 2),
    0,
    1,
]
VIEWS = [
    *itertools.product(SLICES, repeat=2),
    *((None, *each) for each in itertools.product(SLICES, repeat=2)),
]


def subtract(x, y):
    x -= y


def assign(x, y):
    x[...] = y


def maximum(x, y):
    np.maximum(x, y, out=x)


def fits(shape, to):
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


@pytest.mark.never(
    lambda change, dtype: change is maximum and dtype.startswith("complex"),
    reason="not for complex numbers",
)
@pytest.mark.parametrize("change", [subtract, assign, maximum])
@pytest.mark.parametrize(
    "dtype", ["float32", "int64", "complex64", "complex128"]
)
def test_a_part_into_a_part(rt, change, dtype):
    start = (np.arange(6).reshape(SHAPE) * 3 % 7).astype(dtype)
    if dtype.startswith("complex"):
        start += np.complex64(1j) * start.T.reshape(SHAPE)
    for to, of in itertools.product(VIEWS[: len(SLICES) ** 2], VIEWS):
        n = start.copy()
        if not fits(n[of].shape, n[to].shape):
            continue
        change(n[to], n[of].copy()) if n[to].ndim else None
        x = rt.array(start)
        if x[to].ndim == 0:
            continue  # NumPy's is a number, and none of its memory
        change(x[to], x[of])
        np.testing.assert_array_equal(x.numpy(), n, err_msg=f"{to} {of}")


PARTS = {
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "whole": lambda x: x,
    "row": lambda x: x[:1],
}


def cannot_be(to, of):
    """Return whether it fits into no row, or NumPy refuses it or warns."""
    to, of = (PARTS[part](np.zeros(SHAPE, "complex64")) for part in (to, of))
    kinds = of.dtype.kind + to.dtype.kind
    return not fits(of.shape, to.shape) or kinds == "cf"


@pytest.mark.never(cannot_be, reason="NumPy has no such assignment")
@pytest.mark.parametrize("change", [subtract, assign])
@pytest.mark.parametrize("to", PARTS)
@pytest.mark.parametrize("of", PARTS)
def test_parts_of_complex_numbers(rt, change, to, of):
    start = (np.arange(6) + np.arange(6)[::-1] * 1j).reshape(SHAPE)
    start = start.astype("complex64")
    n, x = start.copy(), rt.array(start)
    change(PARTS[to](n), PARTS[of](n).copy())
    change(PARTS[to](x), PARTS[of](x))
    np.testing.assert_array_equal(x.numpy(), n)


@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_are_attributes_that_can_be_set(rt, part):
    n = np.array([1 + 2j, 3 - 4j], "complex64")
    x = rt.array(n)
    for value in (7, np.float32(2), np.array([5, 6], "float32")):
        setattr(n, part, value)
        setattr(x, part, value)
        np.testing.assert_array_equal(x.numpy(), n)
    for array in (x, n):
        before = getattr(array, part)
        before -= 1
        setattr(array, part, before)
    np.testing.assert_array_equal(x.numpy(), n)


def test_real_elements_have_no_imaginary_part_to_set(rt):
    x = rt.ones(3)
    x.real = 2
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match=r"complex dtype, .* got float32"):
        x.imag = 1
