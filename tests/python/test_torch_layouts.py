"""Strides of results, also where the size is 1: those of eager."""

from __future__ import annotations

import itertools

import pytest
from torch_support import scheduler, torch

pytestmark = pytest.mark.torch

F = torch.nn.functional


def tensors(device):
    """Yield tensors that are in C order and in another order too, or neither."""

    def strided(sizes, strides):
        return torch.ones(64, device=device).as_strided(sizes, strides)

    yield torch.ones(10, 3, 1, 1, device=device).to(
        memory_format=torch.channels_last
    )
    yield torch.ones(2, 1, 4, 4, device=device).to(
        memory_format=torch.channels_last
    )
    yield torch.ones(2, 3, 2, 2, device=device).to(
        memory_format=torch.channels_last
    )
    yield torch.ones(2, 3, 4, device=device)
    yield torch.ones(3, 4, device=device).t()
    yield torch.ones(1, 5, device=device).expand(4, 5)
    yield torch.ones(5, device=device)
    yield torch.ones((), device=device)
    yield strided((4, 1, 5), (5, 1, 1))
    yield strided((1, 6), (1, 1))
    yield strided((3, 1, 1), (1, 7, 9))
    yield strided((3, 1, 1), (1, 9, 7))
    yield strided((1, 1, 3), (2, 50, 1))
    yield strided((1,), (5,))
    yield strided((1, 1), (7, 3))
    yield strided((3, 4), (16, 2))
    yield strided((4, 3), (2, 16))
    yield strided((1, 2, 2, 2), (16, 1, 4, 2))


def small_ones(device):
    """All orders of four axes of 1 or 2, dense or parts of larger ones."""
    for order in itertools.permutations(range(4)):
        back = [order.index(axis) for axis in range(4)]
        for sizes in itertools.product([1, 2], repeat=4):
            inner = tuple(slice(size) for size in sizes)
            yield torch.ones(sizes, device=device).permute(back)
            yield torch.ones(3, 3, 3, 3, device=device)[inner].permute(back)
            twice = torch.ones(2 * sizes[0], *sizes[1:], device=device)
            yield twice[::2].permute(back)


OPERATIONS = {
    "t + 2": lambda t: t + 2,
    "t + 2.5": lambda t: t + 2.5,
    "2 - t": lambda t: 2 - t,
    "t / 2": lambda t: t / 2,
    "2 / t": lambda t: 2 / t,
    "t > 0": lambda t: t > 0,
    "t.le(2)": lambda t: t.le(2),
    "torch.mul(t, 3.0)": lambda t: torch.mul(t, 3.0),
    "t ** 3": lambda t: t**3,
    "t ** 2": lambda t: t**2,
    "2 ** t": lambda t: 2**t,
    "clamp": lambda t: t.clamp(0, 1),
    "clamp_min": lambda t: t.clamp_min(0),
    "where(t, number)": lambda t: torch.where(t > 0, t, 0.5),
    "where(number, t)": lambda t: torch.where(t > 0, 0.5, t),
    "where(numbers)": lambda t: torch.where(t > 0, 0.5, 1.5),
    "where": lambda t: torch.where(t > 0, t, t),
    "fmod": lambda t: t.fmod(2),
    "t % 2": lambda t: t % 2,
    "t // 2": lambda t: t // 2,
    "div trunc": lambda t: torch.div(t, 2, rounding_mode="trunc"),
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "selu": F.selu,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "softplus": F.softplus,
    "threshold": lambda t: F.threshold(t, 0.1, 2.0),
    "logsigmoid": F.logsigmoid,
    "gelu": F.gelu,
    "hardswish": F.hardswish,
    "copysign": lambda t: t.copysign(-1),
    "addcmul": lambda t: torch.addcmul(t, t, t, value=2),
    "lerp": lambda t: t.lerp(t, 0.5),
    "alpha": lambda t: t.add(t, alpha=2),
    "number, alpha": lambda t: t.add(3, alpha=2),
    "rsub": lambda t: torch.rsub(t, 3),
    "masked_fill": lambda t: t.masked_fill(t > 0, 1.0),
    "t.int() ^ 3": lambda t: t.int() ^ 3,
    "t.int() + 3": lambda t: t.int() + 3,
    "sqrt": torch.sqrt,
    "relu": torch.relu,
    "-t": lambda t: -t,
    "t * t": lambda t: t * t,
    "t * 0-d": lambda t: t * torch.ones((), device=t.device),
    "t * (1,)": lambda t: t * torch.ones(1, device=t.device),
    "double": lambda t: t.double(),
    "clone": torch.clone,
    "isnan": torch.isnan,
    "_foreach_mul": lambda t: torch._foreach_mul([t], 2.0)[0],
    "_foreach_add": lambda t: torch._foreach_add([t], [t], alpha=2)[0],
    "_foreach_pow": lambda t: torch._foreach_pow([t], 3.0)[0],
    "softmax": lambda t: t.softmax(-1),
    "sum": lambda t: t.sum(-1, keepdim=True),
    "twice": lambda t: (t * 2.0 + t) * 5.0,
}


@pytest.mark.never(
    lambda device, name: device == "cuda" and name.startswith("_foreach"),
    reason="lists are PyTorch's own unless a test asks for them",
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_strides_are_those_of_eager(device, name):
    function = OPERATIONS[name]
    for tensor in tensors(device):
        expected = function(tensor)
        with scheduler(takes=0):
            got = function(tensor)
        assert got.stride() == expected.stride(), (
            f"{name} of sizes {tuple(tensor.shape)}, strides {tensor.stride()}"
        )
        torch.testing.assert_close(got, expected)


SOME = ["t + 2", "t > 0", "clamp_min", "where(t, number)"]


@pytest.mark.parametrize("name", SOME)
def test_strides_of_all_small_ones(device, name):
    operation = OPERATIONS[name]
    for t in small_ones(device):
        eager = operation(t).stride()
        with scheduler(takes=0):
            got = operation(t).stride()
        assert got == eager, (tuple(t.shape), t.stride())


# Operations on a tensor of another dtype than the result. Eager casts it first,
# and that copy has other strides where a size is 1 or a stride 0.
MIXED = {
    "t + 2.5": lambda t: t + 2.5,
    "sqrt": torch.sqrt,
    "t * double": lambda t: (
        t * torch.ones_like(t[..., -1:], dtype=torch.double)
    ),
    "double < t": lambda t: torch.ones(1, dtype=torch.double).to(t.device) < t,
    "t + double, in one": lambda t: t + t.double(),
    "where": lambda t: torch.where(t > 0, t, torch.ones_like(t).double()),
}


@pytest.mark.parametrize("name", MIXED)
def test_strides_of_mixed_dtypes_are_those_of_eager(device, name):
    operation = MIXED[name]
    whole = itertools.chain(tensors(device), small_ones(device))
    parts = [t[:, :1] for t in tensors(device) if t.ndim > 1]
    for one in (t for t in itertools.chain(whole, parts) if t.ndim):
        t = empty_like_in_all(one, torch.int32)
        eager = operation(t).stride()
        with scheduler(takes=0):
            got = operation(t).stride()
        assert got == eager, (tuple(t.shape), t.stride())


def empty_like_in_all(t, dtype):
    """Return ones of another dtype with the same strides, gaps included."""
    room = sum((n - 1) * k for n, k in zip(t.shape, t.stride(), strict=True))
    memory = torch.ones(room + 1, dtype=dtype, device=t.device)
    return memory.as_strided(t.shape, t.stride())
