"""Typical errors of a scheduler of small operations: wrong numbers."""

from __future__ import annotations

import itertools
import math
import warnings

import pytest
from torch_support import assert_same, cloned, error_of, scheduler, taken, torch

pytestmark = pytest.mark.torch

F = torch.nn.functional
INF, NAN = math.inf, math.nan
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 25.0, -25.0]
DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]
HALVES = {torch.float16, torch.bfloat16}
WIDE_INTEGERS = {torch.int16, torch.int32, torch.int64}
# PyTorch warns of half complex numbers, and of their parts that are lost.
COMPLEX_WARNS = pytest.mark.filterwarnings("ignore:.*omplex.*:UserWarning")


def compare(function, *inputs, takes=1, **options):
    """Compare `function(*inputs)` and its effects on them with eager."""
    own = cloned(list(inputs))
    expected = cloned([function(*own), own])
    own = cloned(list(inputs))
    with scheduler(takes=takes, **options):
        result = function(*own)
    assert_same(expected, cloned([result, own]))


@pytest.fixture
def special(device):
    """Pairs of every two numbers that are easily wrong."""
    x = torch.tensor(SPECIAL, device=device)
    return x.repeat(len(SPECIAL)), x.repeat_interleave(len(SPECIAL))


@pytest.mark.parametrize("alpha", [2, -1.5, 0])
def test_alpha_counts(special, alpha):
    compare(lambda x, y: torch.add(x, y, alpha=alpha), *special)
    compare(lambda x, y: torch.sub(x, y, alpha=alpha), *special)
    compare(lambda x, y: x.add_(y, alpha=alpha), *special)
    compare(lambda x, y: torch.rsub(x, y, alpha=alpha), *special)
    compare(lambda x, _: torch.add(x, 3.0, alpha=alpha), *special)


def test_alpha_of_bool_is_logical(device):
    x = torch.tensor([True, False, True, False], device=device)
    y = torch.tensor([True, True, False, False], device=device)
    for alpha in (0, 1, 2):
        compare(lambda x, y, k=alpha: torch.add(x, y, alpha=k), x, y, takes=0)


ADDITIONS = {
    "add": torch.add,
    "sub": torch.sub,
    "rsub": torch.rsub,
    "add number": lambda x, _, **how: torch.add(x, 2, **how),
    "rsub number": lambda x, _, **how: torch.rsub(x, 2, **how),
    "add_": lambda x, y, **how: x.add_(y, **how),
    "sub_": lambda x, y, **how: x.sub_(y, **how),
    "add_ number": lambda x, _, **how: x.add_(2, **how),
    "add out": lambda x, y, **how: torch.add(x, y, out=x.clone(), **how),
    "list": lambda x, y, **how: torch._foreach_add([x], [y], **how),
    "list_": lambda x, y, **how: torch._foreach_add_([x], [y], **how),
}


@COMPLEX_WARNS
@pytest.mark.parametrize("name", ADDITIONS)
def test_alphas_that_eager_refuses(device, name):
    def result(alpha, dtypes, shape):
        x, y = (torch.full(shape, 3, device=device).to(d) for d in dtypes)
        try:
            return ADDITIONS[name](x, y, alpha=alpha), x
        except RuntimeError as error:
            return str(error)

    for case in itertools.product(
        [True, False, 2, 2.0, 1, 1.0, 2j, True + 0j],
        itertools.product(
            [torch.bool, torch.int32, torch.float32, torch.float64], repeat=2
        ),
        [(3,), ()],
    ):
        expected = result(*case)
        with scheduler(takes=0):
            got = result(*case)
        if isinstance(expected, str):
            assert got == expected, case
        else:
            assert_same(cloned(expected), cloned(got))


def test_value_of_addcmul_counts(special):
    compare(lambda x, y: torch.addcmul(x, x, y, value=0.5), *special, takes=0)
    compare(lambda x, y: torch.addcdiv(x, x, y, value=-2), *special, takes=0)
    compare(lambda x, y: torch.lerp(x, y, 0.25), *special, takes=0)


def results_with_number(x, y, k):
    """Return the results of all operators that take a number, for `k`."""
    positive = abs(k)
    zero_d = torch.tensor(float(k))
    lists = [x.clone()], [y.clone()]
    for change in (torch._foreach_add_, torch._foreach_sub_):
        change(lists[0], k)
    torch._foreach_mul_(lists[1], k)
    torch._foreach_div_(lists[1], 1.7)
    return {
        "add": x + k,
        "radd": k + x,
        "sub": x - k,
        "rsub": k - x,
        "mul": k * x,
        "div": x / k,
        "rdiv": k / x,
        "add_": x.clone().add_(k),
        "isub": x.clone().__isub__(k),
        "mul_": x.clone().mul_(k),
        "div_": x.clone().div_(k),
        "out": torch.sub(x, k, out=torch.empty_like(x)),
        "less": (x < k, x <= k, x > k, x >= k, x == k, x != k),
        "power": (x**k, positive**x, x**3, x**-2, x**0.5),
        "remainder": (x % k, torch.fmod(x, k), k % x),
        "rounded": torch.div(x, k, rounding_mode="floor"),
        "clamp": (x.clamp(-positive, positive), x.clamp(min=k)),
        "where": (torch.where(x > 0, x, k), x.masked_fill(x > 0, k)),
        "copysign": torch.copysign(x, k),
        "fill_": x.clone().fill_(k),
        "addcdiv": torch.addcdiv(x, y, x, value=k),
        "leaky_relu": F.leaky_relu(x, k),
        "threshold": F.threshold(x, k, 3 * k),
        "hardtanh": F.hardtanh(x, -positive - 1, positive),
        "0-d": (x + zero_d, zero_d - x, x * zero_d, x / zero_d, x < zero_d),
        "0-d int": (x + zero_d.long(), x > zero_d.long() + 1),
        "0-d others": (torch.atan2(x, zero_d), torch.maximum(x, zero_d)),
        "int": (x + torch.arange(len(x)) * 1001, x > torch.arange(len(x))),
        "lists": (*lists[0], *lists[1]),
    }


def products_with_number(x, y, k):
    """Return results of operators that add a product to `x`, or to 1.7."""
    return {
        "add": torch.add(x, y, alpha=k),
        "sub": torch.sub(x, y, alpha=k),
        "add_": x.clone().add_(y, alpha=k),
        "out": torch.sub(x, y, alpha=k, out=torch.empty_like(x)),
        "list": torch._foreach_add([x], [y], alpha=k)[0],
        "rsub": torch.rsub(y, x, alpha=k),
        "addcmul": torch.addcmul(x, y, x, value=k),
    }


def drawn_for_numbers(dtype, case):
    """Return two vectors, 1 to 100 long, some strided, and a number."""
    draws = torch.Generator().manual_seed(case)
    elems = int(torch.randint(1, 101, (), generator=draws))
    step = 1 + case % 3 // 2
    x, y = torch.randn(2, step * elems, generator=draws).to(dtype)[:, ::step]
    k = [1.3, -0.7, 0.1, 3, -2.7182818, 1e-3, 2049][case % 7]
    return x, y, k


NUMBERS_OF_THE_CPU = pytest.mark.never(
    lambda device: device != "cpu",
    reason="on a GPU numbers are as exact as what is computed",
)


@NUMBERS_OF_THE_CPU
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_numbers_beside_half_types_are_rounded_as_in_eager(device, dtype):  # noqa: ARG001
    for case in range(60):
        given = drawn_for_numbers(dtype, case)
        expected = results_with_number(*given)
        with torch.no_grad(), scheduler(takes=20):
            came = results_with_number(*given)
        assert_same(expected, came, rtol=0, atol=0)


@NUMBERS_OF_THE_CPU
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_products_beside_half_types_differ_by_one_rounding(device, dtype):  # noqa: ARG001
    for case in range(60):
        x, y, k = drawn_for_numbers(dtype, case)
        expected = products_with_number(x, y, k)
        with torch.no_grad(), scheduler(takes=6):
            came = products_with_number(x, y, k)
        # Eager rounds the product too in what is left of a block of vectors.
        product = (y * k).double().abs() * (1 + x.double().abs())
        for name, one in expected.items():
            bound = torch.finfo(dtype).eps * (product + one.double().abs())
            assert ((came[name] - one).double().abs() <= bound).all(), name


@NUMBERS_OF_THE_CPU
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str
)
def test_products_of_whole_blocks_have_the_same_bits(device, dtype):  # noqa: ARG001
    for elems, k in itertools.product([64, 320], [1.3, -0.7, 3, 1e-3]):
        x, y = torch.randn(2, elems).to(dtype)
        expected = products_with_number(x, y, k)
        with torch.no_grad(), scheduler(takes=6):
            came = products_with_number(x, y, k)
        del expected["addcmul"], came["addcmul"]
        assert_same(expected, came, rtol=0, atol=0)


def test_division_by_zero(special):
    compare(lambda x, y: x / y, *special)
    compare(lambda x, _: x / 0.0, *special)
    compare(lambda x, _: 1.0 / x, *special)
    compare(lambda x, _: x.reciprocal(), *special)


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_rounding_of_division(special, mode):
    compare(lambda x, y: torch.div(x, y, rounding_mode=mode), *special)
    compare(lambda x, y: torch.div(x, y + 0.3, rounding_mode=mode), *special)


def test_integers_divide_to_reals(device):
    x = torch.arange(-6, 6, device=device)
    y = torch.tensor([1, 2, 3, -1, -2, -3] * 2, device=device)
    compare(lambda x, y: x / y, x, y)
    compare(lambda x, _: (x / 2, x * 2, 7 - x), x, y)


def test_integer_division_is_that_of_eager(device):
    # Left to eager, which raises for zeros on processors.
    x = torch.arange(-6, 6, device=device)
    y = torch.tensor([1, 2, 3, -1, -2, -3] * 2, device=device)
    compare(lambda x, y: (x // y, x % y, torch.fmod(x, y)), x, y, takes=0)
    compare(lambda x, y: torch.div(x, y, rounding_mode="trunc"), x, y, takes=0)
    compare(lambda x, _: (x // 2, x % 3), x, y, takes=0)
    if device == "cpu":
        compare(lambda x, y: error_of(lambda: x // (y - 1)), x, y, takes=0)


def test_nan_stays(special):
    compare(
        lambda x, _: (torch.relu(x), x.clamp(min=0), x.clamp(-1, 1)), *special
    )
    compare(lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)), *special)
    compare(lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)), *special)
    compare(lambda x, _: (x.sign(), x.abs(), x.sgn(), -x), *special)
    compare(lambda x, _: (x.amax(), x.amin(), x.max(), x.min()), *special)
    compare(
        lambda x, _: (F.hardtanh(x), F.relu6(x), F.threshold(x, 1, 2)), *special
    )


def test_signed_zeros_and_tests_for_kinds(special):
    compare(lambda x, y: (torch.copysign(x, y), x.signbit()), *special)
    compare(lambda x, _: (x.isnan(), x.isinf(), x.isfinite()), *special)
    if not special[0].is_cuda:  # there either zero may be the larger
        compare(lambda x, y: 1 / torch.maximum(x * 0, y * 0), *special)


def test_both_gelus(special):
    # At infinity the kernels of eager differ.
    x = special[0].nan_to_num(NAN, 9.0, -9.0)
    compare(F.gelu, x)
    compare(lambda x: F.gelu(x, approximate="tanh"), x)
    compare(F.silu, x)


def test_activations_with_parameters(special):
    x, _ = special
    compare(F.hardsigmoid, x)
    compare(F.hardswish, x)
    compare(F.softplus, x)
    compare(lambda x: F.softplus(x, beta=2.0, threshold=3.0), x)
    compare(lambda x: F.softplus(x * 10), x)
    compare(lambda x: F.elu(x, alpha=0.5), x)
    compare(lambda x: torch.ops.aten.elu(x, 0.5, 2.0, 3.0), x)
    compare(F.celu, x, takes=0)
    compare(F.selu, x)
    compare(lambda x: F.leaky_relu(x, 0.2), x)
    compare(lambda x: F.hardtanh(x, -0.5, 2.0), x)
    compare(lambda x: (F.mish(x), F.logsigmoid(x)), x)
    compare(lambda x: (F.softsign(x), F.tanhshrink(x), F.hardshrink(x)), x)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod"])
def test_keepdim_may_be_positional(device, name):
    x = torch.randn(4, 5, device=device)
    reduce = getattr(torch, name)
    compare(lambda x: reduce(x, 1, True), x)
    compare(lambda x: reduce(x, -1, keepdim=True), x)
    compare(lambda x: getattr(x, name)(0), x)


@pytest.mark.parametrize(
    "dims", [0, 1, -1, (0, 2), (2, 0), (0, 1, 2), (), None]
)
def test_dimensions_of_reductions(device, dims):
    x = torch.randn(3, 4, 5, device=device)
    for keepdim in (False, True):
        compare(lambda x, k=keepdim: x.sum(dims, k), x)
        compare(lambda x, k=keepdim: x.mean(dims, k), x)
        compare(lambda x, k=keepdim: x.transpose(0, 2).sum(dims, k), x)
        compare(lambda x, k=keepdim: torch.any(x > 1, dims, k), x)
        compare(lambda x, k=keepdim: torch.var(x, dims, keepdim=k), x)
    compare(lambda x: x.sum(dim=[]), x)


def test_dtype_of_a_sum(device):
    x = torch.arange(12, dtype=torch.int32, device=device).view(3, 4)
    compare(lambda x: (x.sum(), x.sum(0), (x > 3).sum()), x)
    compare(lambda x: x.sum(dtype=torch.float64), x)
    compare(lambda x: x.sum(1, dtype=torch.int8), x * 40)
    compare(lambda x: (x * 0.5).sum(0, dtype=torch.float64), x)
    compare(lambda x: x.mean(0, dtype=torch.float32), x)
    compare(lambda x: x.half().sum(dtype=torch.float32), x * 2000)
    compare(lambda x: (x.prod(1), x.prod(dtype=torch.float32)), x)


def test_out_that_is_not_contiguous(device):
    a, b = torch.randn(2, 6, 8, device=device)

    def function(a, b):
        whole = torch.zeros(8, 12, device=device)
        torch.add(a, b, out=whole.t()[::2])
        torch.mul(a[0], b[0], out=whole[:, 1])
        torch.sum(a, 1, out=whole[2, ::2])
        return whole

    compare(function, a, b)


def test_more_dimensions_than_descriptors_have(device):
    x = torch.randn([2] * 12, device=device)
    compare(
        lambda x: (x + x.permute(*range(11, -1, -1)), x * 2, -x), x, takes=0
    )
    compare(lambda x: x.sum((0, 5, 11)), x, takes=0)


def test_threshold_looks_at_the_result(device):
    rows = torch.randn(2048, 1, device=device)
    columns = torch.randn(1, 2048, device=device)
    with scheduler(takes=0, size_threshold=1 << 15):
        before = taken()
        large = rows + columns
        assert taken() == before
        small = rows + columns[:, :4]
        assert taken() == before + 1
    assert_same(rows.cpu() + columns.cpu(), large.cpu())
    assert torch.equal(large[:, :4], small)


def test_threshold_looks_at_what_is_reduced(device):
    x = torch.ones(1 << 16, device=device)
    with scheduler(takes=0, size_threshold=1 << 15):
        before = taken()
        assert x.sum().item() == 1 << 16
        assert taken() == before


@COMPLEX_WARNS
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_itself(device, dtype):
    def arithmetic(x, y):
        return x + y, x * y, x + 1, x * 2.5, x + True, x / y, x.sum(), x.float()

    def choices(x, y):
        return x == y, x != y, torch.where(x == y, x, y)

    x = torch.tensor([0, 1, 2, 3, 100, 127], device=device).to(dtype)
    y = torch.tensor([1, 1, 3, 2, 100, 2], device=device).to(dtype)
    takes = 0 if dtype.is_complex or dtype is torch.bool else 1
    compare(arithmetic, x, y, takes=takes)
    compare(choices, x, y, takes=takes)
    compare(lambda x, y: x.mul_(y), x, y, takes=takes)
    if dtype is not torch.bool:
        compare(lambda x, y: (x - y, -x, 2 - x, x**2), x, y, takes=takes)
    if not dtype.is_complex:
        compare(lambda x, y: (x < y, torch.maximum(x, y), x.amax()), x, y)


def test_wide_integers_are_exact(device):
    x = torch.tensor([2**62 + 1, 2**53 + 1, -(2**63), 2**31], device=device)
    compare(lambda x: (x + 1, x - 1, x * 3, x // 7, x == x - 1, x.sum()), x)
    compare(lambda x: (x & 0xFF, x | 1, x ^ x, ~x, x << 1, x >> 3), x)


@COMPLEX_WARNS
@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_promotion(device, first):
    def function(x, y):
        scalars = x + y[0], x[0] * y, x + y[0].cpu()
        return x + y, x * y, x == y, scalars, error_of(lambda: x.add_(y))

    for second in DTYPES:
        x = torch.tensor([0, 1, 2, 3], device=device).to(first)
        y = torch.tensor([1, 1, 3, 2], device=device).to(second)
        types = {first, second}
        is_left = any(dtype.is_complex for dtype in types)
        # PyTorch rounds wide integers to half types first.
        if types & HALVES and types & WIDE_INTEGERS and device == "cpu":
            is_left = True
        compare(function, x, y, takes=0 if is_left else 1)


def test_fused_results_are_the_tensors_that_one_holds(device):
    a, b = torch.randn(2, 64, device=device)
    with scheduler(takes=3):
        c = a + b
        d = torch.relu(c)
        e = d * c
    assert_same(e, torch.relu(a + b) * (a + b))
    assert_same(c, a + b)
    assert_same(d, torch.relu(a + b))


def test_change_of_an_input_between_two_uses(device):
    a, b = torch.ones(2, 64, device=device)
    with scheduler(takes=4):
        c = a + b
        a.mul_(10)
        d = a + b
        b.add_(c)
    assert c.tolist() == [2.0] * 64
    assert d.tolist() == [11.0] * 64
    assert b.tolist() == [3.0] * 64


@pytest.mark.parametrize(
    "function",
    [
        lambda x, _: x + torch.ones(7, device=x.device),
        lambda x, _: x.add_(torch.ones(2, 12, device=x.device)),
        lambda _, i: i.add_(1.5),
        lambda _, i: i.div_(2),
        lambda _, i: (i > 0) - (i > 1),
        lambda _, i: -(i > 0),
        lambda x, _: x & x,
        lambda x, _: x << 1,
        lambda x, _: x.sum(5),
        lambda x, _: x.sum((0, 0)),
        lambda _, i: i.mean(),
        lambda x, _: x.amax(dim=()) and x[:0].amax(),
        lambda x, _: x + "text",
        lambda x, _: x * None,
        lambda x, _: torch.add(x, x, out=torch.empty(12, dtype=torch.int32)),
        lambda x, _: torch.add(x, x, beta=2),
        lambda x, i: torch.where(x, x, i),
        lambda x, _: torch.div(x, x, rounding_mode="up"),
        lambda x, _: F.gelu(x, approximate="none?"),
        lambda _, i: i**-1,
        lambda x, _: x.softmax(3),
        lambda x, _: torch.clamp(x),
        lambda x, _: x.to(torch.complex64) < 1,
        lambda x, _: x.norm(1j),
        lambda x, _: x.var(0, correction=1j),
        lambda x, _: torch.add(x, 1, alpha=True) if x is None else x[12],
    ],
)
def test_errors_are_those_of_eager_at_the_same_call(device, function):
    x = torch.ones(12, device=device)
    i = torch.arange(12, device=device)
    expected = error_of(lambda: function(x.clone(), i.clone()))
    assert expected is not None
    with scheduler():
        before = x + 1
        came = error_of(lambda: function(x.clone(), i.clone()))
        after = before * 2
    assert came == expected
    assert after.tolist() == [4.0] * 12


def test_a_warning_of_a_guarded_method_is_the_programs(monkeypatch):
    # PyTorch warns once per process unless it is asked for more.
    always = "_always_warn_typed_storage_removal"
    monkeypatch.setattr(torch.storage, always, True)
    with (
        scheduler(takes=0),
        warnings.catch_warnings(record=True) as heard,
    ):
        warnings.simplefilter("always")
        torch.ones(3).storage()
    assert [one.filename for one in heard] == [__file__]


def test_integers_beyond_int64_are_those_of_eager(device):
    """FNV's hash and masks: PyTorch wraps them."""
    x = torch.tensor([1, 2, 3], device=device)
    expressions = [
        lambda n: x ^ n,
        lambda n: x & n,
        lambda n: n - x,
        lambda n: x == n,
        lambda n: x < n,
        lambda n: x + n,
    ]
    for number in (2**63, 0xCBF29CE484222325, 2**64 - 1):
        for expression in expressions:
            expected = expression(number)
            with scheduler(takes=0):
                came = expression(number)
            assert_same(came, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_half_types_are_those_of_eager(dtype):
    rows = torch.tensor([[300.0, 300.0, 1e-3], [-0.0, 1e4, 1e4]]).to(dtype)
    expected = rows.prod(-1)
    with scheduler(takes=0):
        came = rows.prod(-1)
    assert_same(came, expected)
