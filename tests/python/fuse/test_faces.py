"""A function is one program, whatever it is called by.

`test_vocabulary.py` compares fused functions with NumPy. Here every other face
of a function leads to the program of the fused one: operators, methods, arrays,
the array API, expressions and PyTorch's requests.
"""

import itertools
import operator
import time
from functools import partial

import numpy as np
import pytest
import vocabulary
from fuse_support import DTYPES, FLOATS, ODD, sample
from language_support import (
    LANGUAGE,
    REDUCTIONS,
    function_of,
    operands_of,
)

import gpuos
from gpuos import array_api as xp
from gpuos import complex_functions, functions

# Each function has an operator of Python, its form in place, and a text.
OPERATORS = {
    "add": (operator.add, operator.iadd, "x + y"),
    "subtract": (operator.sub, operator.isub, "x - y"),
    "multiply": (operator.mul, operator.imul, "x * y"),
    "divide": (operator.truediv, operator.itruediv, "x / y"),
    "floor_divide": (operator.floordiv, operator.ifloordiv, "x // y"),
    "remainder": (operator.mod, operator.imod, "x % y"),
    "power": (operator.pow, operator.ipow, "x ** y"),
    "bitwise_and": (operator.and_, operator.iand, "x & y"),
    "bitwise_or": (operator.or_, operator.ior, "x | y"),
    "bitwise_xor": (operator.xor, operator.ixor, "x ^ y"),
    "left_shift": (operator.lshift, operator.ilshift, "x << y"),
    "right_shift": (operator.rshift, operator.irshift, "x >> y"),
    "less": (operator.lt, None, "x < y"),
    "less_equal": (operator.le, None, "x <= y"),
    "greater": (operator.gt, None, "x > y"),
    "greater_equal": (operator.ge, None, "x >= y"),
    "equal": (operator.eq, None, "x == y"),
    "not_equal": (operator.ne, None, "x != y"),
    "negative": (operator.neg, None, "-x"),
    "positive": (operator.pos, None, None),
    "absolute": (operator.abs, None, None),
    "invert": (operator.invert, None, "~x"),
}
# NumPy has two functions that compute the same.
OTHER_NAMES = {"deg2rad": "radians", "rad2deg": "degrees"}
# Each dtype is combined with itself, and the dtypes of ODD with each other.
KINDS = {
    1: [(dtype,) for dtype in DTYPES],
    2: sorted(
        {*zip(DTYPES, DTYPES, strict=True), *itertools.product(ODD, ODD)},
        key=str,
    ),
}
NOT_ELEMENTWISE = {*REDUCTIONS} - {"max", "min"}


def names_of_the_array_api():
    """NumPy's function of each elementwise name, and the standard's."""
    for name in xp.__all__:
        module = getattr(getattr(xp, name), "__module__", "")
        if str(module).endswith("_elementwise") and hasattr(np, name):
            yield getattr(np, name), getattr(xp, name)


class Faces:
    """All ways to call one function."""

    def __init__(self, function):
        self.function = function
        self.others = []  # in Python, of arrays and in fused functions
        self.in_place = []
        self.texts = []  # of expressions


def faces():
    found = {}

    def of(name, function=None):
        return found.setdefault(name, Faces(function or function_of(name)))

    for name in [f.name for f in vocabulary.functions()]:
        made = of(name)
        if name in OTHER_NAMES:
            made.others.append(getattr(np, OTHER_NAMES[name]))
        symbol, in_place, text = OPERATORS.get(name, (None,) * 3)
        made.others += [symbol] if symbol else []
        made.in_place += [in_place] if in_place else []
        made.texts += [text] if text else []
    names = {made.function: name for name, made in found.items()}
    for name in sorted({*LANGUAGE} - NOT_ELEMENTWISE):
        name_of_function = names.get(LANGUAGE[name], name)
        of(name_of_function).texts.append(name)
        names[LANGUAGE[name]] = name_of_function
    for function, standard in names_of_the_array_api():
        name = names.get(function, f"numpy.{function.__name__}")
        of(name, function).others.append(standard)
    return found


FACES = faces()


@pytest.fixture
def rt(monkeypatch):
    """A runtime that wants to compile each pass at its first call, and cannot:
    it counts passes of different structures."""
    monkeypatch.setenv("CXX", "/no/such/compiler")
    with gpuos.Runtime("host", compile_programs_after=1) as runtime:
        yield runtime


def passes(rt):
    """Count the structures that there were so far."""
    while rt.stats()["programs_waiting"]:
        time.sleep(1e-4)
    stats = rt.stats()
    # An earlier test may have compiled a pass, and its image is kept.
    return stats["programs_failed"] + stats["programs_compiled"]


REFUSALS = (gpuos.InvalidArgument, TypeError)


def outcome(function, *args):
    try:
        return function(*args)
    except REFUSALS as error:
        return error


def bits(array):
    numbers = array.numpy()
    return numbers.dtype, numbers.shape, numbers.tobytes()


def hash_of(rt, function, arrays):
    """Return the hash of a fused function's program, or None if it is refused."""
    program = outcome(rt.fuse(function).warm, *arrays)
    return None if isinstance(program, REFUSALS) else program.hash


def submitted(rt, defined, arrays, form):
    """Return the result of an expression, in an array of this form."""
    out = rt.empty(*form)
    rt.submit(defined, *arrays, out=out)
    return out


def counts_of(name):
    known = next((f for f in vocabulary.functions() if f.name == name), None)
    if known is not None:
        return range(known.inputs, known.inputs + 1)
    return operands_of(name) if name in LANGUAGE else range(1, 2)


def calls_in(text, names):
    return f"{text}({', '.join(names)})" if text.isidentifier() else text


def given(kinds, count):
    arrays = [sample(kind, seed=i) for i, kind in enumerate(kinds)]
    size = min(x.size for x in arrays)
    if count == 3:
        arrays.append(arrays[1][::-1].copy())
    return [x[-size:] for x in arrays]


@pytest.mark.parametrize("name", sorted(FACES))
def test_a_function_is_one_program(rt, name):
    made = FACES[name]
    programs = 0
    for count in counts_of(name):
        texts = [calls_in(text, "xyz"[:count]) for text in made.texts]
        defined = [
            (text, rt.define(f"f{count}_{i}", f"o = {text}"))
            for i, text in enumerate(texts)
        ]
        for kinds in KINDS[min(count, 2)]:
            arrays = [rt.array(x) for x in given(kinds, count)]
            where = f"of {', '.join(map(str, kinds))}"
            programs += is_one_program(rt, made, defined, arrays, where)
    assert programs


def is_one_program(rt, made, defined, arrays, where):
    """Compare all faces; return whether these dtypes have a program."""
    wanted_hash = hash_of(rt, made.function, arrays)
    for other in [*made.others, *made.in_place]:
        assert hash_of(rt, other, arrays) == wanted_hash, f"{other} {where}"
    if wanted_hash is None:
        are_refused(rt, made, defined, arrays, where)
        return False
    fused = rt.fuse(made.function)
    wanted = fused(*arrays)
    form = wanted.shape, wanted.dtype
    wanted = bits(wanted)
    count = passes(rt)
    # np.real() of an array is a view, which keeps the bits of NaN.
    functions = {made.function, *made.others} - {np.real}
    calls = [(f, partial(f, *arrays)) for f in functions]
    calls += [
        (text, partial(submitted, rt, operator_, arrays, form))
        for text, operator_ in defined
    ]
    for face, call in calls:
        assert bits(call()) == wanted, f"{face} {where}: other bits"
    assert passes(rt) == count, f"{calls} {where}: another program"
    return True


def are_refused(rt, made, defined, arrays, where):
    """Check that all ways refuse a function that has no complex form."""
    name = getattr(made.function, "__name__", "")
    is_own = complex_functions.has(name, arrays[0])
    for other in [made.function, *made.others]:
        got = outcome(other, *arrays)
        if is_own and other is not np.round:  # which is no ufunc
            wanted = complex_functions.call(name, arrays[0])
            assert bits(got) == bits(wanted), f"{other} {where}: other bits"
        else:
            assert isinstance(got, REFUSALS), f"{other} {where} is taken"
    for text, operator_ in defined:
        form = arrays[0].shape, "complex64"
        got = outcome(submitted, rt, operator_, arrays, form)
        assert isinstance(got, REFUSALS), f"{text} {where} is taken"


def test_every_name_is_a_face():
    called = [
        *(text for made in FACES.values() for text in made.texts),
        *NOT_ELEMENTWISE,
    ]
    assert {*LANGUAGE} <= {*called}
    assert len([o for made in FACES.values() for o in made.others]) > 80


# These symbols take two operands. Python chains comparisons.
SYMBOLS = [
    text.split()[1]
    for _, _, text in OPERATORS.values()
    if text and text.startswith("x ")
]
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}


@pytest.mark.parametrize("one", SYMBOLS)
def test_symbols_bind_as_in_python(rt, one):
    """Python's own parser reads the text of the fused function."""
    pairs = [o for o in SYMBOLS if not {one, o} <= COMPARISONS]
    texts = [f"x {one} y {other} z" for other in pairs]
    texts += [f"-x {one} y * z", f"x {one} -y * z", f"~x {one} y * z"]
    programs = 0
    for text in texts:
        made = Faces(eval(f"lambda x, y, z: {text}"))
        defined = [(text, rt.define("symbols", f"o = {text}"))]
        for dtype in map(np.dtype, ("int32", "float32")):
            arrays = [rt.array(x) for x in given([dtype] * 2, 3)]
            programs += is_one_program(rt, made, defined, arrays, text)
        rt.undefine("symbols")
    assert programs


NUMBERS = [True, 2, 0.5, 1j, -1, np.int8(3), np.float32(1.5)]


def on_the_right(x, number):
    return x, number


def on_the_left(x, number):
    return number, x


def of_number(function, side, number):
    return lambda x: function(*side(x, number))


def bits_of_call(function, x):
    return bits(function(x))


def is_other(face, side, number, dtype):
    """Return whether the face may give another program than its function."""
    if side is on_the_left and face in (operator.eq, operator.ne):
        return True  # Python asks the array, which is on the right
    is_operator = getattr(face, "__name__", "") in ("pow", "ipow")
    if is_operator and dtype == bool and number == 2:
        return True  # a square, which is int8
    # The standard leaves open what a number out of range gives.
    is_standard = getattr(face, "__module__", "") == xp.exp.__module__
    return is_standard and number == -1 and dtype.kind == "u"


@pytest.mark.parametrize(
    "name",
    [n for n, f in FACES.items() if f.others and counts_of(n)[-1] == 2],
)
def test_a_function_of_a_number_is_one_program(rt, name):
    made = FACES[name]
    for dtype, number, side in itertools.product(
        DTYPES, NUMBERS, (on_the_right, on_the_left)
    ):
        x = rt.array(sample(dtype))
        where = f"{side.__name__} of {dtype}: {number!r}"
        function = of_number(made.function, side, number)
        fused = rt.fuse(function)  # a program that is gone does not count
        hash_of_fused = hash_of(rt, function, [x])
        of_fused = outcome(bits_of_call, fused, x)
        wanted = outcome(bits_of_call, function, x)
        is_refused = isinstance(wanted, REFUSALS)
        assert is_refused or wanted == of_fused, where
        count = passes(rt)
        for face in [*made.others, *made.in_place]:
            if is_other(face, side, number, dtype):
                continue
            way = of_number(face, side, number)
            assert hash_of(rt, way, [x]) == hash_of_fused, f"{face} {where}"
            if face in made.others:
                got = outcome(bits_of_call, way, x)
                same = (
                    isinstance(got, REFUSALS) if is_refused else got == wanted
                )
                assert same, f"{face} {where}: {got}"
        assert passes(rt) == count, where
    assert passes(rt) > 0


# ---- Reductions.

KEYWORDS = [
    {},
    {"axis": 0},
    {"axis": -1},
    {"keepdims": True},
    {"axis": 1, "keepdims": True},
]


def named(keywords):
    return "".join(f", {name}={value}" for name, value in keywords.items())


def ways_of(name):
    """Return the reduction and its other names."""
    found = [
        getattr(module, one)
        for module, one in (
            (np, name),
            (functions, name),
            (np, f"a{name}"),
            (xp, name),
        )
        if hasattr(module, one) and one != "aall"
    ]
    if hasattr(gpuos.Value, name):
        found.append(lambda x, **named: getattr(x, name)(**named))
    return found


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_one_program(rt, name):
    function, *others = ways_of(name)
    programs = 0
    for i, keywords in enumerate(KEYWORDS):
        text = f"{name}(x{named(keywords)})"
        made = Faces(partial(function, **keywords))
        made.others = [partial(other, **keywords) for other in others]
        defined = [(text, rt.define(f"r{i}", f"o = {text}"))]
        for dtype in DTYPES:
            x = rt.array(sample(dtype)[:15].reshape(3, 5))
            where = f"of {dtype} with {keywords}"
            programs += is_one_program(rt, made, defined, [x], where)
    assert programs > len(KEYWORDS)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_and_operations_are_one_program(rt, name):
    function = ways_of(name)[0]
    y, x = (rt.array(sample(FLOATS[1], seed=i)[:15]) for i in range(2))
    y, x = y.reshape(3, 5), x.reshape(3, 5)
    for i, keywords in enumerate(KEYWORDS):
        text = f"y * {name}(x{named(keywords)}) + x"
        made = Faces(lambda y, x, k=keywords: y * function(x, **k) + x)
        defined = rt.define(f"r{i}", f"o = {text}")
        if keywords == {"axis": -1}:  # (3,) does not go with (3, 5)
            for face in (made.function, rt.fuse(made.function)):
                assert isinstance(outcome(face, y, x), REFUSALS)
            with pytest.raises(REFUSALS):
                submitted(rt, defined, [y, x], (x.shape, "float32"))
        else:
            assert is_one_program(rt, made, [(text, defined)], [y, x], text)


# ---- Requests of PyTorch.

# PyTorch calls these neither as NumPy does nor as C++ does.
PYTORCHS = {
    "equal": "eq",
    "greater": "gt",
    "greater_equal": "ge",
    "invert": "bitwise_not",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
}
# No request has these functions; PyTorch's sign of NaN is 0.
NO_REQUESTS = {
    *("positive", "fabs", "deg2rad", "rad2deg", "float_power", "conjugate"),
    *("cbrt", "sinc", "gelu_tanh", "logaddexp2", "ldexp", "nextafter"),
    *("heaviside", "left_shift", "right_shift", "real", "imag", "sign"),
}
REQUESTED = ["float16", "float32", "float64", "int32", "int64", "uint8", "bool"]


def requested(name, arrays, form):
    """Return the bits that a request gives; None: it is refused."""
    import torch  # noqa: PLC0415

    import gpuos.torch as gt  # noqa: PLC0415

    shape, dtype = form
    out = torch.empty(shape, dtype=getattr(torch, dtype.name))
    submit = gt.submit_unary if len(arrays) == 1 else gt.submit_binary
    try:
        submit(name, *map(torch.from_numpy, arrays), out)
    except ValueError:
        return None
    gt.flush(sync=True)
    return out.numpy().tobytes()


def requests():
    """Names of requests, their functions and how many operands they have."""
    for known in vocabulary.functions():
        if known.name not in NO_REQUESTS:
            is_numpys = known.name in ("floor_divide", "remainder")
            is_numpys |= known.name.startswith("bitwise")
            name = known.name if is_numpys else known.own
            name = PYTORCHS.get(known.name, name)
            yield name, function_of(known.name), known.inputs
    for name in ("relu", "mish", "hardsigmoid", "hardswish"):
        yield name, function_of(name), 1


@pytest.mark.torch
def test_a_request_has_the_bits_of_its_function():
    gt = pytest.importorskip("gpuos.torch")
    runtime = gt.runtime("cpu")
    for name, function, inputs in requests():
        fused = runtime.fuse(function)
        done = 0
        for dtype in map(np.dtype, REQUESTED):
            arrays = [sample(dtype, seed=i) for i in range(inputs)]
            wanted = outcome(fused, *map(runtime.array, arrays))
            # PyTorch makes float32 of integers, and NumPy float64.
            if isinstance(wanted, REFUSALS) or wanted.dtype not in (
                dtype,
                bool,
            ):
                continue
            form = wanted.shape, wanted.dtype
            got = requested(name, arrays, form)
            assert got in (None, bits(wanted)[-1]), (name, dtype)
            done += got is not None
        assert done > 1, name
