"""Threads that gain nothing by a scheduler are left alone for a while."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from deadlines import WAIT_S
from torch_support import (
    ELEMS,
    NEVER_MS,
    WINDOW,
    gt,
    has_come_true,
    is_taken,
    leave_alone,
    scheduler,
    torch,
)

pytestmark = pytest.mark.torch

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
        assert has_come_true(lambda: is_taken(x))


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
def test_a_branch_on_each_value_is_put_off():
    x, count = torch.ones(16), 4 * WINDOW
    with torch.no_grad(), scheduler(takes=2 * count):
        assert all(x.sum() > 0 for _ in range(count))


@pytest.mark.host
def test_what_comes_on_a_stack_is_no_gain():
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
