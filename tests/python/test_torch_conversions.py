"""Numbers convert between dtypes as in eager PyTorch on that device."""

from __future__ import annotations

import pytest
from torch_support import assert_same, compare, scheduler, torch

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
        compare(way, x)


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", INTEGERS)
def test_the_same_once_it_is_compiled(device, of, to):
    x = torch.tensor(values(), dtype=torch.float64).to(of).to(device)
    for _ in range(40):
        compare(lambda x: [x.to(to) for _ in range(8)], x)


ODD = (0, 1, 2, 255, 128, 0, 3, 1)  # bytes


def test_bools_in_a_program_of_many(device):
    bools = torch.tensor(ODD, dtype=torch.uint8, device=device).view(torch.bool)
    usual = torch.tensor([byte != 0 for byte in ODD], device=device)
    x = torch.arange(8.0, device=device)
    expected = ((usual & ~usual) | usual).float() * x + usual
    for _ in range(100):
        with scheduler():
            got = ((bools & ~bools) | bools).float() * x + bools
        assert_same(expected, got)
