"""Typical errors of a scheduler of small operations: wrong numbers."""

import itertools
import math
import warnings

import pytest
from torch_support import (
    assert_same,
    compare,
    error_of,
    scheduler,
    taken,
    torch,
)

pytestmark = pytest.mark.torch

F = torch.nn.functional
INF, NAN = math.inf, math.nan
EXACT = {"rtol": 0, "atol": 0}
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 25.0, -25.0]
NAMES = """
    bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64
    complex128
"""
DTYPES = [getattr(torch, name) for name in NAMES.split()]
HALVES = {torch.float16, torch.bfloat16}
WIDE_INTEGERS = {torch.int16, torch.int32, torch.int64}
# PyTorch warns of half complex numbers, and of their parts that are lost.
COMPLEX_WARNS = pytest.mark.filterwarnings("ignore:.*omplex.*:UserWarning")


@pytest.fixture
def special(device):
    """Pairs of every two numbers that are easily wrong."""
    x = torch.tensor(SPECIAL, device=device)
    return x.repeat(len(SPECIAL)), x.repeat_interleave(len(SPECIAL))


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


def sums_with_product(x, y, k):
    return {
        "add": torch.add(x, y, alpha=k),
        "sub": torch.sub(x, y, alpha=k),
        "add_": x.clone().add_(y, alpha=k),
        "out": torch.sub(x, y, alpha=k, out=torch.empty_like(x)),
        "list": torch._foreach_add([x], [y], alpha=k)[0],
        "rsub": torch.rsub(y, x, alpha=k),
    }


def products_with_number(x, y, k):
    """Return results of operators that add a product to `x`, or to 1.7."""
    addcmul = torch.addcmul(x, y, x, value=k)
    return sums_with_product(x, y, k) | {"addcmul": addcmul}


def drawn_for_numbers(dtype, case):
    """Return two vectors, 1 to 100 long, some strided, and a number."""
    draws = torch.Generator().manual_seed(case)
    elems = int(torch.randint(1, 101, (), generator=draws))
    step = 1 + case % 3 // 2
    x, y = torch.randn(2, step * elems, generator=draws).to(dtype)[:, ::step]
    k = [1.3, -0.7, 0.1, 3, -2.7182818, 1e-3, 2049][case % 7]
    return x, y, k


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_numbers_with_half_types_round_as_in_eager(dtype):
    for case in range(60):
        given = drawn_for_numbers(dtype, case)
        with torch.no_grad():
            compare(
                lambda g=given: results_with_number(*g),
                takes=20,
                tolerances=EXACT,
            )


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_products_with_half_types_differ_by_one_rounding(dtype):
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


@pytest.mark.host
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str
)
def test_products_of_whole_blocks_have_the_same_bits(dtype):
    for elems, k in itertools.product([64, 320], [1.3, -0.7, 3, 1e-3]):
        x, y = torch.randn(2, elems).to(dtype)
        with torch.no_grad():
            compare(sums_with_product, x, y, k, takes=6, tolerances=EXACT)


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_rounding_of_division(special, mode):
    compare(lambda x, y: torch.div(x, y, rounding_mode=mode), *special)
    compare(lambda x, y: torch.div(x, y + 0.3, rounding_mode=mode), *special)


def test_signed_zeros_and_tests_for_kinds(special):
    compare(lambda x, y: (torch.copysign(x, y), x.signbit()), *special)
    compare(lambda x, _: (x.isnan(), x.isinf(), x.isfinite()), *special)
    if not special[0].is_cuda:  # there either zero may be the larger
        compare(lambda x, y: 1 / torch.maximum(x * 0, y * 0), *special)


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


def test_threshold_counts_the_reduced_elements(device):
    x = torch.ones(1 << 16, device=device)
    with scheduler(takes=0, size_threshold=1 << 15):
        before = taken()
        assert x.sum().item() == 1 << 16
        assert taken() == before


def test_wide_integers_are_exact(device):
    x = torch.tensor([2**62 + 1, 2**53 + 1, -(2**63), 2**31], device=device)
    compare(lambda x: (x + 1, x - 1, x * 3, x // 7, x == x - 1, x.sum()), x)
    compare(lambda x: (x & 0xFF, x | 1, x ^ x, ~x, x << 1, x >> 3), x)


@COMPLEX_WARNS
@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_promotion(device, first):
    def function(x, y):
        scalars = x + y[0], x[0] * y, x + y[0].cpu(), x * 2.5, x + True
        chosen = torch.where(x == y, x, y), x.sum()
        error = error_of(lambda: x.add_(y))
        return x + y, x * y, x == y, scalars, chosen, error

    for second in DTYPES:
        x = torch.tensor([0, 1, 2, 3], device=device).to(first)
        y = torch.tensor([1, 1, 3, 2], device=device).to(second)
        types = {first, second}
        is_left = any(dtype.is_complex for dtype in types)
        # PyTorch rounds wide integers to half types first.
        if types & HALVES and types & WIDE_INTEGERS and device == "cpu":
            is_left = True
        compare(function, x, y, takes=0 if is_left else 1)


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
        lambda x, _: x[12],
        lambda *_: torch.relu(),
        lambda x, _: torch.relu(x, x),
        lambda x, _: x.amax("x"),
        lambda x, _: x.sum(0, dim=0),
        lambda x, _: x.softmax(),
        lambda x, _: x.softmax((0,)),
        lambda _, i: torch.log_softmax(i, 0),
        lambda _, i: i.cpu() // (i.cpu() - 1),
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
    for n in (2**63, 0xCBF29CE484222325, 2**64 - 1):
        compare(
            lambda x, n=n: (x ^ n, x & n, n - x, x == n, x < n, x + n),
            x,
            takes=0,
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_half_types_are_those_of_eager(dtype):
    rows = torch.tensor([[300.0, 300.0, 1e-3], [-0.0, 1e4, 1e4]]).to(dtype)
    compare(lambda rows: rows.prod(-1), rows, takes=0)
