"""Threads, processes, exceptions and the timer of gpuos.torch."""

import contextlib
import dis
import functools
import gc
import itertools
import os
import queue
import sys

import pytest
from deadlines import WAIT_S, until
from torch_support import (
    ELEMS,
    NEVER_MS,
    PATIENCE,
    gt,
    hasty_overrides,
    in_thread,
    in_threads,
    pair,
    scheduler,
    taken,
    torch,
)

from gpuos.torch import scheduling

pytestmark = pytest.mark.torch

ITEMS = 3000


def test_a_block_leaves_the_thread_as_it_was(device):
    a = torch.ones(ELEMS, device=device)
    before = str(torch._C._dispatch_tls_local_include_set())
    with scheduler():
        a = a + a
    assert str(torch._C._dispatch_tls_local_include_set()) == before
    count = taken()
    assert (a * 2).tolist() == [4.0] * ELEMS
    assert taken() == count


def test_threads_with_a_scheduler_each(device):
    a, b = pair(device)

    def halve():
        x = a
        for _ in range(ITEMS):
            x = (x + b) * 0.5
        return x

    def work():
        with gt.scheduler():
            return halve()

    expected, before = halve(), taken()
    for result in in_threads(*(work for _ in range(4))):
        torch.testing.assert_close(result, expected)
    assert taken() - before >= 4 * 2 * ITEMS
    assert gt.pending() == 0


def test_thread_that_entered_no_scheduler_is_not_intercepted(device):
    a = torch.ones(ELEMS, device=device)
    with scheduler(takes=0):
        before = gt.stats()["intercepted"]
        b = in_thread(lambda: a + a)
        assert gt.stats()["intercepted"] == before
    assert b.tolist() == [2.0] * ELEMS


@pytest.mark.parametrize("reads_in", [contextlib.nullcontext, gt.scheduler])
@pytest.mark.parametrize("auto_flush_ms", [0.2, NEVER_MS])
def test_readers_see_pending_values_of_other_threads(
    device, auto_flush_ms, reads_in
):
    items = queue.Queue(8)
    wrong = []
    total = torch.zeros(64, device=device)

    def produce():
        with gt.scheduler(auto_flush_ms=auto_flush_ms):
            for k in range(ITEMS):
                total.add_(1)
                x = torch.full((64,), float(k), device=device)
                items.put((k, x + x))
            items.put(None)

    def consume():
        with reads_in():
            while (item := items.get(timeout=WAIT_S)) is not None:
                k, y = item
                is_counted = k < total[0].item() <= ITEMS
                if not is_counted or not bool((y.abs() == 2 * k).all()):
                    wrong.append(k)

    in_threads(produce, consume)
    assert not wrong
    assert total.tolist() == [ITEMS] * 64


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_exception_leaves_nothing_pending(device, error):
    a = torch.ones(ELEMS, device=device)
    made = []

    def add_and_fail():
        with scheduler():
            made.append(a + a)
            raise error

    with pytest.raises(error):
        add_and_fail()
    assert gt.pending() == 0
    assert made[0].tolist() == [2.0] * ELEMS
    before = gt.stats()["intercepted"]
    assert (a + a).sum() == 2 * ELEMS
    assert gt.stats()["intercepted"] == before


def test_exception_in_a_generator_that_is_dropped(device):
    def generate():
        with gt.scheduler(auto_flush_ms=NEVER_MS):
            x = torch.ones(ELEMS, device=device)
            while True:
                x = x + 1
                yield x

    numbers = generate()
    next(numbers)
    x = next(numbers)
    numbers.close()
    gc.collect()
    assert gt.pending() == 0
    assert x.tolist() == [3.0] * ELEMS


def test_thread_that_ends_inside_of_its_block(device):
    results = []

    def work():
        gt.scheduler(auto_flush_ms=NEVER_MS).__enter__()
        results.append(torch.ones(ELEMS, device=device) + 1)

    in_thread(work)
    assert results[0].tolist() == [2.0] * ELEMS
    gc.collect()
    assert gt.pending() == 0
    # The overrides also detect that they are not used.
    with hasty_overrides():
        for _ in range(PATIENCE + 1):
            torch.relu(results[0])
    assert scheduling._guards is None


def child_of_fork(function):
    """Return the exit code of a child in which `function` must be true."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if function() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_with_pending_work():
    a, b = pair("cpu")
    expected = a + b
    with scheduler():
        c = a + b
        assert gt.pending() > 0
        assert child_of_fork(lambda: torch.equal(c, expected)) == 0
        d = c * 2
    assert torch.equal(c, expected)
    assert torch.equal(d, expected * 2)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_of_fork_has_a_timer_of_its_own():
    a, b = pair("cpu")

    def child():
        with gt.scheduler(auto_flush_ms=1.0):
            c = a + b
            has_run = until(lambda: gt.pending() == 0)
        return has_run and torch.equal(c, a + b)

    with gt.scheduler(auto_flush_ms=1.0):
        assert child_of_fork(child) == 0


@functools.cache
def moments(code):
    """Return the offsets ahead of which a signal's handler may run."""
    found = list(dis.get_instructions(code))
    ops = ("CALL", "RESUME", "JUMP_BACKWARD")
    return {
        after.offset
        for one, after in itertools.pairwise(found)
        if one.opname.startswith(ops)
    }


class Interrupt:
    """Raises at one of the moments of Python's code of gpuos."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        if "gpuos" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti in moments(frame.f_code):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def eager(patch):
    for name in ("bridge_of_scheduler", "bridge_if_loaded"):
        patch.setattr(scheduling, name, lambda **_: None)


def is_lock_free():
    is_free = scheduling._lock.acquire(timeout=WAIT_S)
    if is_free:
        scheduling._lock.release()
    return is_free


@pytest.mark.parametrize(
    "prepare",
    [lambda _: None, lambda _: scheduling.retire(), eager],
    ids=["again", "first", "eager"],
)
def test_an_interrupt_at_any_moment_leaves_a_block_or_none(prepare):
    made = []

    def work():
        with gt.scheduler(auto_flush_ms=NEVER_MS):
            made.append(torch.ones(4) + 1)

    gt.flush()
    for number in itertools.count(1):
        interrupt = Interrupt(number)
        with pytest.MonkeyPatch.context() as patch:
            prepare(patch)
            sys.settrace(interrupt)
            with contextlib.suppress(KeyboardInterrupt):
                work()
            sys.settrace(None)
            assert gt.pending() == 0
            assert not scheduling._thread.blocks + scheduling._thread.eager
            assert not (torch.ones(4) + 1).requires_grad
            assert gt.pending() == 0
        assert in_thread(is_lock_free)
        if interrupt.left > 0:
            break
    assert {*map(str, made)} == {str(torch.full((4,), 2.0))}
    with scheduler():
        x = torch.ones(4) + 1
    assert x.tolist() == [2.0] * 4
    assert not scheduling._blocks
    assert not scheduling._waiting


def test_an_interrupt_of_a_backward_pass_goes_on_deferring():
    w = torch.ones(4, requires_grad=True)
    with gt.scheduler(auto_flush_ms=NEVER_MS):
        for number in itertools.count(1):
            interrupt = Interrupt(number)
            sys.settrace(interrupt)
            with contextlib.suppress(KeyboardInterrupt):
                w.sum().backward()
            sys.settrace(None)
            with torch.no_grad():
                before = gt.stats()["intercepted"]
                assert (torch.ones(4) + 1).tolist() == [2.0] * 4
                assert gt.stats()["intercepted"] > before
            if interrupt.left > 0:
                break
