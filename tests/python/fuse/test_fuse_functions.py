"""Fused functions treat numbers, dtypes and axes as NumPy does.

`test_vocabulary.py` has the functions themselves.
"""

import decimal
import itertools
import math
import operator

import numpy as np
import pytest
import vocabulary
from fuse_support import (
    DTYPES,
    FLOATS,
    INTEGERS,
    REALS,
    SPECIAL,
    assert_close,
    compare,
    name_of,
    quietly,
    run,
    sample,
)
from jit_support import or_skip

import gpuos
from gpuos import functions as F

COMPARISONS = [
    getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
]


@pytest.mark.parametrize("function", COMPARISONS, ids=name_of)
def test_integers_compare_exactly(rt, function):
    signed = np.array([-1, 0, 2**62, 2**63 - 1], "int64")
    unsigned = np.array([2**64 - 1, 0, 2**62 + 1, 2**63], "uint64")
    compare(rt, function, signed[:, None], unsigned)
    compare(rt, function, unsigned[:, None], signed)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64"])
def test_a_condition_may_choose_between_complex_numbers(rt, dtype):
    x = np.resize([0, 1, 1, 0, 1], 300).astype(dtype)
    compare(rt, lambda x: np.where(x, 0.1j, 2), x)
    compare(rt, lambda x: np.where(x, 1j, 0.1 + 2j) + 0.1, x)


FUNCTIONS = [  # not gelu_tanh, which is gelu(approximate="tanh")
    f
    for f in vocabulary.functions()
    if hasattr(np, f.name) or hasattr(F, f.name)
]
OF_ONE = [f.name for f in FUNCTIONS if f.inputs == 1]
OF_TWO = [f.name for f in FUNCTIONS if f.inputs == 2]
TOGETHER = [  # in one program; compilers optimize larger ones less
    names[first : first + count]
    for names, count in ((OF_ONE, 2), (OF_TWO, 2))
    for first in range(0, len(names), count)
]


def known_numbers(x, whole):
    """Numbers that a compiler finds out: 0 and -0, and one of -1, 0 and 1."""
    zero = np.logical_xor(x, x).astype(x.dtype)
    return zero, -zero, np.sign(whole).astype(x.dtype)


def of_known_numbers(names):
    """Return a function that calls those of `names` with known numbers."""

    def program(x, whole):
        made = []
        for name, known in itertools.product(names, known_numbers(x, whole)):
            function = getattr(np, name, None) or getattr(F, name)
            if name in OF_ONE:
                made.append(function(known))
                continue
            pairs = (known, x), (x, known)
            made += [function(*pair) for pair in pairs]
            if made[-1].dtype == bool:
                made += [np.where(function(x, known), *pair) for pair in pairs]
        return tuple(made)

    return program


def are_of_floats(rt, name):
    """Return whether the function takes them. Others take only integers."""
    x = np.ones(1, "float32")
    try:
        rt.fuse(of_known_numbers([name]))(x, x.astype("int64"))
    except gpuos.InvalidArgument:
        return False
    return True


@pytest.mark.parametrize("names", TOGETHER, ids=",".join)
@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
def test_a_compiler_that_knows_an_operand_changes_no_bit(rt, dtype, names):
    names = [name for name in names if are_of_floats(rt, name)]
    if not names:
        return
    fused = rt.fuse(of_known_numbers(names))
    # Several elements, and single ones.
    for numbers in ([x for x in SPECIAL if abs(x) < np.inf], [7, -7, 0]):
        x = np.array(numbers, dtype)
        arrays = rt.array(x), rt.array(x.astype("int64"))
        interpreted = fused(*arrays)
        fused.compile(*arrays)
        for a, b in zip(interpreted, fused(*arrays), strict=True):
            assert_close(b.numpy(), a.numpy())


@pytest.mark.parametrize("to", DTYPES, ids=str)
def test_casts(rt, to):
    for dtype in REALS:
        x = sample(dtype)
        if dtype.kind == "f" and to.kind in "iu":
            x = np.clip(np.nan_to_num(x), 0, 100).astype(dtype)
        compare(rt, lambda x: x.astype(to), x)


@pytest.mark.parametrize("by", INTEGERS, ids=name_of)
@pytest.mark.parametrize("of", FLOATS, ids=name_of)
def test_casts_to_integers_and_back_are_two(rt, of, by):
    """A value that does not fit converts as the processor does, compiled or
    not. A compiler that sees both casts must not merge them."""
    ends = [-0.32, -0.0, 0.0, 7.9, -7.9, 1e20, -1e20, np.inf, np.nan]
    x = rt.array(quietly(np.array(ends).astype, of))
    back = ("float16", "float32", "float64", "complex64", "complex128")

    def casts(x):
        return tuple(x.astype(by).astype(to) for to in back)

    program = rt.fuse(casts)
    expected = [y.numpy().tobytes() for y in program(x)]
    or_skip(program.compile, x)
    assert [y.numpy().tobytes() for y in program(x)] == expected


@pytest.mark.parametrize("count", [3, 25])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_not_rounded_before_they_meet(rt, dtype, count):
    """A task has room for a few of them; more are in its text and code."""

    def function(x, k):
        made = x * k
        for i in range(count):
            made = np.where(x.real < i, made + (i / 3 + 0.1j), made)
        return made, (made * (0.7 - 0.2j)).sum()

    x = sample(np.dtype(dtype))
    wanted = function(x, 0.3 - 0.1j)
    rtol = 1e-13 if dtype == "complex128" else 1e-5
    program = rt.fuse(function)
    for is_compiled in (False, True):
        got = program(rt.array(x), 0.3 - 0.1j)
        np.testing.assert_allclose(got[0].numpy(), wanted[0], rtol, rtol)
        np.testing.assert_allclose(got[1].numpy(), wanted[1], rtol)
        if not is_compiled:
            or_skip(program.compile, rt.array(x), 0.3 - 0.1j)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_casting_complex_to_real_is_refused(rt, dtype):
    x = sample(np.dtype(dtype))
    with pytest.raises(gpuos.InvalidArgument, match="real or absolute"):
        run(rt, lambda x: x.astype("float32"), x)
    compare(rt, lambda x: x.astype(bool), x)
    compare(rt, lambda x: np.where(x, 1, 0), x)
    compare(rt, np.absolute, x, ulps=2)
    compare(rt, np.angle, x, ulps=4)


def test_the_mean_of_halves_does_not_overflow(rt):
    x = np.full(1000, 1000, "float16")
    assert run(rt, np.mean, x) == 1000
    assert run(rt, np.std, x) == 0


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_softmax_and_log_softmax_match_numpy(rt, axis):
    x = np.random.default_rng(0).normal(0, 3, (7, 9))
    sums = np.log(np.exp(x).sum(axis, keepdims=True))
    close = {"rtol": 1e-12, "atol": 1e-12}
    got = run(rt, lambda x: F.softmax(x, axis), x)
    np.testing.assert_allclose(got, softmax(x, axis), **close)
    got = run(rt, lambda x: F.log_softmax(x, axis), x)
    np.testing.assert_allclose(got, x - sums, **close)
    got = run(rt, lambda x: F.logsumexp(x, axis, keepdims=True), x)
    np.testing.assert_allclose(got, sums, **close)
    got = run(rt, lambda x: F.logsumexp(x, axis), x)
    np.testing.assert_allclose(got, sums.squeeze(axis), **close)


def test_logsumexp_of_infinities(rt):
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [800.0, 800]])
    wanted = [-np.inf, np.inf, 800 + math.log(2)]
    got = run(rt, lambda x: F.logsumexp(x, 1), x)
    np.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_terms_count_next_to_the_maximum(rt, dtype):
    rows = [[0, -17], [0, -40], [-40, 0], [3, 3], [1e-3, -60], [-700, -700.5]]
    x = np.array(rows, dtype)
    exact, normal = [], []
    with decimal.localcontext() as context:
        context.prec = 60
        for row in x.tolist():
            terms = [decimal.Decimal(term) for term in row]
            exact.append(sum(term.exp() for term in terms).ln())
            normal.append([float(term - exact[-1]) for term in terms])
    got = run(rt, lambda x: F.logsumexp(x, 1), x)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, [*map(float, exact)], rtol=32 * eps)
    got = run(rt, lambda x: F.log_softmax(x, 1), x)
    np.testing.assert_allclose(got, normal, rtol=32 * eps)


@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 1), ((0, 3), 0)])
def test_rows_of_nothing_have_a_softmax(rt, shape, axis):
    """Empty rows have a softmax, as in PyTorch; a maximum alone has none."""
    x = rt.array(np.zeros(shape, "f4"))

    def compute(x):
        return (
            F.softmax(x, axis),
            F.log_softmax(x, axis),
            F.logsumexp(x, axis),
        )

    one, other, total = (y.numpy() for y in rt.fuse(compute)(x))
    assert one.shape == other.shape == shape
    np.testing.assert_array_equal(total, [-np.inf] * 3)
    with pytest.raises(gpuos.InvalidArgument, match="at least 1 element"):
        rt.fuse(lambda x: x.max(axis))(x)


def test_sums_of_concatenated_parts_keep_every_bit(host):
    x, y = np.random.default_rng(3).random((2, 300, 3))
    parts = [host.array(part) for part in (x[:7], y, x)]
    joined = host.fuse(lambda *parts: np.concatenate(parts).sum(0))
    a, b, c = (part.sum(0) for part in parts)
    assert joined(*parts).numpy().tobytes() == (a + b + c).numpy().tobytes()


NEURAL = [
    ("relu", {}),
    ("leaky_relu", {}),
    ("leaky_relu", {"negative_slope": 0.3}),
    ("elu", {}),
    ("elu", {"alpha": 0.7}),
    ("celu", {"alpha": 1.7}),
    ("selu", {}),
    ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 3.0}),
    ("logsigmoid", {}),
    ("mish", {}),
    ("softsign", {}),
    ("hardsigmoid", {}),
    ("hardswish", {}),
    ("hardtanh", {}),
    ("hardtanh", {"min_val": -2.0, "max_val": 0.5}),
    ("sigmoid", {}),
    ("silu", {}),
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "keywords"), NEURAL, ids=str)
def test_functions_of_neural_networks(rt, name, keywords):
    torch = pytest.importorskip("torch")
    for dtype, bound in (
        ("float32", 2e-6),
        ("float64", 1e-12),
        ("float16", 2e-3),
    ):
        x = np.linspace(-30, 30, 401).astype(dtype)
        x = np.concatenate([x, np.array([np.nan, -0.0], dtype)])
        if name != "gelu":  # PyTorch's gelu(inf) is NaN where it is vectorised
            x = np.append(x, np.array(np.inf, dtype))
        reference = getattr(torch.nn.functional, name)
        wanted = reference(torch.from_numpy(x), **keywords).numpy()
        got = run(rt, lambda x: getattr(F, name)(x, **keywords), x)
        np.testing.assert_allclose(got, wanted, rtol=bound, atol=bound)


def test_functions_of_neural_networks_without_torch(rt):
    x = np.linspace(-5, 5, 101)
    sigmoid = 1 / (1 + np.exp(-x))
    softplus = np.log1p(np.exp(x))
    erf = np.array([math.erf(v) for v in x])
    for function, wanted in (
        (F.sigmoid, sigmoid),
        (F.silu, x * sigmoid),
        (F.softplus, softplus),
        (F.logsigmoid, np.log(sigmoid)),
        (F.mish, x * np.tanh(softplus)),
        (F.erf, erf),
        (F.erfc, 1 - erf),
        (F.relu, np.maximum(x, 0)),
        (F.hardswish, x * np.clip(x + 3, 0, 6) / 6),
    ):
        np.testing.assert_allclose(
            run(rt, function, x), wanted, rtol=1e-12, atol=1e-14
        )
    above = np.linspace(0.1, 5, 50)
    logs = [math.lgamma(v) for v in above]
    np.testing.assert_allclose(
        run(rt, F.lgamma, above), logs, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(
        run(rt, F.rsqrt, above), 1 / np.sqrt(above), rtol=1e-15
    )


def test_add_with_alpha(rt):
    x, y = np.array([1.0, 2.0], "float16"), np.array([0.1, 0.2], "float16")
    got = run(rt, lambda x, y: F.add(x, y, alpha=0.5), x, y)
    wanted = x.astype("f4") + y.astype("f4") * np.float32(0.5)
    assert_close(got, wanted.astype("float16"))
    compare_ = run(rt, lambda x, y: F.subtract(x, y, alpha=2), x, y)
    assert compare_.dtype == np.float16


ROWS, COLUMNS = 65_536, 65_541
assert ROWS * COLUMNS > 2**32


@pytest.fixture
def column_and_row(rt):
    x = (np.arange(ROWS) % 251).astype(np.uint8)
    y = (np.arange(COLUMNS) % 241).astype(np.uint8)
    x[-1] = y[-1] = 255
    return rt.array(x[:, None]), rt.array(y[None, :])


def pairs(x, y):
    """Return how many pairs of elements are equal."""
    counts = [
        np.bincount(z.numpy().ravel(), minlength=256).astype(np.int64)
        for z in (x, y)
    ]
    return int(counts[0] @ counts[1])


@pytest.mark.parametrize("is_compiled", [False, True])
def test_reductions_count_past_32_bits(rt, column_and_row, is_compiled):
    x, y = column_and_row
    equal = rt.fuse(lambda x, y: (x == y).sum())
    if is_compiled:
        or_skip(equal.compile, x, y)
    assert equal(x, y).numpy() == pairs(x, y)
    last = rt.fuse(lambda x, y: ((x == 255) & (y == 255)).argmax())
    assert last(x, y).numpy() == ROWS * COLUMNS - 1


def test_results_have_more_elements_than_32_bits_count(cuda):
    # On the device alone: 4 GiB for a result is much for a processor's memory.
    x = (np.arange(ROWS) % 251).astype(np.uint8)
    y = (np.arange(COLUMNS) % 241).astype(np.uint8)
    add = cuda.fuse(lambda x, y: x + y)
    total = cuda.fuse(lambda z: z.astype("int64").sum())
    operands = cuda.array(x[:, None]), cuda.array(y[None, :])
    for is_compiled in (False, True):
        if is_compiled:
            add.compile(*operands)
        z = add(*operands)
        assert z.shape == (ROWS, COLUMNS)
        for i in (0, 1, ROWS // 2, ROWS - 1):
            assert (z[i].numpy() == x[i] + y).all()
        # A row: one dimension whose length needs more than 32 bits.
        rows = np.bincount(x, minlength=256)
        expected = sum(
            int(rows[value]) * int((np.uint8(value) + y).sum(dtype=np.int64))
            for value in range(256)
        )
        assert total(z.reshape(-1)).numpy() == expected
        del z


@pytest.mark.parametrize("residency", ["burst", "resident"])
@pytest.mark.parametrize(
    "shape", [(100_003, 17), (2_049, 1_025), (9, 1 << 18), (2, 1_500_001)]
)
def test_workers_share_the_rows_of_slices(backend, residency, shape):
    # Each worker has several rounds, in several concurrent calls.
    x = (np.arange(np.prod(shape)) % 251).astype(np.float32).reshape(shape)
    functions = (
        lambda x: x[:, 1:] - x[:, :-1],
        lambda x: x[1:] * 2 - x[:-1],
        lambda x: np.concatenate([-x[:, 1:], x[:, :1]], -1),
    )
    with gpuos.Runtime(backend, residency=residency) as rt:
        on = rt.array(x)
        fused = [rt.fuse(function) for function in functions]
        for each in fused:
            or_skip(each.compile, on)
        made = [(each(on), each(on)) for each in fused]
        for function, results in zip(functions, made, strict=True):
            for result in results:
                np.testing.assert_array_equal(result.numpy(), function(x))
