"""Views, memory that tensors share, operations in place, `out=`.

tests/fuzz/torch_lines.py draws the usual ones, and test_torch_readers.py has
every operator that writes. Here are those that neither has.
"""

import ctypes
import random

import pytest
from torch_support import ELEMS, compare, error_of, torch

pytestmark = pytest.mark.torch


def resized(a, b):
    c = torch.empty(0, device=a.device)
    torch.add(a, b, out=c)
    return c * 2, c.shape


def with_data(a, c):
    other = torch.zeros(ELEMS, device=a.device)
    other.data = c
    return other.sigmoid(), c.data * 2


# Changes of `a`, `b` or `c` after `c = a + b`, which is then read.
CHANGES = {
    "set_": lambda a, b, _c: a.set_(torch.zeros_like(b)),
    "other dtype": lambda a, _b, _c: a.view(torch.int32).bitwise_not_(),
    "random": lambda a, _b, _c: torch.manual_seed(5) and a.normal_(),
    "lists": lambda a, b, _c: torch._foreach_add_([a, b], 1.0),
    "item": lambda a, _b, _c: a.__setitem__(slice(10), 100),
    "cpu address": lambda a, _b, _c: (
        ctypes.memset(a.data_ptr(), 0, 4 * ELEMS) and None
    ),
    "cpu numpy": lambda a, _b, _c: a.numpy().fill(0),
    "overlap": lambda a, b, _c: error_of(
        lambda: torch.add(a[:-1], b[:-1], out=a[1:])
    ),
    "expanded": lambda a, _b, _c: error_of(lambda: a[:1].expand(8).add_(1.0)),
    "part of the result": lambda _a, _b, c: c.view(32, 32)[1].cumsum_(0),
    "into the result": lambda _a, b, c: torch.cumsum(b, 0, out=c),
    "resized out": lambda a, b, _c: resized(a, b),
    "larger": lambda _a, _b, c: (c + 0).resize_(2 * ELEMS)[:ELEMS],
    "data": lambda a, _b, c: with_data(a, c),
    "windows": lambda _a, _b, c: c.as_strided((100, 8), (2, 1)).sum(1),
    "unfold": lambda _a, _b, c: c.unfold(0, 4, 2) + 1,
}


@pytest.mark.never(
    lambda device, name: device != "cpu" and name.startswith("cpu"),
    reason="writes with the processor",
)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_after_a_deferred_operation(same, name):
    def function(a, b):
        c = a + b
        return CHANGES[name](a, b, c), c, a * 2

    same(function)


TWO = """
    add atan2 copysign eq fmax fmin fmod ge gt hypot le logaddexp logical_and lt
    maximum minimum mul ne remainder sub true_divide
"""
THREE = {
    "addcdiv": torch.addcdiv,
    "addcmul": torch.addcmul,
    "clamp": torch.clamp,
    "lerp": torch.lerp,
    "where": lambda x, y, z: torch.where(x > 0.5, y, z),
}


def shapes_of_pending(device):
    """Return functions that make a tensor of 4 x 6, or one that fits it."""
    random = torch.Generator().manual_seed(1)

    def draw(*shape):
        return torch.randn(shape, generator=random).to(device)

    a, t, s, row = draw(4, 6), draw(6, 4), draw(4, 1), draw(6)
    halves, flat, deep = draw(2, 12), draw(24), draw(1, 4, 1, 6)
    return [
        lambda: a,
        lambda: t.T,
        lambda: a * 2,
        lambda: a + row,
        lambda: (halves + flat[:12]).view(4, 6),
        lambda: (flat - 1).view(4, 6),
        lambda: (flat.view(2, 3, 4) * s[:, 0]).view(4, 6),
        lambda: (t * 2).T,
        lambda: (t + s[:, 0]).view(4, 6),
        lambda: (s + 1).expand(4, 6),
        lambda: (deep * 2).squeeze((0, 2)),
        lambda: (deep + row).squeeze((0, 2)),
        lambda: (a * s).unsqueeze(0)[0],
        lambda: row * 3,
    ]


@pytest.mark.parametrize("name", [*TWO.split(), *THREE])
def test_views_of_pending_results_are_combined(device, name):
    pieces = shapes_of_pending(device)
    function = THREE.get(name) or getattr(torch, name)
    count = 3 if name in THREE else 2
    draws = random.Random(name)
    for _ in range(40):
        chosen = draws.choices(pieces, k=count)

        def twice(chosen=chosen):
            return [function(*[make() for make in chosen]) for _ in range(2)]

        with torch.no_grad():
            compare(twice)
