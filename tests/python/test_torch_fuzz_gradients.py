"""Random programs with derivatives, backwards and forwards, against eager."""

from __future__ import annotations

import random

import pytest
from torch_support import assert_same, cloned, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    # PyTorch's forward derivatives use deprecated functions.
    pytest.mark.filterwarnings("ignore"),
]

GRADIENT_STEPS = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x - y.mean(0),
    lambda x, _: torch.tanh(x),
    torch.maximum,
    lambda x, _: x.sigmoid() * 2,
    lambda x, y: x / (y.abs() + 1),
    lambda x, y: x.sum(1, keepdim=True) + y,
    lambda x, _: x.reshape(6, 4).t() * 0.5,
    lambda x, y: x.clone().add_(y),
    lambda x, _: x.contiguous(),
]


@pytest.mark.parametrize("seed", range(20))
def test_gradients_of_random_programs(device, seed):
    def run():
        choose = random.Random(seed)
        made = torch.Generator().manual_seed(seed)
        leaves = [
            torch.rand(4, 6, generator=made).to(device).requires_grad_()
            for _ in range(3)
        ]
        pool = [x * 1.0 for x in leaves]
        for _ in range(20):
            step = choose.choice(GRADIENT_STEPS)
            result = step(choose.choice(pool), choose.choice(pool))
            pool[choose.randrange(3)] = result
        loss = sum(x.tanh().sum() for x in pool)
        return loss, torch.autograd.grad(loss, leaves, allow_unused=True)

    expected = cloned(run())
    with scheduler():
        came = run()
    assert_same(expected, cloned(came), rtol=1e-4, atol=1e-5)


FORWARD_STEPS = [
    *GRADIENT_STEPS,
    lambda x, _: x * 0.5,
    lambda x, _: 2 - x,
    lambda x, _: x**2,
    lambda x, y: torch.where(x > y, x, 0.0),
    lambda x, _: x.detach(),
    lambda x, y: torch.lerp(x, y, 0.25),
]


@pytest.mark.parametrize("seed", range(20))
def test_forward_derivatives_of_random_programs(device, seed):
    forward = torch.autograd.forward_ad

    def run():
        choose = random.Random(seed)
        made = torch.Generator().manual_seed(seed)
        given = [torch.rand(4, 6, generator=made).to(device) for _ in range(6)]
        with forward.dual_level():
            pool = [
                forward.make_dual(x * 1.0, t)
                for x, t in zip(given[:3], given[3:], strict=True)
            ]
            for _ in range(20):
                step = choose.choice(FORWARD_STEPS)
                result = step(choose.choice(pool), choose.choice(pool))
                pool[choose.randrange(3)] = result
            return [list(forward.unpack_dual(x)) for x in pool]

    expected = cloned(run())
    with scheduler():
        came = run()
    assert_same(expected, cloned(came), rtol=1e-4, atol=1e-5)
