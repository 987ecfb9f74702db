"""Random programs over a pool of tensors, against eager.

GPUOS_FUZZ_EXAMPLES sets how many programs are tried; the first ones are always
the same.
"""

from __future__ import annotations

import itertools
import os
import random

import pytest
from torch_support import (
    assert_same,
    cloned,
    error_of,
    gt,
    in_thread,
    scheduler,
    torch,
)

pytestmark = [
    pytest.mark.torch,
    # Divisions, casts and reductions that eager PyTorch warns of too.
    pytest.mark.filterwarnings("ignore"),
]

PROGRAMS = int(os.environ.get("GPUOS_FUZZ_EXAMPLES", "60"))
STEPS = 60
# One rounding of a half type, which later steps carry into wider ones.
LIMITS = {"rtol": 1e-2, "atol": 1e-2}
POOL = 8
DTYPES = [
    torch.float32,
    torch.float32,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.bool,
]
SHAPES = [
    (),
    (1,),
    (6,),
    (4, 6),
    (4, 1),
    (3, 4, 6),
    (1, 6),
    (0, 6),
    (2, 3, 2, 2),
    (4, 3, 1, 1),
]


def snapped(function):
    """Return `function` with results that small differences do not change.

    Otherwise they would flip comparisons and floors later in a program.
    """

    def run(*inputs):
        return torch.round(function(*inputs) * 8) / 8

    return run


ONE = [
    torch.neg,
    torch.abs,
    torch.relu,
    torch.square,
    torch.floor,
    torch.sign,
    torch.isfinite,
    torch.logical_not,
    lambda x: torch.nan_to_num(x, 1, 2, 3),
    lambda x: torch.clamp(x, -2, 2),
    snapped(torch.tanh),
    snapped(torch.sigmoid),
    snapped(lambda x: torch.sin(x.clamp(-9, 9))),
    # Eager's are NaN at infinity on some devices.
    snapped(lambda x: torch.nn.functional.gelu(x.clamp(-99, 99))),
    snapped(lambda x: torch.nn.functional.silu(x.clamp(-99, 99))),
    snapped(lambda x: torch.exp(x.clamp(-5, 5))),
    snapped(lambda x: torch.sqrt(x.abs())),
    snapped(lambda x: x.softmax(-1)),
]
TWO = [
    torch.add,
    torch.sub,
    torch.mul,
    torch.maximum,
    torch.minimum,
    torch.lt,
    torch.eq,
    torch.ge,
    torch.bitwise_and,
    # The sign of a zero is not promised, and would make a difference.
    snapped(lambda x, y: torch.div(x, y + 0.0)),
    snapped(lambda x, y: torch.atan2(x + 0.0, y + 0.0)),
    lambda x, y: torch.add(x, y, alpha=2),
    lambda x, y: torch.where(x > y, x, y),
    lambda x, y: x * 0.5 + y,
]
REDUCE = ["amax", "amin", "any", "all", "argmax"]
REDUCE_SNAPPED = ["sum", "mean", "var"]
IN_PLACE = ["add_", "sub_", "mul_"]
IN_PLACE_ONE = ["neg_", "relu_", "floor_", "abs_", "zero_", "sign_"]
VIEWS = [
    lambda x: x.t() if x.dim() == 2 else x,
    lambda x: x[1:] if x.dim() else x,
    lambda x: x[..., ::2] if x.dim() else x,
    lambda x: x.reshape(-1),
    lambda x: x.unsqueeze(0) if x.dim() < 4 else x,
    lambda x: x.expand(3, *x.shape) if x.dim() < 4 else x,
    lambda x: x.movedim(0, -1) if x.dim() else x,
    lambda x: x.detach(),
    lambda x: x.select(0, 0) if x.dim() and x.shape[0] else x,
    lambda x: x.view_as(x),
    # Bytes other than 0 and 1.
    lambda x: x.view(torch.bool) if x.dtype == torch.uint8 else x,
]
NUMBERS = [
    torch.add,
    torch.mul,
    torch.sub,
    torch.lt,
    torch.ne,
    torch.maximum,
    torch.fmod,
    torch.remainder,
    torch.bitwise_and,
    lambda x, y: y * x,
    lambda x, y: y - x,
    lambda x, y: torch.where(x > 0, x, y),
    lambda x, y: torch.clamp(x, max=y),
    lambda x, y: x.masked_fill(x > 1, y),
    lambda x, y: torch.add(x, y, alpha=2),
]


def split(x):
    """Return a part up to an index that is computed."""
    at = (x.flatten()[:1] != 0).long().cpu() + 1
    return torch.tensor_split(x, at)[0]


OTHER = [
    lambda x: torch.flip(x, [0]) if x.dim() else x,
    lambda x: torch.cumsum(x.float(), -1) if x.dim() else x,
    lambda x: torch.cat([x, x]) if x.dim() else x,
    lambda x: x.clone(),
    lambda x: x.contiguous(),
    lambda x: x.float() @ x.float() if x.dim() == 1 else x,
    lambda x: (
        x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x
    ),
    lambda x: split(x) if x.dim() and x.numel() else x,
    lambda x: x.new_tensor([1, 0]),
]


class Program:
    """One program of a seed: the same steps each time that it runs."""

    def __init__(self, seed, device):
        self.choose = random.Random(seed)
        self.device = device
        made = torch.Generator().manual_seed(seed)
        self.pool = []
        for _ in range(POOL):
            x = torch.randn(self.choose.choice(SHAPES), generator=made)
            x = torch.round(x * 24) / 8
            dtype = self.choose.choice(DTYPES)
            if not dtype.is_floating_point:
                x = x.abs()  # negative numbers have no unsigned value
            self.pool.append(x.to(device, dtype))
        self.log = []

    def run(self, between):
        """Run every step, and `between` after some; return the observations."""
        steps = {
            self.one: 6,
            self.two: 8,
            self.number: 4,
            self.reduce: 2,
            self.change: 4,
            self.change_one: 2,
            self.copy: 1,
            self.into: 2,
            self.look: 1,
            self.view: 4,
            self.other: 1,
            self.cast: 2,
            self.lists: 1,
            self.assign: 1,
        }
        for _ in range(STEPS):
            [step] = self.choose.choices(list(steps), list(steps.values()))
            self.log.append(step.__name__)
            self.log.append(error_of(step))
            if self.choose.random() < 0.1:
                between()
        return self.log, self.pool

    def take(self):
        return self.choose.choice(self.pool)

    def keep(self, result):
        # Not larger and larger, and not ever more views of one tensor.
        if isinstance(result, torch.Tensor) and result.numel() <= 2000:
            self.pool[self.choose.randrange(POOL)] = result

    def one(self):
        self.keep(self.choose.choice(ONE)(self.take()))

    def two(self):
        self.keep(self.choose.choice(TWO)(self.take(), self.take()))

    def number(self):
        number = self.choose.choice([2, -1, 0.5, 3.0, True])
        self.keep(self.choose.choice(NUMBERS)(self.take(), number))

    def reduce(self):
        x = self.take()
        name = self.choose.choice(REDUCE + REDUCE_SNAPPED)
        dim = self.choose.randrange(-1, x.dim()) if x.dim() else 0
        keepdim = self.choose.random() < 0.5

        def reduce(x):
            return getattr(x, name)(dim, keepdim=keepdim)

        self.keep((snapped(reduce) if name in REDUCE_SNAPPED else reduce)(x))

    def change(self):
        getattr(self.take(), self.choose.choice(IN_PLACE))(self.take())

    def copy(self):
        x, y = self.take(), self.take()
        if x.dtype == y.dtype or x.is_floating_point():
            x.copy_(y)

    def change_one(self):
        getattr(self.take(), self.choose.choice(IN_PLACE_ONE))()

    def into(self):
        self.choose.choice(TWO[:4])(self.take(), self.take(), out=self.take())

    def look(self):
        x = self.take()
        self.log.append(x.flatten()[0].item() if x.numel() else x.shape)

    def view(self):
        self.keep(self.choose.choice(VIEWS)(self.take()))

    def other(self):
        self.keep(self.choose.choice(OTHER)(self.take()))

    def cast(self):
        self.keep(self.take().to(self.choose.choice(DTYPES)))

    def lists(self):
        several = [self.take(), self.take()]
        for result in torch._foreach_mul(several, 0.5):
            self.keep(result)

    def assign(self):
        self.take()[..., :1] = self.choose.choice([0, 1.5])


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(device, seed):
    choose = random.Random(seed)

    def flush():
        choose.choice([gt.flush, lambda: in_thread(gt.flush), wait])()

    def wait():
        gt.flush(sync=True)

    expected = cloned(Program(seed, device).run(lambda: None))
    with scheduler(takes=0, capacity=[4, 64, 8192][seed % 3]):
        came = Program(seed, device).run(flush)
    assert_same(expected, cloned(came), **LIMITS)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_beside_the_timer(device, seed):
    expected = cloned(Program(seed, device).run(lambda: None))
    with scheduler(takes=0, auto_flush_ms=0.05):
        came = Program(seed, device).run(lambda: None)
    assert_same(expected, cloned(came), **LIMITS)


@pytest.fixture
def swap(device):
    """Replaces an operator of the runtimes that run deferred operations."""
    with scheduler():
        torch.ones(4, device=device) + 1
    runtimes = [gt.runtime(device)]
    for runtime in runtimes:
        runtime.define("fuzzed", "y = x + 1")
    turns = itertools.cycle(["y = x * 2", "y = x + 1"])

    def swap():
        for runtime in runtimes:
            runtime.replace("fuzzed", next(turns))

    yield swap
    for runtime in runtimes:
        runtime.undefine("fuzzed")


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_beside_swaps(device, seed, swap):
    expected = cloned(Program(seed, device).run(lambda: None))
    with scheduler(takes=0, capacity=[4, 8192][seed % 2]):
        came = Program(seed, device).run(swap)
    assert_same(expected, cloned(came), **LIMITS)


def test_random_programs_are_taken(device):
    with scheduler(takes=STEPS // 2):
        for seed in range(5):
            Program(seed, device).run(lambda: None)
