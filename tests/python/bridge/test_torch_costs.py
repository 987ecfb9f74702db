"""Operations that are dearer here than in PyTorch are left to it."""

import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

import pytest
from deadlines import WAIT_S, until
from torch_support import (
    ELEMS,
    NEVER_MS,
    WINDOW,
    gt,
    is_taken,
    leave_alone,
    scheduler,
    taken,
    torch,
    watch_anew,
)

pytestmark = pytest.mark.torch

F = torch.nn.functional
OVER = (1 << 15) + 1


@pytest.fixture(autouse=True)
def weighs():
    """Have costs count, as they do by default."""
    gt.bridge().weigh_costs(True)
    watch_anew()
    yield
    gt.bridge().weigh_costs(False)


def counts(function):
    """Return how many operations of a scheduled call were deferred and left."""
    before = gt.stats()
    with gt.scheduler(auto_flush_ms=NEVER_MS):
        function()
    after = gt.stats()
    return tuple(after[k] - before[k] for k in ("intercepted", "left"))


# Operations that are slower here by some nanoseconds an element, and others.
DEAR = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: torch.mean(x, 1),
    "amax": lambda x: x.amax(1),
    "argmax": lambda x: x.argmax(1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "sin": torch.sin,
    "gelu": F.gelu,
    "pow": lambda x: x.abs() ** 1.3,
}
CHEAP = {
    "add": lambda x: x + x,
    "mul": lambda x: x * 2.0,
    "exp": torch.exp,
    "var": lambda x: x.var(1),
    "relu": torch.relu,
}


@pytest.mark.host
@pytest.mark.parametrize("name", DEAR)
def test_dear_operations_are_left_if_they_are_large(name):
    large, small = torch.randn(64, 256), torch.randn(2, 8)
    with torch.no_grad():
        assert counts(lambda: DEAR[name](large))[1] == 1
        assert counts(lambda: DEAR[name](small))[1] == 0
        assert counts(lambda: DEAR[name](small))[0] > 0
        with gt.scheduler():
            came = DEAR[name](large)
        torch.testing.assert_close(came, DEAR[name](large))


@pytest.mark.parametrize("name", CHEAP)
def test_cheap_operations_are_deferred(device, name):
    x = torch.randn(64, 256, device=device)
    with torch.no_grad():
        assert counts(lambda: CHEAP[name](x)) == (1, 0)


# Functions of doubles cost more, so does each row. A flush is part of the cost.
DOUBLES = torch.randn(64, 256).double()
PRICED = [
    ((64, 256), torch.tanh, (1, 0)),
    ((64, 256), lambda _: torch.tanh(DOUBLES), (0, 1)),
    ((2, 512), lambda x: x.softmax(1), (0, 1)),
    ((2, 512), lambda x: (x + 1).softmax(1), (2, 0)),
    ((2, 16), lambda x: x.softmax(1), (1, 0)),
    ((4, 16), lambda x: x.softmax(1), (0, 1)),
    ((4, 16), lambda x: (x + 1).softmax(1), (2, 0)),
]


@pytest.mark.host
@pytest.mark.parametrize("case", range(len(PRICED)))
def test_deferral_depends_on_the_cost(case):
    shape, function, wanted = PRICED[case]
    x = torch.randn(shape)
    with torch.no_grad():
        assert counts(lambda: function(x)) == wanted


SHORT_ROWS = ["sum", "mean", "prod", "amax", "amin", "any", "all", "logsumexp"]


@pytest.mark.host
@pytest.mark.parametrize("name", SHORT_ROWS)
@pytest.mark.parametrize("length", [1, 2, 8, 16])
def test_short_rows_are_left_but_not_the_shortest(name, length):
    """Take rows that the library runs side by side."""
    x = torch.randn(1000, length)
    with torch.no_grad():
        assert counts(lambda: getattr(x, name)(-1))[1] == int(length == 16)
        assert counts(lambda: getattr(x[:4], name)(-1))[1] == 0


@pytest.mark.host
@pytest.mark.parametrize("length", [1, 2, 3, 8, 16])
def test_short_runs_are_left_but_not_the_shortest(length):
    x, column = torch.randn(32, length), torch.randn(1000, 1)
    y = torch.randn(1000, 2 * length)[:, :length]
    runs = (0, 1) if length > 4 else (1, 0)
    with torch.no_grad():
        assert counts(lambda: x[:, None] - x) == runs
        assert counts(lambda: column * y) == runs
        assert counts(lambda: y + 1.0) == runs
        assert counts(lambda: x[:4, None] - x[:4]) == (1, 0)
        assert counts(lambda: y[:32] + 1.0) == (1, 0)
        # One order is as good as another.
        assert counts(lambda: x.t() + x.t() * 2) == (2, 0)


@pytest.mark.host
def test_results_with_out_save_less():
    """So PyTorch takes less, and less is saved."""

    def saved(function):
        before = gt.stats()["saved_ns"]
        with gt.scheduler(auto_flush_ms=NEVER_MS):
            function()
            came = gt.stats()["saved_ns"]
        return came - before

    x = torch.randn(ELEMS)
    with torch.no_grad():
        assert 0 < saved(lambda: x.add_(1)) < saved(lambda: x + 1)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.copy_(y),
        lambda x, y: x.add_(y),
        lambda x, y: torch.add(y, y, out=x),
        lambda x, y: torch._foreach_add_([x], [y]),
        lambda x, y: x.gelu_() if hasattr(x, "gelu_") else x.mul_(y),
    ],
)
def test_undeferred_writes_run_after_pending_reads(device, write):
    """A write that PyTorch does is not ahead of reads that are pending."""
    old, y = torch.randn(OVER, device=device), torch.randn(OVER, device=device)
    expected, x = old[:ELEMS] * 2.0, old.clone()
    wanted = write(old.clone(), y)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        read = x[:ELEMS] * 2.0
        view = x.view(-1)
        write(x, y)
        assert torch.equal(read, expected)
        if isinstance(wanted, torch.Tensor):
            assert torch.equal(view, wanted)


def test_undeferred_reads_run_after_pending_writes(device):
    x = torch.zeros(4, 4 * ELEMS, device=device)
    rows = x.view(4, 4 * ELEMS)  # is not marked when x is
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        x.add_(1.0)
        assert rows.softmax(1).sum().item() == pytest.approx(4.0)
        x.add_(1.0)
        assert rows.sum(1).tolist() == [8.0 * ELEMS] * 4


def test_a_thread_of_adds_that_are_too_large_is_left_alone(device):
    big, x = torch.ones(OVER, device=device), torch.ones(ELEMS, device=device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        for _ in range(WINDOW + 1):
            big + big
        assert not is_taken(x)


def test_the_backward_pass_is_pytorchs(device):
    x = torch.randn(ELEMS, device=device, requires_grad=True)
    with gt.scheduler(auto_flush_ms=NEVER_MS):
        loss = (x * 2.0).tanh().sum()
        first = torch.ones((), device=device)
        before = taken()
        loss.backward(first)
        assert taken() == before
    torch.testing.assert_close(x.grad, 2 / torch.cosh(2 * x.detach()) ** 2)


@pytest.mark.host
def test_recorded_cpu_operations_stay_eager():
    x = torch.randn(ELEMS, requires_grad=True)
    assert counts(lambda: torch.tanh(x * 2.0) + x)[0] == 0


def switches():
    """Return how often threads of this process have gone to sleep."""
    return sum(
        int(line.split()[1])
        for status in Path("/proc/self/task").glob("*/status")
        for line in status.read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )


def test_no_thread_wakes_while_nothing_is_pending(device):
    x = torch.ones(ELEMS, device=device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=0.3):
        (x + 1).sum().item()
        time.sleep(0.2)
        before = switches()
        time.sleep(0.5)
        asleep = switches() - before
        y = x + 1
        until(lambda: not gt.pending())
        assert y[0] == 2
    # A timer would have looked 5,000 times.
    assert asleep < 500


CALLS = 1024


def test_a_thread_that_gains_nothing_is_left_alone_for_a_while(device):
    x = torch.ones(ELEMS, device=device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        assert is_taken(x)
        leave_alone(x)
        assert not is_taken(x)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        assert not is_taken(x)
        # It is tried again, less and less often.
        until(lambda: is_taken(x))


@pytest.mark.alone  # launches that wait for another process are not dense
def test_operators_of_python_begin_again(device):
    x = torch.ones(ELEMS, device=device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        leave_alone(x)
        results = [x + k for k in range(2 * CALLS)]
        assert is_taken(x)
    assert [int(y[0]) for y in results[::100]] == list(
        range(1, 2 * CALLS + 1, 100)
    )


def test_a_program_with_small_operations_in_between_is_not(device):
    x = torch.ones(ELEMS, device=device)
    with torch.no_grad(), scheduler(takes=16 * 2 * WINDOW):
        for _ in range(2 * WINDOW):
            y = torch.cumsum(x, 0)
            for _ in range(16):
                y = y + 1


@pytest.mark.host
def test_a_branch_on_each_value_is_deferred():
    x, count = torch.ones(16), 4 * WINDOW
    with torch.no_grad(), scheduler(takes=2 * count):
        assert all(x.sum() > 0 for _ in range(count))


@pytest.mark.host
def test_writes_before_an_eager_operation_gain_nothing():
    x, y = torch.ones(ELEMS), torch.ones(ELEMS)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        for _ in range(WINDOW + 1):
            for _ in range(12):
                x.lerp_(y, 0.5)
            torch.cumsum(x, 0)
        assert not is_taken(x)


LATE = """
import torch
import gpuos.torch as gt

runtime = gt.runtime("cpu")
runtime.define(
    "nap", source={source!r}, params={{"ns": "int64"}}, inputs=0,
    elementwise=False,
)
x, slept = torch.ones(1 << 14), torch.empty(1)


def is_taken():
    before = gt.stats()["intercepted"]
    torch.exp(x)
    return gt.stats()["intercepted"] > before


with torch.no_grad(), gt.scheduler(auto_flush_ms=60_000.0):
    assert is_taken()
    for _ in range(8):  # the first flushes of a thread do not count
        runtime.submit("nap", ns=40_000_000, out=slept)
        y = x + x
        gt.flush()
    assert not is_taken()
    assert y.sum().item() == 2 * (1 << 14)
print("done")
"""


def test_late_flushes_leave_a_thread_alone(printed_by, nap_source):
    # In a process of its own, for it hung: the watch of a flush that was late
    # asked for what the flush still held.
    text = LATE.format(source=nap_source)
    assert printed_by(text, timeout=WAIT_S) == "done\n"
