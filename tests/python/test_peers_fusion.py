"""The user code in CuPy's suite of fusion, as fused functions.

Each construct is compared with NumPy on both backends. Intended differences
are asserted with the sentence that says what to write.
"""

from __future__ import annotations

import inspect
import operator

import numpy as np
import pytest
from peers_support import PAIRS, REAL_PAIRS, check, numbers, on, refused, same

import gpuos

# ---- Operators.

IN_PLACE = {
    name: getattr(operator, f"i{name}")
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "mod",
        "pow",
        "lshift",
        "rshift",
        "and",
        "xor",
        "or",
        "floordiv",
    )
}


OTHERS = {
    "array": numbers,
    "scalar": lambda dtype, seed: np.dtype(dtype).type(3 - seed),
    "primitive": lambda dtype, seed: np.dtype(dtype).type(3 - seed).item(),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_an_operator_in_place_makes_a_new_value(rt, kind):
    for name, change in IN_PLACE.items():

        def changed(x, y, change=change):
            return change(x, y)

        dtype = "float32" if name == "truediv" else "int32"
        x, y = numbers(dtype), OTHERS[kind](dtype, seed=1)
        given = rt.array(x)
        got = rt.fuse(changed)(given, on(rt, y))
        np.testing.assert_array_equal(given, x)  # NumPy's would be changed
        same(got, changed(x.copy(), y))
        rt.fuse(changed)(given, on(rt, y), out=given)  # what to write instead
        same(given, changed(x.copy(), y))


def changes(x, y):
    x += y


def changes_twice(x, y):
    x += y
    y += x


def sets_all(x, y):
    x[...] = y
    return x


def sets_a_row(x, y):
    x[1] = y
    return x


def adds_into(x, y):
    np.add(x, y, out=x)
    return x


def copies_into(x, y):
    np.copyto(x, y)
    return x


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (changes, "return x, and give out=x to the call"),
        (changes_twice, "return x, and give out=x to the call"),
        (sets_all, "make a new one, which the function returns"),
        (sets_a_row, "where() and concatenate() make a new one"),
        (adds_into, "return what is computed, and give out= to the call"),
        (copies_into, "where() makes a new one, which the function returns"),
    ],
)
def test_what_changes_an_argument_says_what_to_write(rt, function, told):
    assert told in refused(rt, function, numbers("f4"), numbers("f4", seed=1))


# ---- Methods and casts.

# Methods that are functions of numbers are in `test_faces.py`.
METHODS = {
    "copy": lambda x: x.copy(),
    "clip": lambda x: x.clip(2, 3),
    "ravel": lambda x: x.ravel(),
    "reshape": lambda x: x.reshape(4, -1),
    "squeeze": lambda x: x[None].squeeze(),
    "shape": lambda x: x / x.shape[1] + x.size + len(x),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method(rt, name):
    for dtype in PAIRS if name in ("copy", "ravel") else REAL_PAIRS:
        if (name, dtype) != ("clip", "bool"):
            check(rt, METHODS[name], numbers(dtype))


# ---- Broadcasting.

SHAPES = [
    ((1,), (1,)),
    ((3, 4), (3, 4)),
    ((10,), (1,)),
    ((3, 4), (3, 1)),
    ((3, 4), (4,)),
    ((2, 3, 4), (1, 1, 1)),
    ((3, 1), (1, 4)),
    ((2, 1, 4), (3, 1)),
    ((), ()),
    ((2, 3), ()),
    ((0,), (1,)),
    ((2, 0, 3), (0, 1)),
    ((256, 256), (256, 1)),
]
WRONG_SHAPES = [
    ((2,), (3,)),
    ((2,), (0,)),
    ((3, 2), (3, 3)),
    ((3, 2), (2, 2)),
    ((3,), (1, 2)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes_broadcast(rt, shapes):
    for one, other in (shapes, shapes[::-1]):
        x, y = numbers("i8", one), numbers("i8", other, seed=1)
        check(rt, operator.add, x, y)


@pytest.mark.parametrize("shapes", WRONG_SHAPES, ids=str)
def test_shapes_that_do_not_broadcast_are_named_where_they_meet(rt, shapes):
    def meets(x, y):
        z = x * 2
        return z + y  # here

    fused = rt.fuse(meets)
    same_rank = [np.ones((1,) * len(shape)) for shape in shapes]
    fused(*on(rt, same_rank))  # traced; the next call is not
    lines, first = inspect.getsourcelines(meets)
    line = first + next(i for i, text in enumerate(lines) if "here" in text)
    with pytest.raises(gpuos.InvalidArgument) as caught:
        fused(*on(rt, [np.ones(shape) for shape in shapes]))
    reason, place = str(caught.value).splitlines()
    one, other = shapes
    said = "add: expected shapes that broadcast, got"
    assert reason in (f"{said} {one} and {other}", f"{said} {other} and {one}")
    assert place == f"  {__file__}:{line}: return z + y  # here"


# ---- Kinds of operands.


@pytest.mark.parametrize(
    "function",
    [
        np.add,
        lambda x: np.add(x, x, x, x),
        lambda x: x + None,
        lambda x: x + object(),
        lambda x: np.add(x, x, out=object()),
        lambda x: np.add(x, x, object()),
    ],
)
def test_wrong_operands_are_refused(rt, function):
    check(rt, function, numbers("i8"))


def test_out_of_none_is_none(rt):
    check(rt, lambda x: np.add(x, x, out=None), numbers("i8"))


def test_a_ufunc_takes_a_dtype(rt):
    for dtype in ("float64", "int64", "float32"):
        check(rt, lambda x, d=dtype: np.multiply(x, x, dtype=d), numbers("i4"))
    said = refused(rt, lambda x: np.add(x, 1, where=x > 2), numbers("i4"))
    assert "return what is computed of where()" in said


NUMBERS = [1, 1.0, True, 1j, np.float64(1), np.int8(1), np.uint64(1)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_are_as_weak_as_numpys(rt, number):
    for dtype in PAIRS:
        x = numbers(dtype)
        check(rt, lambda x: x + number, x)
        check(rt, lambda x: number + x, x)
        check(rt, lambda x, k: x + k, x, number)
        check(rt, lambda k, x: k + x, number, x)
        check(rt, lambda x, *, k: x + k, x, k=number)


def test_a_number_of_python_stands_behind_one_of_numpy(rt):
    # The kind of each is its own.
    x = numbers("i1")
    check(rt, lambda x, a, k: (x + k, x * a), x, np.float32(1.5), 2)
    check(rt, lambda x, a, k: (x + k, x * a), x, np.int16(3), 2.5)


def test_arithmetic_of_numbers_alone(rt):
    def cast(a, b, x):
        c = a
        a += b
        return x.astype((a + b).dtype) + c

    check(rt, cast, np.int8(1), np.float32(2), numbers("i8"))


def test_a_number_becomes_an_array(rt):
    def add(k, x):
        k += x
        return k

    for k in (1.5, np.float32(2)):
        check(rt, add, k, numbers("f4"))


# ---- Reductions, before and after elementwise operations.


def test_a_reduction_along_an_axis_that_a_call_gives(rt):
    for shape in ((1,), (3, 4), (2, 1, 4), (2, 0, 3)):
        for axis in range(-4, 5):
            x = numbers("i8", shape)
            check(rt, lambda x, axis: np.sum(x, axis=axis), x, axis)


AXES = [None, 0, 1]
REDUCTIONS = {
    "before": lambda x, y, a: np.sum(x + y, a),
    "behind": lambda x, _y, a: np.sum(x, a) + 3,
    "behind with another": lambda x, y, a: np.sum(x, a) + y,
    "both": lambda x, y, a: np.sum(np.sqrt(x) + y, a) * 2 + y,
    "two": lambda x, y, a: (x.sum(a), y.max(a), x * y),
    "a root of a product": lambda x, y, a: np.sqrt(np.prod(x + y, axis=a)),
}


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_beside_others(rt, name, axis):
    x, y = numbers("i8"), numbers("i8", seed=1)
    check(rt, lambda x, y: REDUCTIONS[name](x, y, axis), x, y)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.prod(axis=1).sum(axis=1),
        lambda x: (np.sqrt(x).prod(axis=0) + x).sum(axis=1) * 2,
        lambda x: x.prod(axis=(-1, 1)).sum(axis=0),
        lambda x: x - x.mean(axis=(0, 2), keepdims=True).max(),
    ],
)
def test_reductions_of_reductions(rt, function):
    check(rt, function, numbers("f8", (3, 4, 5)))


# ---- Indices.

INDICES = [
    1,
    -1,
    (1,),
    (1, 0),
    (-1, 0, -2),
    np.s_[:],
    np.s_[::-1],
    np.s_[:, ::-1],
    ...,
    (...,),
    None,
    (None, None, None),
    np.s_[:, 0, ::-1],
    np.s_[1, None, ::-1, None, 2],
    np.s_[..., 2],
    np.s_[1, ...],
    np.s_[1:, ::2],
    (),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index(rt, index):
    for dtype in ("int8", "complex64"):
        check(rt, lambda x: x[index], numbers(dtype, (2, 3, 4)))


@pytest.mark.parametrize(
    ("shape", "index"),
    [((2, 3), (0, 0, 0)), ((2, 3, 4), -3), ((2, 3, 4), 3), ((), 0)],
)
def test_an_index_that_is_not_there(rt, shape, index):
    check(rt, lambda x: x[index], numbers("f4", shape))


def test_an_index_of_a_call(rt):
    x = numbers("f4")
    for i in (0, 1, -1, np.int64(2)):
        check(rt, lambda x, i: x[i] + x[:, i].sum(), x, i)
    check(rt, lambda x, n: x[:n] * 2 + x[n - 1], x, 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y, _z: x + y[1],
        lambda x, y, z: x + z[0] + y,
        lambda x, _y, _z: x + x[0] + x[1],
        lambda x, _y, _z: x + x[0, 1] + x[1] + x + x[2, 1],
        lambda x, _y, _z: x[0][1] + x[1][0],
        lambda x, y, _z: x[0][1] + x[1] + y[0] + x[1][0] + x,
    ],
)
def test_indices_in_arithmetic(rt, function):
    check(rt, function, numbers("i4"), numbers("f4", 4), numbers("i4", 1))
