"""Reads of small values that the host knows while they are pending."""

import ctypes
import random
from contextlib import nullcontext

import pytest
from torch_support import gt, scheduler, torch

pytestmark = pytest.mark.torch

NEVER_MS = 60_000


@pytest.fixture(
    params=["own rule", "rule of GPUs", "rule of GPUs, weighing costs"],
    autouse=True,
)
def rule(request, device):
    """Know values of CPU tensors by either rule."""
    gt.init()
    gt.bridge().imitate_gpu(request.param != "own rule")
    gt.bridge().weigh_costs("costs" in request.param)
    # A mode of functions, which hides methods, only where it must be.
    with torch.device(device) if device != "cpu" else nullcontext():
        yield
    gt.bridge().imitate_gpu(False)
    gt.shutdown()


def flushes():
    return gt.stats()["flushes"]


# A loop asks these of a tensor `t` and of `y`, an earlier result.
READS = {
    "bool": lambda t, _: bool(t > 0.5),
    "item": lambda t, _: (t * 2.0).item(),
    "float": lambda t, y: float(t - y),
    "int": lambda t, y: int((t > y).sum()),
    "isfinite": lambda t, _: bool(torch.isfinite(t)),
    "all": lambda t, y: bool((t[None] == y.expand(3)).all()),
    "equal": lambda t, y: (torch.equal(t, y), torch.equal(t, y - (y - t))),
    "clamp": lambda t, y: t.clamp(y, y + 1).item(),
    "where": lambda t, y: torch.where(t > y, t, y).item(),
    "nextafter": lambda t, y: torch.nextafter(t, y).item(),
    "chain": lambda t, y: ((t + y).abs().sqrt() / 3 <= y.float()).item(),
}


@pytest.mark.parametrize("name", READS)
def test_the_host_knows_what_follows_from_known_values(name):
    read = READS[name]

    def program():
        t = torch.full((), 0.25, dtype=torch.float64) * 1.0
        found = [bool(t > 0)]
        y = t + 0.5
        for _ in range(4):
            t = t + 0.125
            found.append(read(t, y))
        return found

    expected = program()
    with scheduler(auto_flush_ms=NEVER_MS):
        program()
        before, known = flushes(), gt.stats()["known_reads"]
        assert program() == expected
        # The first read is of memory that PyTorch wrote. Before PyTorch 2.13 a
        # fill of memory that is used again runs what waits.
        assert flushes() - before <= 2
        assert gt.stats()["known_reads"] - known >= 4


def test_a_value_is_fetched_once():
    x = torch.rand(64, 64, dtype=torch.float64)
    with scheduler(auto_flush_ms=NEVER_MS):
        for _ in range(2):
            step = (x @ x).mean().pow(0.3)
            before = flushes()
            found = [bool(step > limit) for limit in (0.0, 1.0, 2.0, 3.0)]
            assert flushes() - before == 1
    assert found == [bool((x @ x).mean().pow(0.3) > y) for y in (0, 1, 2, 3)]


def write_by_address(x):
    cell = {torch.float32: ctypes.c_float, torch.float64: ctypes.c_double}
    address = x.data_ptr()
    ctypes.cast(address, ctypes.POINTER(cell[x.dtype]))[0] = 2.0


# Writes to memory, some of which no request shows.
WRITES = {
    "in place": lambda x, y: x.add_(y),
    "fill": lambda x, _: x.fill_(0.5),
    "an element": lambda x, _: x.view(-1).__setitem__(0, 0.75),
    "out": lambda x, y: torch.mul(x, y, out=x),
    "cumsum": lambda x, y: torch.cumsum(y.view(-1), 0, out=x.view(-1)),
    "index_fill": lambda x, _: x.view(-1).index_fill_(
        0, torch.tensor([0]), 0.125
    ),
    "sort": lambda x, y: torch.sort(
        y.view(-1), out=(x.view(-1), torch.empty(x.numel(), dtype=torch.long))
    ),
    "foreach": lambda x, y: torch._foreach_add_([x, y], 1.0),
    "lists": lambda x, y: torch._foreach_copy_([x], [y]),
    "data": lambda x, _: x.data.mul_(2.0),
    "other memory": lambda x, y: setattr(x, "data", y.clone()),
    "set_": lambda x, y: x.set_(y.clone()),
    "another dtype": lambda x, _: x.copy_(torch.tensor(3).to(torch.uint16)),
    "a boxed operator": lambda x, y: x.lerp_(
        y, torch.tensor(3).to(torch.uint16)
    ),
    "numpy": lambda x, _: x.numpy().fill(1.5),
    "an address": lambda x, _: write_by_address(x),
    "a storage": lambda x, _: x.untyped_storage().fill_(0),
    "no gradient": lambda x, _: torch.nn.init.constant_(x, 3.0),
    "random": lambda x, _: x.uniform_(),
    "paused": lambda x, _: with_autograd(x),
}
OF_THE_HOST = ("numpy", "an address")


def with_autograd(x):
    w = torch.ones((), requires_grad=True)
    w.register_hook(lambda _: x.fill_(4.0) and None)
    with torch.enable_grad():
        (w * 2).backward()


def unknown(number):
    """Return a result that does not follow exactly."""
    return torch.full((4,), number, dtype=torch.float64).mean()


def read(x):
    return (x * 2.0).item(), bool(x > 0.6)


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("waiting", ["nothing", "its value", "another"])
def test_a_known_value_that_is_written_is_read_again(name, waiting, device):
    if device == "cuda" and name in OF_THE_HOST:
        pytest.skip("it writes memory of the host")

    def program():
        torch.manual_seed(0)
        y = unknown(0.75)
        x = y * 0.5 + 0.25
        alias = x.view(1)
        found = [read(x), read(x), read(alias)]
        later = None
        if waiting != "its value":
            torch.sort((y + 0.5).view(1))  # runs what waits
        if waiting == "another":
            later = y + 0.5
        WRITES[name](x, y)
        return [*found, read(x), read(alias), later]

    compare(program)


def compare(program):
    with torch.no_grad():
        expected = program()
        with scheduler(auto_flush_ms=NEVER_MS):
            for _ in range(2):
                assert program() == expected


def test_a_value_with_other_bits_than_its_memory():
    def program():
        z = torch.full((), 0.5 + 0.25j)
        t = (torch.full((), 0.25) * 1.0)._neg_view()
        return [z.conj().imag.item(), t.item(), read(t)]

    compare(program)


def test_requests_that_write_a_value_in_place():
    def program():
        y = unknown(0.75)
        x = y * 0.5
        twice = x * 2.0
        x.add_(1.0)
        found = [twice.item()]
        x = y * 0.25
        x.add_(1.0)
        found += [x.item(), read(x)]
        twice = x * 2.0
        x.add_(1.0)
        found += [twice.item(), read(x)]
        x.add_(1.0)
        torch.sort(x.view(1))  # runs what waits
        found.append(read(x))
        # A copy of a CPU tensor, which a GPU's host knows.
        made = torch.tensor(2.0)
        made.add_(1.0)
        made.sin()
        torch.sort(made.view(1))
        return [*found, read(made)]

    compare(program)


def draw(seed, device, count=24):
    """Return a program of reads and writes, as steps of names and places."""
    chosen = random.Random(seed)
    steps = []
    writes = [x for x in WRITES if device == "cpu" or x not in OF_THE_HOST]
    for _ in range(count):
        kind = chosen.choice(["read", "read", "write", "make", "keep"])
        name = chosen.choice(list(READS) if kind == "read" else writes)
        steps.append((kind, name, chosen.randrange(3), chosen.randrange(3)))
    return steps, chosen.choice([torch.float32, torch.float64])


def run(steps, dtype):
    torch.manual_seed(0)
    kept = [torch.full((), 0.25 + i, dtype=dtype) for i in range(3)]
    kept[1] = kept[1] + kept[0]
    found = []
    for kind, name, i, j in steps:
        x, y = kept[i], kept[j]
        if kind == "read":
            found.append(READS[name](x, y))
        elif kind == "write" and i != j:
            WRITES[name](x, y)
        elif kind == "make":
            kept[i] = y * 0.5 + 0.25
        elif kind == "keep":
            kept[i] = x.exp().log1p() if len(found) % 2 else y[None][0]
    return found, [x.item() for x in kept]


@pytest.mark.parametrize("begin", range(0, 400, 100))
def test_reads_see_each_write(begin, device):
    for seed in range(begin, begin + 100):
        steps, dtype = draw(seed, device)
        with torch.no_grad():
            expected = run(steps, dtype)
            # Some operations run while others wait.
            capacity = 3 if seed % 2 else 4096
            with scheduler(auto_flush_ms=NEVER_MS, capacity=capacity):
                found = run(steps, dtype)
        for a, b in zip(
            expected[0] + expected[1], found[0] + found[1], strict=True
        ):
            assert a == pytest.approx(b, rel=1e-4, nan_ok=True), (seed, steps)


def test_a_write_that_nothing_shows_is_seen_soon(device):
    """Find a flag that another library sets through a pointer it kept."""
    if device == "cuda":
        pytest.skip("ctypes writes memory of the host")
    with scheduler(auto_flush_ms=NEVER_MS):
        flag = torch.ones((), dtype=torch.float64) - 1
        gt.flush()
        address = torch._C.TensorBase.data_ptr(flag)  # without notice
        assert not bool(flag > 1)
        ctypes.cast(address, ctypes.POINTER(ctypes.c_double))[0] = 2.0
        assert any(bool(flag + 0 > 1) for _ in range(300))
