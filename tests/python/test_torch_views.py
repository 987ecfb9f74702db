"""Views, memory that tensors share, operations in place, `out=`."""

from __future__ import annotations

import ctypes
import random

import pytest
from torch_support import ELEMS, assert_same, error_of, scheduler, torch

pytestmark = pytest.mark.torch


def ones_like_view(a):
    return torch.ones(32, 32, device=a.device)


def test_in_place_on_a_view_is_seen_by_its_base(same):
    def function(a, b):
        c = a + b
        c.view(32, 32).add_(ones_like_view(a))
        return c * 2.0

    same(function)


def test_other_operation_in_place_on_a_view(same):
    def function(a, b):
        c = a + b
        c.view(32, 32)[1].cumsum_(0)
        return c

    same(function)


def test_in_place_on_a_base_is_seen_by_its_view(same):
    def function(a, b):
        view = a.view(32, 32)
        a.add_(b)
        return view * 2.0

    same(function)


def test_in_place_on_an_input_comes_after(same):
    def function(a, b):
        c = a + b
        a.add_(b)
        return c

    same(function)


@pytest.mark.parametrize(
    "change",
    [
        lambda a, _: a.sigmoid_(),
        lambda a, _: a.cumsum_(0),
        lambda a, _: a.fill_(5.0),
        lambda a, _: a.zero_(),
        lambda a, b: a.copy_(b),
        lambda a, _: a.__setitem__(slice(10), 100),
        lambda a, _: a.set_(torch.zeros(ELEMS, device=a.device)),
        lambda a, _: a.index_fill_(0, torch.arange(3, device=a.device), 2.0),
        lambda a, b: torch.cumsum(b, 0, out=a),
        lambda a, b: torch._foreach_add_([a, b], 1.0),
        lambda a, _: a.view(torch.int32).bitwise_not_(),
        lambda a, _: torch.manual_seed(5) and a.normal_(),
    ],
    ids=[
        "sigmoid_",
        "cumsum_",
        "fill_",
        "zero_",
        "copy_",
        "setitem",
        "set_",
        "index_fill_",
        "out=",
        "foreach",
        "other dtype",
        "random",
    ],
)
def test_change_of_an_input_comes_after(same, change):
    def function(a, b):
        c = a + b
        change(a, b)
        return c

    same(function)


def test_copy_from_a_pending_tensor(same):
    def function(a, b):
        c = a + b
        return a.copy_(c)

    same(function)


def test_swap_of_two_tensors(same):
    def function(a, b):
        for _ in range(5):
            c = a + 0.0
            a.copy_(b)
            b.copy_(c)
        return a - b

    same(function)


def test_other_operation_writes_over_a_pending_tensor(same):
    def function(a, b):
        c = a + b
        torch.cumsum(b, 0, out=c)
        return c

    same(function)


def test_out_is_written_twice(same):
    def function(a, b):
        c = torch.empty(ELEMS, device=a.device)
        torch.add(a, b, out=c)
        torch.add(c, c, out=c)
        return c

    same(function)


def test_out_is_resized_as_by_eager(same):
    def function(a, b):
        c = torch.empty(0, device=a.device)
        torch.add(a, b, out=c)
        return c * 2, c.shape

    same(function)


def test_out_of_another_dtype_is_a_cast(same):
    def function(a, b):
        c = torch.empty(ELEMS, device=a.device, dtype=torch.float64)
        torch.add(a, b, out=c)
        return c

    same(function, takes=0)


@pytest.mark.never(
    lambda device: device != "cpu",
    reason="NumPy sees the memory of the processor only",
)
def test_numpy_writes_through_an_alias_that_came_after(same):
    def function(a, b):
        c = a + b
        a.numpy()[:] = 0
        return c

    same(function)


@pytest.mark.never(
    lambda device: device != "cpu",
    reason="NumPy sees the memory of the processor only",
)
def test_numpy_writes_through_an_older_alias(same):
    def function(a, b):
        alias = a.numpy()
        c = a + b
        alias[:] = 0
        return c, b * 2

    same(function)


@pytest.mark.never(
    lambda device: device != "cpu", reason="writes with the processor"
)
def test_write_through_an_address(same):
    def function(a, b):
        c = a + b
        ctypes.memset(a.data_ptr(), 0, 4 * ELEMS)
        return c

    same(function)


def test_partial_overlap_is_the_error_of_eager(same):
    def function(a, b):
        c = a + b
        return error_of(lambda: torch.add(a[:-1], b[:-1], out=a[1:])), a, c

    same(function)


def test_in_place_on_an_expanded_tensor_is_the_error_of_eager(same):
    def function(a, b):
        c = a + b
        wide = a[:1].expand(8)
        return error_of(lambda: wide.add_(1.0)), c

    same(function)


def test_detach_and_clone(same):
    def function(a, b):
        detached = (a + b).detach()
        copy = detached.clone()
        return detached * 2.0, copy

    same(function)


def test_resize(same):
    def function(a, b):
        c = a + b
        c.resize_(2 * ELEMS)
        return c[:ELEMS]

    same(function)


def test_data_attribute(same):
    def function(a, b):
        c = a + b
        other = torch.zeros(ELEMS, device=a.device)
        other.data = c
        return other.sigmoid(), c.data * 2

    same(function)


def test_transposed_inputs(same):
    def function(a, b):
        x = a.view(32, 32).t()
        y = b.view(4, 8, 32).permute(2, 0, 1)
        return x + x, (a + b).view(32, 32).t() * 2.0, y * y.relu(), x + b[:32]

    same(function)


def test_strided_and_offset_inputs(same):
    def function(a, b):
        return a[1::2] + b[::2], a.view(32, 32)[3:9, 5:] * 3, b[7:] - a[:-7]

    same(function)


def test_expanded_inputs(same):
    same(lambda a, b: (a[:1].expand(ELEMS) + b, a.expand(4, ELEMS) * 2))


def test_broadcasting(same):
    def function(a, b):
        return (
            a.view(32, 32) + b[:32],
            a.view(32, 32) + b[:32, None],
            a[:8].view(8, 1, 1) * b[:4].view(1, 4, 1) - a[:2],
        )

    same(function)


def test_channels_last_stays_channels_last(same):
    def function(a, b):
        x = a.view(2, 8, 8, 8).to(memory_format=torch.channels_last)
        y = x * 2 + b.view(2, 8, 8, 8)
        return y, y.is_contiguous(memory_format=torch.channels_last)

    same(function)


def test_as_strided(same):
    def function(a, b):
        windows = (a + b).as_strided((100, 8), (2, 1))
        return windows.sum(1), windows * 2

    same(function)


def test_unfold_split_and_chunk(same):
    def function(a, b):
        c = a + b
        first, second = c.chunk(2)
        return (
            first * second,
            c.unfold(0, 4, 2) + 1,
            [x + 1 for x in c.split(99)],
        )

    same(function)


def test_zero_dimensions_and_no_elements(same):
    def function(a, b):
        two, three = torch.tensor(2.0), torch.tensor(3.0)
        empty = torch.empty(0, 3, device=a.device)
        return a[0] + b[0], two + three, a + two, empty + empty, empty.sum(0)

    same(function)


def test_long_chain_whose_temporaries_are_dropped(same):
    def function(a, b):
        for _ in range(3000):
            a = (a + b) * 0.5
        return a

    same(function, takes=6000)


def test_dropped_inputs_are_kept(same):
    def function(a, b):
        x, y = a.clone(), b.clone()
        c = x + y
        del x, y
        # Memory of their size, in the hope that it is theirs.
        others = [torch.full((ELEMS,), 9.0, device=a.device) for _ in range(50)]
        return c, others[0]

    same(function)


def test_versions_count_changes(same):
    def function(a, b):
        c = a + b
        before = c._version
        c.add_(a)
        torch.add(a, b, out=c)
        c.view(32, 32).mul_(2)
        return c._version - before, (a + b)._version

    same(function)


@pytest.mark.parametrize(
    "look",
    [
        lambda a: torch.cumsum(a, 0),
        lambda a: a * 2.0,
        lambda a: a.cpu().numpy().copy(),
        lambda a: a.clone().tolist()[:4],
        lambda a: a[5].item(),
    ],
    ids=["other", "taken", "numpy", "tolist", "item"],
)
def test_base_is_read_after_a_change_of_its_view(same, look):
    def function(a, _):
        a.view(32, 32).add_(ones_like_view(a))
        return look(a)

    same(function)


def test_base_is_read_after_a_change_of_one_of_its_elements(same):
    def function(a, b):
        c = a + b
        c[::2] += 1
        c[1::2] *= c[::2]
        return c, c.sum()

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
def test_views_of_what_is_pending_meet_in_one_operator(device, name):
    pieces = shapes_of_pending(device)
    function = THREE.get(name) or getattr(torch, name)
    count = 3 if name in THREE else 2
    draws = random.Random(name)
    for _ in range(40):
        chosen = draws.choices(pieces, k=count)
        expected = [function(*[piece() for piece in chosen]) for _ in range(2)]
        with torch.no_grad(), scheduler():
            came = [function(*[piece() for piece in chosen]) for _ in range(2)]
        assert_same(expected, came)
