"""Functions under NumPy's names compared with NumPy: of arrays, and fused."""

import contextlib
import inspect
import itertools
import operator
import re

import numpy as np
import pytest
from fuse_support import ODD, outcome
from numpy_support import agree, functions_of_numpy
from peers_support import on

import gpuos
from gpuos import array_api, numpy_names

V = np.array([3.0, -1.0, 2.5, 0.5, 2.0])
M = np.arange(12.0).reshape(3, 4) - 5.5
N = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, -2.0]])
I = np.array([[4, 0, 2], [7, 1, 9]], "int32")
MASK = M > -2

# Calls with several arrays or keywords; test_numpy_arguments.py has the others.
CALLS = {
    "meshgrid": lambda m: [
        *np.meshgrid(m(V), m(V[:3])),
        *np.meshgrid(m(V), m(V[:2]), m(V[:3]), indexing="ij"),
        *np.meshgrid(m(V), m(V[:2]), sparse=True),
    ],
    "isin": lambda m: [
        np.isin(m(I), m(np.array([2, 9, 5], "int32"))),
        np.isin(m(I), [0, 7], invert=True),
        np.isin(m(M), [0.5]),
    ],
    "pad": lambda m: [
        np.pad(m(V), 2),
        np.pad(m(V), (0, 3), constant_values=7),
        np.pad(m(M), ((1, 0), (2, 1)), constant_values=((1, 2), (3, 4))),
        np.pad(m(I), 1, "edge"),
    ],
    "pad by values": lambda m: [
        np.pad(m(M), ((1, 2), (0, 3)), "edge"),
        np.pad(m(M), ((0, 0), (2, 3)), "reflect"),
        np.pad(m(V), (5, 1), "symmetric"),
        np.pad(m(V), (2, 4), "wrap"),
    ],
    "gradient": lambda m: [
        np.gradient(m(V)),
        np.gradient(m(V), 0.5, edge_order=2),
        *np.gradient(m(M)),
        np.gradient(m(M), 2.0, axis=1),
    ],
    "gradient by places": lambda m: [
        np.gradient(m(M[0] ** 2), m(V[:4].cumsum())),
        np.gradient(m(V), m(V.cumsum()), edge_order=2),
    ],
    "trapezoid": lambda m: [
        trapezoid(m(V)),
        trapezoid(m(M), dx=0.5, axis=0),
        trapezoid(m(M), m(V[:4])),
        trapezoid(m(M), m(M * M), axis=0),
    ],
    "select": lambda m: [
        np.select([m(V) > 2, m(V) < 0], [m(V), -m(V)]),
        np.select([m(V) > 2, m(V) > 0], [m(V), m(V) * 2], default=-9.0),
    ],
    "where=": lambda m: [
        np.sum(m(M), where=m(MASK)),
        np.sum(m(M), 1, where=m(MASK), keepdims=True),
        np.prod(m(M), where=m(MASK[0]), axis=0),
        np.any(m(M > 0), where=m(MASK), axis=0),
        np.all(m(M > 0), where=m(MASK), axis=1),
        np.max(m(M), where=m(MASK), initial=-100.0),
        np.min(m(M), axis=0, where=m(~MASK), initial=3),
        np.mean(m(M), axis=1, where=m(MASK[2])),
        np.var(m(M), axis=1, where=m(MASK[2]), ddof=1),
        np.std(m(M), where=m(MASK)),
        np.sum(m(I), initial=10),
        np.max(m(I), axis=1, initial=8),
        np.prod(m(I), initial=0),
    ],
}
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    CALLS |= {
        "correction=": lambda m: [
            np.var(m(M), correction=1),
            np.std(m(M), axis=0, correction=1),
        ],
    }


# NumPy 1 has it under the other name.
trapezoid = getattr(np, "trapezoid", None) or getattr(np, "trapz", None)


def check(made, expected):
    assert len(made) == len(expected)
    for x, y in zip(made, expected, strict=True):
        assert x.dtype == np.asarray(y).dtype
        np.testing.assert_allclose(
            x.numpy(), y, rtol=1e-14, atol=1e-14, equal_nan=True
        )


@pytest.mark.parametrize("name", CALLS)
def test_arrays_compute_as_numpy(rt, name):
    check(CALLS[name](rt.array), CALLS[name](lambda x: x))


@pytest.mark.parametrize("name", CALLS)
def test_fused_functions_compute_as_numpy(rt, name):
    call = CALLS[name]
    arrays = []
    call(lambda x: arrays.append(x) or x)

    @rt.fuse
    def compute(*values):
        given = iter(values)
        return tuple(call(lambda _: next(given)))

    check(compute(*map(rt.array, arrays)), call(lambda x: x))


def test_methods_take_the_same(rt):
    x, mask = rt.array(M), rt.array(MASK)
    assert float(x.sum(where=mask)) == M.sum(where=MASK)
    assert float(x.max(initial=99)) == 99
    to = rt.array(M)
    np.copyto(to, 7.0, where=mask)
    assert (to.numpy() == np.where(MASK, 7.0, M)).all()
    np.copyto(to, x)
    assert (to.numpy() == M).all()
    with pytest.raises(TypeError, match="copyto: expected a src"):
        np.copyto(rt.array(I), x[:2, :3])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.pad(x, 9, "reflect"), "pad: pad_width: expected at most"),
        (lambda x: np.pad(x, 1, "median"), "pad: mode: expected one of"),
        (lambda x: np.pad(x, -1), "pad: pad_width: expected 0 or more"),
        (lambda x: np.max(x, where=x > 0), "expected initial= with where="),
        (lambda x: np.select([x > 0], []), "select: expected as many choices"),
        (lambda x: np.gradient(x, edge_order=3), "gradient: edge_order"),
        (lambda x: np.meshgrid(x, indexing="yx"), "meshgrid: indexing"),
        (lambda x: np.diagonal(x, 0, 1, 1), "diagonal: expected two axes"),
        (lambda x: np.array_split(x, 0), "array_split: expected 1 section"),
    ],
)
def test_wrong_shapes_and_values_are_refused(rt, call, text):
    with pytest.raises(gpuos.InvalidArgument, match=text):
        call(rt.array(M))


METHODS = [
    *("cumsum()", "cumsum(1)", "cumsum(0, 'f4')", "cumprod(axis=0)"),
    *("diagonal()", "diagonal(1)", "trace()", "trace(-1)"),
    *("repeat(2)", "repeat(2, axis=1)", "repeat([1, 0, 3], 0)"),
    "round(400)",
]


@pytest.mark.parametrize("call", METHODS)
def test_methods_are_numpys(rt, call):
    with np.errstate(all="ignore"):
        expected = eval(f"x.{call}", {"x": M})
    came = eval(f"x.{call}", {"x": rt.array(M)})
    assert came.dtype == expected.dtype
    np.testing.assert_array_equal(came, expected)


# A line that is refused, and words of the error.
SAID = {
    "x.argsort()": "numpy.argsort: .* x.numpy",
    "x.sort()": "numpy.sort: .* x.numpy",
    "x.take([0])": "numpy.take: .* x.numpy",
    "x[np.array([0, 1])]": "integers, slices, .* got numpy.ndarray; x.numpy",
    "x[[0, 1]]": "integers, slices, .* got list; x.numpy",
    "x.__iadd__(wide)": r"add: .* shape \(3, 4\), got \(2, 3, 4\); numpy.add",
    "x.__setitem__(slice(2), wide[0])": r"array: .* shape \(2, 4\), got \(3, 4\)",
    "x.__setitem__(0, wide)": r"array: .* shape \(4,\), got \(2, 3, 4\)",
    "x.__setitem__(0, None)": "^array: expected numbers, got None",
    "x.__setitem__(x > 0, 'a')": "^array: expected numbers, got str",
    "np.full_like(x, None)": "^full_like: expected numbers, got None",
    "x.runtime.full(2, None)": "^dtype: expected numbers, got None",
    "np.add(x, None)": "^add: expected arrays and numbers .* got a NoneType",
    "np.stack([x, wide])": r"^stack: .* got \(3, 4\) and \(2, 3, 4\)",
    "x.__imatmul__(x.T)": r"^matmul: .* write x\[...\] = np.asarray",
    "x[x > 0]": r"write .* x\[...\] = np.where\(mask, x \+ y, x\)",
}


@pytest.mark.parametrize("text", SAID)
def test_refusals_say_how_to_write_the_call(rt, text):
    names = {"x": rt.array(M), "np": np, "wide": rt.zeros((2, 3, 4), "f8")}
    with pytest.raises((gpuos.InvalidArgument, TypeError), match=SAID[text]):
        eval(text, names)


WIDE = [2**64, -(2**63) - 1, 2**70, -(2**70), 10**400, -(10**400)]
WIDE += [-129, -1, 127, 128, 256, 300, 2**63 - 1, -(2**63)]
COMPARISONS = [np.less, np.less_equal, np.greater, np.greater_equal]
COMPARISONS += [np.equal, np.not_equal, operator.lt, operator.le]
COMPARISONS += [operator.gt, operator.ge, operator.eq, operator.ne]
DTYPES = ["int8", "uint8", "int64", "uint64", "bool", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_any_size_may_be_compared_with(rt, dtype):
    x = np.array([0, 1, 1], dtype)
    if x.dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = np.append(x, np.array([info.min, info.max], dtype))
    wide = [] if dtype == "bool" else [2**63, 2**64 - 1]
    for number in WIDE + wide:
        for compare in COMPARISONS:
            for call in (
                lambda x, compare=compare, n=number: compare(x, n),
                lambda x, compare=compare, n=number: compare(n, x),
            ):
                expected = call(x.astype(object)).astype(bool)
                np.testing.assert_array_equal(
                    rt.fuse(call)(rt.array(x)), expected
                )
                np.testing.assert_array_equal(call(rt.array(x)), expected)
    fused = rt.fuse(lambda x: x < 2**64)
    assert fused(rt.array(x)).all()


def test_submodules_are_attributes(printed_by):
    text = (
        "import gpuos; print(gpuos.array_api.__name__, gpuos.typing.__name__)"
    )
    text += "; print(hasattr(gpuos, 'nothing'))"
    assert printed_by(text) == "gpuos.array_api gpuos.typing\nFalse\n"


def test_functions_of_the_array_api_have_names_of_numpy():
    known = {*functions_of_numpy(), *numpy_names.OPERATIONS, "vecdot"}
    arrays = {"A", "a", "arrays", "condition", "m", "x", "x1"}
    for name in {*array_api.__all__} & {*dir(np)}:
        function = getattr(array_api, name)
        if inspect.isfunction(function) and name != "from_dlpack":
            takes_arrays = arrays & {*inspect.signature(function).parameters}
            assert not takes_arrays or getattr(np, name).__name__ in known


def test_cached_arguments_are_compared_by_type(rt):
    x = rt.ones((2, 1))
    with pytest.raises(gpuos.InvalidArgument, match="expected an integer"):
        np.broadcast_to(x, (2, 2.0))
    assert np.broadcast_to(x, (2, 2)).shape == (2, 2)


def functions_with_out():
    for name in sorted(dir(np)):
        function = getattr(np, name)
        if isinstance(function, (type, np.ufunc)) or "busday" in name:
            continue
        with contextlib.suppress(TypeError, ValueError):  # no signature
            if "out" in inspect.signature(function).parameters:
                yield name


def test_functions_with_out_check_it(rt):
    """Arrays, NumPy's and tuples of one; no other shape and nothing else."""
    m = np.array([[1.0, 0.5], [0.25, -0.5]])
    compared = 0
    for name in functions_with_out():
        function = getattr(np, name)
        for args in ((m,), (m, m), ([m, m],), (m, 1), (m, 0, 1), (m, (0, 1))):
            mine = on(rt, args)
            with contextlib.suppress(Exception):  # those of other arguments
                expected = np.asarray(function(*args))
                if isinstance(function(*mine), gpuos.Array):
                    break
        else:
            continue
        like = rt.zeros(expected.shape, expected.dtype)
        outs = [like, (like,)]
        outs += [np.zeros_like(expected)] if rt.backend == "host" else []
        for out in outs:
            made = function(*mine, out=out)
            assert made is like or made is out, name
            np.testing.assert_allclose(made, expected, err_msg=name)
        for out in (rt.zeros(7), rt.zeros((3, *like.shape)), 3, [1], object()):
            with pytest.raises((gpuos.InvalidArgument, TypeError)):
                function(*mine, out=out)
        compared += 1
    assert compared >= 35


def test_an_error_of_out_and_where_names_the_function(rt):
    x = rt.ones((2, 3), "int32")
    for name in numpy_names.OPERATIONS:
        ufunc = getattr(np, name, None)
        if not isinstance(ufunc, np.ufunc):
            continue
        args = (x,) * ufunc.nin
        for shape in ((4, 5), (3,)):
            out = (rt.ones(shape, "float64"),) * ufunc.nout
            text = rf"^{ufunc.__name__}: expected an out of shape \(2, 3\), got"
            with pytest.raises(gpuos.InvalidArgument, match=text):
                ufunc(*args, out=out)
    with pytest.raises(gpuos.InvalidArgument, match=r"^add: where: expected"):
        np.add(x, x, out=x, where=rt.ones(2, "bool"))


def test_a_call_with_out_is_one_program_call(rt):
    column, row, out = np.ones((2, 1), "f4"), rt.ones(3), rt.zeros((2, 3))
    if rt.backend == "cuda":  # which takes no memory of the host
        column = rt.array(column)
    rt.synchronize()
    before = rt.stats()["program_calls"]
    np.add(column, row, out=out)
    rt.synchronize()
    assert rt.stats()["program_calls"] == before + 1


# NumPy raises TypeError for the dtype or the class of an operand.
OF_WRONG_TYPE = [
    *("i.__iadd__(1.5)", "i.__itruediv__(2)", "b.__isub__(b)", "i.__iadd__(f)"),
    *("f << 1", "f & f", "~f", "i ^ 1.5", "b - b", "-b", "+b", "c // c"),
    *("np.ldexp(f, f)", "np.floor(c)", "np.rad2deg(c)", "np.sign(b)"),
    *("np.add(f, f, out=i)", "np.add(f, f, dtype='i4')"),
    *("np.select([i], [f])", "np.concatenate([f, f], dtype='i4')"),
    *("np.gradient(b)", "i.__setitem__(0, 1j)", "i.__setitem__(0, None)"),
    "np.nanmean(f, dtype='i4')",
]


@pytest.mark.parametrize("text", OF_WRONG_TYPE)
def test_a_wrong_dtype_is_a_type_error(rt, text):
    arrays = {"i": V.astype("i4"), "f": V, "b": V > 1, "c": V + 1j}
    with pytest.raises(TypeError):
        eval(text, {"np": np, **arrays})
    ours = {name: rt.array(x) for name, x in arrays.items()}
    with pytest.raises(TypeError) as caught:
        eval(text, {"np": np, **ours})
    assert isinstance(caught.value, gpuos.InvalidArgument)


# Each call takes or refuses a number as NumPy does. `a` is a small array.
AS_NUMPY = {
    "assign int64 out of range": ("i1", lambda a: put(a, np.int64(300))),
    "assign uint64 out of range": ("i8", lambda a: put(a, np.uint64(2**63))),
    "assign int64": ("u1", lambda a: put(a, np.int64(200))),
    "pad out of range": ("i1", lambda a: np.pad(a, 1, constant_values=300)),
    "initial of sum": ("u1", lambda a: np.sum(a, initial=np.int64(2**53 + 1))),
    "initial of max": ("i4", lambda a: np.max(a, initial=np.int64(0))),
    "initial that truncates": ("i4", lambda a: np.sum(a, initial=0.5)),
    "initial of floats": ("f4", lambda a: np.sum(a, initial=np.float64(0.5))),
    "infinite initial": ("i4", lambda a: np.max(a, initial=-np.inf)),
    "copyto of a float": ("i4", lambda a: np.copyto(a, 2.7)),
    "copyto of a bool's": ("?", lambda a: np.copyto(a, 2)),
    "copyto of an int": ("f4", lambda a: np.copyto(a, 2)),
    "round": ("f8", lambda a: [round(x, 2) for x in a + 11.655]),
    "round a float32": ("f4", lambda a: round(a[1] + 11.655, 1)),
    "equal to a list with None": ("f8", lambda a: a == [0, None, 2]),
    "unequal to a list of all": ("f8", lambda a: a != [0, "a", 2**70]),
}


def put(a, value):
    a[0] = value
    return a


def outcome_of(function, a):
    try:
        made = function(a)
    except (OverflowError, TypeError) as error:
        return OverflowError if isinstance(error, OverflowError) else TypeError
    made = a if made is None else made
    parts = made if isinstance(made, list) else [made]
    return [(np.asarray(x).tolist(), x.dtype) for x in parts]


@pytest.mark.parametrize("case", AS_NUMPY)
def test_numbers_are_taken_as_numpy_takes_them(rt, case):
    dtype, function = AS_NUMPY[case]
    a = np.arange(3).astype(dtype)
    came = outcome_of(function, rt.array(a))
    assert came == outcome_of(function, a)


def laplacian(u):
    sides = [np.roll(u, step, axis) for axis in (0, 1) for step in (1, -1)]
    return sum(sides) - 4 * u


def neighbours(u):
    near = (-1, 0, 1)
    turned = [np.roll(np.roll(u, i, 0), j, 1) for i in near for j in near]
    return sum(turned) - u


def reaction(u, v):
    together = u * v * v
    return u + laplacian(u) - together, v + laplacian(v) + together


def padded(u, mode):
    p = np.pad(u, 1, mode=mode)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]


STENCILS = {
    "life": (neighbours, 1),
    "reaction": (reaction, 2),
    "wrap": (lambda u: padded(u, "wrap"), 1),
    "edge": (lambda u: padded(u, "edge"), 1),
}


@pytest.mark.parametrize("name", STENCILS)
def test_stencils_of_two_axes_are_fused(rt, name):
    function, count = STENCILS[name]
    fields = [np.linspace(-1, 1, 63).reshape(9, 7) + i for i in range(count)]
    came = rt.fuse(function)(*map(rt.array, fields))
    expected = function(*fields)
    both = (came, expected) if count > 1 else ([came], [expected])
    for one, other in zip(*both, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


SHAPES = [(), (0,), (1,), (2,), (3,), (1, 3), (3, 1), (2, 3), (3, 3), (2, 1, 3)]
FORMS = {
    "f(a, b)": lambda f, a, b: f(a, b),
    "f([a, b])": lambda f, a, b: f([a, b]),
    "weights": lambda f, a, b: f(a, weights=b),
    "weights, axis": lambda f, a, b: f(a, axis=-1, weights=b),
    "weights, axes": lambda f, a, b: f(a, axis=(1, 0), weights=b),
}
# Functions that NumPy computes and programs do not.
REFUSED = re.compile(
    "no products of matrices|has no such|value has no (memory|number)"
    "|expected arrays computed from"  # a gradient of no axes
    "|roll: expected axis="  # fused: rows would have to be joined
    "|expected numbers, got bool"  # as the places of a gradient
    "|expected a real dtype|complex"
)
# An error for which NumPy looks at the elements.
OF_ELEMENTS = "Weights sum to zero"


def taken(rt, form):
    """Return NumPy's functions of two arrays by name."""
    found = {}
    made = {"divmod": 2, "matmul": 2, "vecdot": 2}
    operations = numpy_names.OPERATIONS | made
    names = [name for name, count in operations.items() if count == 2]
    ufuncs = {n: getattr(np, n) for n in names if hasattr(np, n)}
    functions = functions_of_numpy() | ufuncs
    del functions["empty_like"]  # which has no values
    for name, function in functions.items():
        for shapes in (((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (3,))):
            a, b = map(np.ones, shapes)
            made = outcome(form, function, rt.array(a), rt.array(b))
            if not isinstance(made, (gpuos.Array, tuple, list, bool)):
                continue
            if not isinstance(outcome(form, function, a, b), Exception):
                found[name] = function
    return found


def check_two(rt, form, function, arrays):
    """Compare the function of arrays, and fused, with NumPy's."""
    wanted = outcome(form, function, *arrays)
    fused = rt.fuse(lambda a, b: form(function, a, b))
    ours = [rt.array(x) for x in arrays]
    for got in (outcome(form, function, *ours), outcome(fused, *ours)):
        if isinstance(wanted, Exception):
            is_fine = isinstance(got, ValueError | TypeError)
            is_fine = is_fine or OF_ELEMENTS in str(wanted)
            assert is_fine, f"{got!r}, NumPy says {wanted}"
        elif isinstance(got, Exception):
            assert REFUSED.search(str(got)), f"{got!r}, not {wanted!r}"
        else:
            agree(wanted, got)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_accepted_shapes_are_those_of_numpy(rt, form):
    functions = taken(rt, form)
    assert functions
    for function in functions.values():
        for shapes in itertools.product(SHAPES, repeat=2):
            arrays = [
                (np.arange(np.prod(s), dtype="f4") + k).reshape(s)
                for k, s in enumerate(shapes, 1)
            ]
            check_two(rt, form, function, arrays)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_dtypes_are_those_of_numpy(rt, form):
    for name, function in taken(rt, form).items():
        if name in numpy_names.OPERATIONS:
            continue  # test_vocabulary.py has operations
        for dtypes in itertools.product(ODD, repeat=2):
            numbers = zip(([1, 4, 2], [3, 1, 2]), dtypes, strict=True)
            arrays = [np.array(x).astype(dtype) for x, dtype in numbers]
            check_two(rt, form, function, arrays)
