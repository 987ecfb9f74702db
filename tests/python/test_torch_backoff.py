"""Threads that gain nothing by a scheduler are left alone for a while."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from deadlines import WAIT_S
from torch_support import ELEMS, NEVER_MS, gt, scheduler, taken, torch

pytestmark = pytest.mark.torch

WINDOW = 256  # operators left to PyTorch, see rest.cpp
CALLS = 1024


def leave_alone(x):
    """Run a window of operators that PyTorch does itself."""
    for _ in range(WINDOW + 1):
        torch.cumsum(x, 0)


def is_taken(x):
    before = taken()
    torch.exp(x)
    return taken() > before


def test_nothing_is_taken_of_a_thread_that_gains_nothing(device):
    x = torch.ones(ELEMS, device=device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        assert is_taken(x)
        leave_alone(x)
        assert not is_taken(x)


def test_the_next_scheduler_leaves_it_alone_too(device):
    x = torch.ones(ELEMS, device=device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        leave_alone(x)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        assert not is_taken(x)


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


@pytest.mark.never(
    lambda device: device != "cpu", reason="on a GPU a flush is a launch"
)
def test_a_branch_on_each_value_is_put_off(device):  # noqa: ARG001
    x, count = torch.ones(16), 4 * WINDOW
    with torch.no_grad(), scheduler(takes=2 * count):
        assert all(x.sum() > 0 for _ in range(count))


@pytest.mark.never(
    lambda device: device != "cpu", reason="on a GPU it saves launches"
)
def test_what_comes_on_a_stack_is_no_gain(device):  # noqa: ARG001
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


def test_late_flushes_leave_a_thread_alone(run_python, nap_source):
    # In a process of its own, for it hung: the watch of a flush that was late
    # asked for what the flush still held.
    done = run_python(LATE.format(source=nap_source), timeout=WAIT_S)
    assert done.stdout == "done\n", done.stderr
