"""What CuPy's suite of fusion has its users write, as fused functions.

Each construct is compared with NumPy on both backends; what a fused function
does otherwise on purpose is asserted with the sentence that says what to write.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import threading

import numpy as np
import pytest
from peers_support import check, numbers, on, refused, same

import gpuos

PAIRS = ["bool", "int8", "uint64", "float16", "float32", "complex64"]
REAL_PAIRS = PAIRS[:-1]

# ---- Operators, of arrays, NumPy's scalars and Python's numbers.

OPERATORS = {
    "neg": lambda x, _: -x,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "invert": lambda x, _: ~x,
}
KINDS = {
    "array": numbers,
    "scalar": lambda dtype, seed: np.dtype(dtype).type(3 - seed),
    "primitive": lambda dtype, seed: np.dtype(dtype).type(3 - seed).item(),
}
SIDES = [
    ("array", "array"),
    ("array", "scalar"),
    ("array", "primitive"),
    ("scalar", "array"),
    ("primitive", "array"),
]


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator(rt, name, sides):
    function = OPERATORS[name]
    if name in ("neg", "invert") and sides[0] != "array":
        pytest.skip("depends on no array")
    for one, other in itertools.product(PAIRS, PAIRS):
        if name == "pow" and ("complex64" in (one, other) or one == "bool"):
            continue  # programs have no complex powers, NumPy odd ones of bools
        if "complex64" in (one, other) and name in ("lt", "le", "gt", "ge"):
            continue  # NumPy orders complex numbers, programs do not
        x = KINDS[sides[0]](one, seed=0)
        y = KINDS[sides[1]](other, seed=1)
        if "uint64" in (one, other) and "int8" in (one, other):
            continue  # no integer holds both
        is_wide = np.result_type(x, y).name == "complex128"
        if is_wide and name in ("eq", "ne"):
            assert "which give complex128" in refused(rt, function, x, y)
            continue
        check(rt, function, x, y)


IN_PLACE = {
    name: getattr(operator, f"i{name}")
    for name in (
        "add sub mul truediv mod pow lshift rshift and xor or floordiv".split()
    )
    if hasattr(operator, f"i{name}")
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_in_place_makes_a_new_value(rt, name, kind):
    def change(x, y):
        return IN_PLACE[name](x, y)

    dtype = "float32" if name == "truediv" else "int32"
    x, y = numbers(dtype), KINDS[kind](dtype, seed=1)
    given = rt.array(x)
    got = rt.fuse(change)(given, on(rt, y))
    np.testing.assert_array_equal(given, x)  # NumPy's would be changed
    same(got, change(x.copy(), y))
    rt.fuse(change)(given, on(rt, y), out=given)  # what to write instead
    same(given, change(x.copy(), y))


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

METHODS = {
    "copy": lambda x: x.copy(),
    "sum": lambda x: x.sum(),
    "prod": lambda x: x.prod(),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "all": lambda x: x.all(),
    "any": lambda x: x.any(),
    "mean": lambda x: x.mean(),
    "clip": lambda x: x.clip(2, 3),
    "ravel": lambda x: x.ravel(),
    "reshape": lambda x: x.reshape(4, -1),
    "squeeze": lambda x: x[None].squeeze(),
    "shape": lambda x: x / x.shape[1] + x.size + len(x),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method(rt, name):
    for dtype in PAIRS if name in ("copy", "sum", "ravel") else REAL_PAIRS:
        if name in ("clip", "max", "min") and dtype == "bool":
            continue
        check(rt, METHODS[name], numbers(dtype))


def test_astype(rt):
    for one, other in itertools.product(REAL_PAIRS, PAIRS):
        check(rt, lambda x, to=other: x.astype(to), numbers(one))


# ---- Functions of NumPy that CuPy fuses.

UNARY = (
    "invert logical_not isfinite isinf isnan sin cos tan arcsin arccos arctan "
    "sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg degrees radians "
    "around round rint floor ceil trunc fix exp expm1 exp2 log log10 log2 "
    "log1p signbit frexp reciprocal negative angle conj real imag modf sqrt "
    "cbrt square absolute abs sign sinc sum prod amax amin max min all any "
    "isposinf isneginf isreal iscomplex zeros_like ones_like atleast_1d "
    "atleast_2d atleast_3d nanprod average rot90"
).split()
BINARY = (
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift greater "
    "greater_equal less less_equal equal not_equal logical_and logical_or "
    "logical_xor maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 "
    "ldexp copysign nextafter add subtract multiply power divide true_divide "
    "floor_divide fmod remainder divmod isclose outer append "
    "broadcast_arrays"
).split()
COMPLEX = "isfinite isinf isnan sum prod square real imag conj negative".split()
LIMITED = ("arcsin", "arccos", "arctanh")  # to numbers of at most 1


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_array(rt, name):
    function = getattr(np, name)
    # NumPy 1 and bools: what it deprecated.
    for dtype in REAL_PAIRS + ["complex64"] * (name in COMPLEX):
        x = numbers(dtype)
        if name in LIMITED:
            x = x % np.asarray(2, dtype) if dtype != "bool" else x
        if dtype == "bool" and name in ("sign", "round", "around", "average"):
            continue
        check(rt, lambda x: function(x), x)


@pytest.mark.parametrize("name", ["frexp", "modf", "isposinf", "isneginf"])
def test_the_odd_numbers(rt, name):
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1, 0.5, -3.75, 1e-44, 2047, 3e4]
    for dtype in ("float16", "float32", "float64"):
        x = np.array([*special, *2.0 ** np.arange(-24, 16)]).astype(dtype)
        function = getattr(np, name)
        check(rt, lambda x: function(x), x)
        check(rt, lambda x: function(x), -x)
        if name == "modf":
            signs = lambda x: [np.signbit(part) for part in np.modf(x)]
            check(rt, signs, x[~np.isnan(x)])


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arrays(rt, name):
    function = getattr(np, name)
    for one, other in itertools.product(REAL_PAIRS, REAL_PAIRS):
        if name == "ldexp" and other not in ("int8", "bool"):
            continue
        if "uint64" in (one, other) and "int8" in (one, other):
            continue
        check(
            rt, lambda x, y: function(x, y), numbers(one), numbers(other, seed=1)
        )


def test_where(rt):
    mask = numbers("i4") > 2
    for one, other in itertools.product(PAIRS, PAIRS):
        check(rt, np.where, mask, numbers(one), numbers(other, seed=1))


@pytest.mark.parametrize("decimals", [0, 1, 2, -1])
def test_round_takes_decimals(rt, decimals):
    x = np.random.default_rng(0).normal(0, 50, 99)
    for dtype in ("float32", "float64"):
        check(rt, lambda x: np.round(x, decimals), x.astype(dtype))
    check(rt, lambda x: x.round(abs(decimals)), x.astype("i4"))


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
def test_arrays_beside_each_other(rt, name):
    function = getattr(np, name)
    for shape in ((3,), (2, 3), (2, 3, 4)):
        if name == "column_stack" and len(shape) > 2:
            continue
        x, y = numbers("f4", shape), numbers("f8", shape, seed=1)
        check(rt, lambda x, y: function([x, y]), x, y)


@pytest.mark.parametrize("name", ["dot", "inner", "vdot", "matmul"])
def test_the_product_of_two_rows(rt, name):
    function = getattr(np, name)
    for dtype in ("bool", "int8", "float32", "complex64"):
        x, y = numbers(dtype, 5), numbers(dtype, 5, seed=1)
        check(rt, function, x, y)
        check(rt, lambda x, y: x @ y, x, y)
    said = refused(rt, lambda x: x @ x, numbers("f4", (3, 3)))
    assert "no products of matrices; call this one with arguments" in said


@pytest.mark.parametrize(
    "name", ["sort", "cumsum", "unique", "median", "i0", "gcd", "nonzero"]
)
def test_what_programs_have_not_says_where_to_call_it(rt, name):
    function = getattr(np, name)
    args = (numbers("i4"),) * (2 if name == "gcd" else 1)
    said = refused(rt, lambda *x: function(*x), *args)
    assert said.startswith(f"numpy.{name}: a fused function has no such")
    assert "call this one with arguments or results" in said


@pytest.mark.parametrize("name", ["sort", "cumsum", "take", "fill", "strides"])
def test_an_attribute_that_a_value_has_not_says_so(rt, name):
    with pytest.raises(AttributeError, match=f"^{name}: a traced value has no"):
        rt.fuse(lambda x: getattr(x, name))(rt.zeros(3))
    assert not rt.fuse(lambda x: x + hasattr(x, name))(rt.zeros(1)).numpy()


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


# ---- What an operand may be.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.add(x),
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


# ---- Reductions, before and behind elementwise operations.


@pytest.mark.parametrize("shape", [(1,), (3, 4), (2, 1, 4), (2, 0, 3)], ids=str)
def test_a_reduction_along_any_axis(rt, shape):
    for axis in range(-4, 5):
        check(rt, lambda x, a=axis: np.sum(x, a), numbers("i8", shape))
        check(rt, lambda x, axis: np.sum(x, axis=axis), numbers("i8", shape), axis)


@pytest.mark.parametrize(
    "axis", [None, (0,), (1,), (0, 1), (1, 2), (0, 2), (1, 3), (0, 0), (-1, 1)]
)
def test_a_reduction_along_several_axes(rt, axis):
    for shape in ((3, 4), (2, 3, 4), (2, 3, 2, 2, 3)):
        check(rt, lambda x: np.sum(x, axis=axis), numbers("i8", shape))


def test_a_reduction_of_a_dtype(rt):
    for one, other in itertools.product(REAL_PAIRS[1:], REAL_PAIRS[1:]):
        check(rt, lambda x, d=other: x.sum(axis=0, dtype=d), numbers(one))


AXES = [None, 0, 1]
REDUCTIONS = {
    "before": lambda x, y, a: np.sum(x + y, a),
    "behind": lambda x, y, a: np.sum(x, a) + 3,
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
        lambda x, y, z: x + y[1],
        lambda x, y, z: x + z[0] + y,
        lambda x, y, z: x + x[0] + x[1],
        lambda x, y, z: x + x[0, 1] + x[1] + x + x[2, 1],
        lambda x, y, z: x[0][1] + x[1][0],
        lambda x, y, z: x[0][1] + x[1] + y[0] + x[1][0] + x,
    ],
)
def test_indices_in_arithmetic(rt, function):
    check(rt, function, numbers("i4"), numbers("f4", 4), numbers("i4", 1))


# ---- Results, names, and functions that call each other.


def swaps(x, y, z):
    w = x * y + z
    x, w = w, x
    return z * w + y + x


def adds_often(x, y, _z):
    total = 0
    for _ in range(10):
        total += x + y
    return total


def ignores(x, y, _z):
    z = x + y  # noqa: F841
    return x


def of_many_shapes(x, y, _z):
    a = x + y
    b = np.sum(a, axis=0)
    x = x + b
    return np.sum(x, axis=0), b, x, a


def casts_between(x, y, z):
    x = x.astype("int32")
    y = x.astype("float32")
    return x + y, y + z, z + x


@pytest.mark.parametrize(
    "function",
    [
        swaps,
        adds_often,
        ignores,
        of_many_shapes,
        casts_between,
        lambda x, y, z: (x + y, y + z, z * x),
        lambda x, y, z: (x,),
        lambda x, y, z: [x, (y, {"z": z})],
        lambda x, y, z: (x * y, None, "name", 3),
        lambda x, y, z: {"x": x, "n": 2.5, "none": ()},
        lambda x, y, z: (x + x) * (x + y) * (y + y),
    ],
)
def test_results(rt, function):
    check(rt, function, *(numbers("f4", seed=i) for i in range(3)))


def test_a_result_that_is_no_array_is_refused(rt):
    for result in (None, (), [], 3, "text"):
        said = refused(rt, lambda _x, r=result: r, numbers("f4"))
        assert "expected arrays computed from the arguments" in said


def test_none_as_an_argument(rt):
    def choose(x, y, z):
        return x * z if y is None else x + y + z

    x = numbers("f4")
    check(rt, choose, x, None, x)
    check(rt, choose, x, x, x)


def test_an_array_that_is_given_twice(rt):
    x = rt.array(numbers("f4", (4, 4)))
    wanted = x.numpy() * 2 + x.numpy().T
    got = rt.fuse(lambda x, y, z: x + y + z)(x, x, x.T)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("decorate", [gpuos.fuse, gpuos.fuse()])
def test_the_decorator_keeps_name_and_docstring(decorate):
    @decorate
    def twice(x):
        """Return it twice."""
        return x + x

    assert (twice.__name__, twice.__doc__) == ("twice", "Return it twice.")
    assert "twice" in repr(twice)


def test_the_name_is_that_of_the_function():
    with pytest.raises(TypeError, match="kernel_name"):
        gpuos.fuse(lambda x: x, kernel_name="mine")


def test_fused_functions_call_each_other(rt):
    f = gpuos.fuse(lambda x, y: (x - y * 2, x + y))

    @gpuos.fuse
    def g(x, y, z):
        a, b = f(x + z, z - x * 3)
        c, d = f(x - y, y - z)
        return a + b * c - d

    def h(x, y, f=f, g=g):
        a, b = f(x + y * 2, y * 3)
        return a - b * g(x - 2, x - 3, -y)

    plain_f = f.__wrapped__
    x = numbers("f4")
    fused = gpuos.fuse(lambda x, y: h(x, y))
    got = fused(rt.array(x), rt.array(x))

    def plain_g(x, y, z):
        a, b = plain_f(x + z, z - x * 3)
        c, d = plain_f(x - y, y - z)
        return a + b * c - d

    same(got, h(x, x, plain_f, plain_g))
    assert f.programs() == [] == g.programs()
    assert len(fused.programs()) == 1


def test_what_is_traced_again_and_what_is_not(rt):
    traced = []

    @rt.fuse
    def f(x, y):
        traced.append((x.dtype, y.dtype, x.ndim, y.ndim))
        return x + y

    def call(one, other):
        f(rt.array(one), rt.array(other))
        return len(traced)

    x, y = numbers("i4"), numbers("i2")
    assert [call(x, x), call(x, x), call(x, y), call(x, y)] == [1, 1, 2, 2]
    assert [call(y, x), call(x, x)] == [3, 3]
    # Shapes are no part of it, nor is what shares memory.
    assert [call(x[:2], x[:2]), call(x[:1], x), call(x[0], x)] == [3, 3, 4]
    a = rt.array(numbers("i4", (3, 3)))
    f(a, a)
    f(a, a.T)
    assert len(traced) == 4


def test_threads_of_many_dtypes(rt):
    f = rt.fuse(lambda x, y: x + y * 2)
    results = [None] * 40

    def run(i):
        x = numbers("i8" if i % 2 else "f8", seed=i)
        results[i] = f(rt.array(x), rt.array(x)).numpy()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, got in enumerate(results):
        same(got, numbers("i8" if i % 2 else "f8", seed=i) * 3)


# ---- A whole layer.


def batch_norm(x, gamma, beta, mean, var, size, adjust):
    decay, eps = 0.9, 2e-5
    expander = (None, slice(None), None, None)
    batch_mean = np.sum(x, axis=(0, 2, 3)) / size
    diff = x - batch_mean[expander]
    batch_var = np.sum(diff * diff, axis=(0, 2, 3)) / size
    inv_std = 1.0 / np.sqrt(batch_var + eps)
    y = gamma[expander] * diff * inv_std[expander] + beta[expander]
    mean = mean * decay + (1 - decay) * batch_mean
    var = var * decay + (1 - decay) * adjust * batch_var
    return y, mean, var


def test_batch_normalisation(rt):
    x = np.random.default_rng(0).normal(2, 5, (4, 6, 5, 7)).astype("f4")
    ones, zeros = np.ones(6, "f4"), np.zeros(6, "f4")
    size = x.size // 6
    args = (x, ones, zeros, zeros, ones, float(size), size / (size - 1))
    check(rt, batch_norm, *args)
    # The running ones are written in place by the call.
    given = on(rt, list(args))
    y = rt.empty(x.shape)
    rt.fuse(batch_norm)(*given, out=(y, given[3], given[4]))
    same((y, given[3], given[4]), batch_norm(*args))
