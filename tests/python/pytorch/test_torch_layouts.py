"""Strides of results, also where the size is 1: those of eager."""

import itertools

import pytest
import torch_overloads
from torch_support import outcome, scheduler, torch

pytestmark = pytest.mark.torch


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


# Calls as Python makes them; the dispatcher calls the others.
SOME = {
    "t + 2": lambda t: t + 2,
    "t > 0": lambda t: t > 0,
    "2 ** t": lambda t: 2**t,
    "clamp_min": lambda t: t.clamp_min(0),
    "where(t, number)": lambda t: torch.where(t > 0, t, 0.5),
    "where(numbers)": lambda t: torch.where(t > 0, 0.5, 1.5),
    "t.int() ^ 3": lambda t: t.int() ^ 3,
    "t * 0-d": lambda t: t * torch.ones((), device=t.device),
    "t * (1,)": lambda t: t * torch.ones(1, device=t.device),
    "softmax": lambda t: t.softmax(-1),
    "sum": lambda t: t.sum(-1, keepdim=True),
    "twice": lambda t: (t * 2.0 + t) * 5.0,
}


def call_of(overload):
    """Return a function that calls an overload with a tensor for each."""

    def call(t):
        given, named = overload.make([t] * 4, fresh=lambda x: x)
        made = overload.call(*given, **named)
        return made[0] if isinstance(made, list) else made

    return call


OPERATIONS = SOME | {
    one.name: call_of(one)
    for one in torch_overloads.OVERLOADS
    if not one.out and not one.is_in_place
}


@pytest.mark.never(
    lambda device, name: device == "cuda" and name.startswith("_foreach"),
    reason="lists are PyTorch's own unless a test asks for them",
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_strides_are_those_of_eager(device, name):
    compare(OPERATIONS[name], tensors(device))


@pytest.mark.parametrize("name", ["t + 2", "t > 0", "clamp_min"])
def test_small_strides_match_eager(device, name):
    compare(SOME[name], small_ones(device))


@pytest.mark.parametrize("function", [lambda t: t * 1e6, lambda t: t < -1e9])
def test_a_layout_does_not_decide_which_numbers_are_taken(device, function):
    """A half has no room for these numbers."""
    whole = torch.ones(3, 4, dtype=torch.float16, device=device)
    for t in (whole, whole[:, ::2]):
        # On a GPU, PyTorch refuses some of these numbers.
        takes = 1 if device == "cpu" or t is whole else 0
        with torch.no_grad(), scheduler(takes=takes):
            made = function(t)
        assert torch.equal(made, function(t))


def compare(function, made):
    made = [*made]
    expected = [outcome(lambda t=t: function(t).stride()) for t in made]
    with torch.no_grad(), scheduler(takes=0):
        came = [outcome(lambda t=t: function(t).stride()) for t in made]
    for t, one, other in zip(made, expected, came, strict=True):
        assert other == one, (tuple(t.shape), t.stride())


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
    whole = [*tensors(device), *small_ones(device)]
    whole += [t[:, :1] for t in tensors(device) if t.ndim > 1]
    compare(
        MIXED[name],
        [empty_like_in_all(t, torch.int32) for t in whole if t.ndim],
    )


def empty_like_in_all(t, dtype):
    """Return ones of another dtype with the same strides, gaps included."""
    room = sum((n - 1) * k for n, k in zip(t.shape, t.stride(), strict=True))
    memory = torch.ones(room + 1, dtype=dtype, device=t.device)
    return memory.as_strided(t.shape, t.stride())
