"""Numbers convert between dtypes as in eager PyTorch on that device."""

from __future__ import annotations

import pytest
from torch_support import assert_same, scheduler, torch

pytestmark = pytest.mark.torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
POWERS = (7, 8, 15, 16, 31, 32, 40, 63, 64, 65)


def values():
    """Return numbers on both sides of every limit, and NaN."""
    found = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 200.0, -200.0, 33000.0]
    found += [float("inf"), float("-inf"), float("nan"), 1e20, -1e20, 3e9, -3e9]
    for power in POWERS:
        for beside in (-5.0, -1.0, 0.0, 1.0, 5.0):
            found += [2.0**power + beside, -(2.0**power) + beside]
    return found


def ways(to):
    """Yield the conversions of tensors to a dtype."""
    yield lambda x: x.to(to)
    yield lambda x: torch.empty_like(x, dtype=to).copy_(x)
    yield lambda x: x[::2].to(to)
    yield lambda x: x.reshape(-1, 2).t().to(to)
    yield lambda x: x[20].to(to)
    yield lambda x: (x * 1.0).to(to) + 1
    yield lambda x: x[20:21].to(to)


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", INTEGERS)
def test_reals_to_integers_that_they_do_not_fit(device, of, to):
    x = torch.tensor(values(), dtype=torch.float64).to(of).to(device)
    for way in ways(to):
        expected = way(x)
        with scheduler():
            got = way(x)
        assert_same(expected, got)


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", INTEGERS)
def test_the_same_once_it_is_compiled(device, of, to):
    x = torch.tensor(values(), dtype=torch.float64).to(of).to(device)
    expected = x.to(to)
    for _ in range(40):
        with scheduler():
            got = [x.to(to) for _ in range(8)]
        for one in got:
            assert_same(expected, one)


ODD = (0, 1, 2, 255, 128, 0, 3, 1)  # bytes
OPERATIONS = [
    lambda b, _: b & b,
    lambda b, x: b & (x > 0),
    lambda b, x: b | (x > 0),
    lambda b, x: b ^ (x > 0),
    lambda b, _: b ^ b,
    lambda b, _: ~b,
    lambda b, x: b == (x > 0),
    lambda b, x: b != (x > 0),
    lambda b, x: b < (x > 0),
    lambda b, x: b <= (x > 0),
    lambda b, _: b == 1,
    lambda b, x: b + x,
    lambda b, x: b * x,
    lambda b, _: b * 3,
    lambda b, x: x - b.float(),
    lambda b, _: b.sum(),
    lambda b, _: b.sum(0, dtype=torch.float32),
    lambda b, _: b.prod(),
    lambda b, _: b.any(),
    lambda b, _: b.all(),
    lambda b, _: b.float(),
    lambda b, _: b.double(),
    lambda b, _: b.half(),
    lambda b, _: b.int(),
    lambda b, _: b.long(),
    lambda b, _: b.to(torch.uint8),
    lambda b, _: b.to(torch.int8),
    lambda b, _: b.clone(),
    lambda b, _: b.logical_not(),
    lambda b, x: torch.where(b, x, -x),
    lambda b, x: x.masked_fill(b, 7.0),
    lambda b, x: torch.maximum(b, x > 0),
    lambda b, _: b.float().mean(),
    lambda b, x: x.clone().copy_(b),
    lambda b, x: torch._foreach_mul([x, x], [b.float(), b.float()]),
    lambda b, _: b[::2] * 2.0,
    lambda b, _: b.reshape(2, 4).t().float() + 1.0,
    lambda b, _: b.reshape(2, 4).sum(1),
]


def odd_bools(device):
    return torch.tensor(ODD, dtype=torch.uint8, device=device).view(torch.bool)


@pytest.mark.parametrize("operation", range(len(OPERATIONS)))
def test_bools_are_true_unless_they_are_zero(device, operation):
    function = OPERATIONS[operation]
    bools = odd_bools(device)
    x = torch.arange(8.0, device=device) - 4.0
    usual = torch.tensor([byte != 0 for byte in ODD], device=device)
    expected = function(usual, x)
    with scheduler(takes=0):
        got = function(bools, x)
    assert_same(expected, got)


def test_bools_in_a_program_of_many(device):
    bools = odd_bools(device)
    usual = torch.tensor([byte != 0 for byte in ODD], device=device)
    x = torch.arange(8.0, device=device)
    expected = ((usual & ~usual) | usual).float() * x + usual
    for _ in range(100):
        with scheduler():
            got = ((bools & ~bools) | bools).float() * x + bools
        assert_same(expected, got)
