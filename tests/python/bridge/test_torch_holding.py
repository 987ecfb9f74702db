"""Objects that requests by name hold, and changes to them meanwhile."""

import functools
import gc
import threading
import time
import weakref

import pytest
from deadlines import until
from torch_support import (
    ELEMS,
    NEVER_MS,
    gt,
    in_thread,
    pair,
    scheduler,
    torch,
)

pytestmark = pytest.mark.torch

STRESS_S = 1.0
FLUSHES = 10_000

# Ways to give `x` other memory, without an operator that schedulers would see.
WAYS = {
    "set_": lambda x: x.set_(torch.zeros_like(x)),
    "set_ of nothing": lambda x: x.set_(),
    "set_ of a storage": lambda x: x.set_(
        torch.zeros_like(x).untyped_storage(), 0, x.shape, x.stride()
    ),
    "data": lambda x: setattr(x, "data", torch.zeros_like(x)),
    "resize_": lambda x: x.resize_(64 * ELEMS).zero_(),
    "resize_as_": lambda x: x.resize_as_(x.new_empty(64 * ELEMS)).zero_(),
    "resize_ of the storage": lambda x: x.untyped_storage().resize_(0),
    "swap_tensors": lambda x: torch.utils.swap_tensors(x, torch.zeros_like(x)),
    "cpu share_memory_": lambda x: x.share_memory_(),
}


@pytest.fixture(autouse=True)
def requests():
    gt.init()
    yield
    gt.shutdown()


def use_memory(device):
    """Overwrite freed memory, as far as the allocator returns it again."""
    return [torch.full((ELEMS,), 7.0, device=device) for _ in range(64)]


def alias_of(tensor):
    """Return an independent tensor of the same memory."""
    storage = tensor.untyped_storage()
    return tensor.new_empty(0).set_(storage, 0, tensor.shape, tensor.stride())


@pytest.mark.never(
    lambda device, way: device != "cpu" and way.startswith("cpu"),
    reason="of the processor",
)
@pytest.mark.never(
    lambda way, role: (way, role) == ("resize_ of the storage", "out"),
    reason="nothing is left to look at",
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ["input", "out"])
def test_a_tensor_may_be_given_other_memory(device, way, role):
    x, y = pair(device)
    expected = x + y
    out = torch.empty_like(x)
    view = alias_of(out)
    gt.submit_add(x, y, out)
    WAYS[way](x if role == "input" else out)
    kept = use_memory(device)
    gt.flush(sync=True)
    if role == "out" and way.startswith("resize_"):  # which the view has too
        assert out.numel() == 64 * ELEMS
    else:
        assert torch.equal(expected, view)
    assert len(kept) == 64


FLUSHED_BY = {
    "flush": lambda _: gt.flush(sync=True),
    # An operator, for which PyTorch lets the GIL go.
    "operator": lambda view: torch.cumsum(view, 0),
    "timer": lambda _: until(lambda: gt.pending() == 0),
}


@pytest.mark.parametrize("way", FLUSHED_BY)
@pytest.mark.parametrize("submit", [lambda f: f(), in_thread])
def test_tensors_are_held_without_their_names(device, way, submit):
    x, y = pair(device)
    expected = x + y
    out = torch.empty_like(x)
    view = alias_of(out)
    refs = [weakref.ref(x), weakref.ref(y), weakref.ref(out)]
    with gt.scheduler(auto_flush_ms=1.0 if way == "timer" else NEVER_MS):
        submit(functools.partial(gt.submit_add, x, y, out))
        del x, y, out
        kept = use_memory(device)
        FLUSHED_BY[way](view)
        until(lambda: not any(ref() for ref in refs))
    gt.flush(sync=True)
    assert torch.equal(expected, view)
    assert len(kept) == 64


def test_reader_of_requests_that_another_thread_flushes(device):
    x, out = torch.ones(2, 8, device=device)
    x, out = x.clone(), out.clone()
    ends = threading.Event()

    def flush_often():
        while not ends.is_set():
            gt.flush()

    threads = [threading.Thread(target=flush_often) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        expected = 1.0
        end = time.monotonic() + STRESS_S
        while time.monotonic() < end:
            for _ in range(8):
                gt.submit_add(out, x, out)
            expected += 8
            assert out[0].item() == expected
    finally:
        ends.set()
        for thread in threads:
            thread.join()


LOADED_BY_THREADS = """
import threading
import torch, gpuos.torch as gt
from gpuos import defaults
made, options = [], defaults._options
defaults._options = lambda device: made.append(device) or options(device)
together = threading.Barrier(8)
results = []
def work():
    together.wait()
    x = torch.ones(8)
    out = torch.empty(8)
    gt.submit_add(x, x, out)
    x.set_(torch.zeros(8))
    x.data = torch.zeros(8)
    gt.flush()
    results.append(out.sum().item())
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results == 8 * [16.0], len(made))
"""


def test_threads_load_the_bridge_together_and_share_one_runtime(printed_by):
    assert printed_by(LOADED_BY_THREADS) == "True 1\n"


def test_finalizers_may_submit(device):
    x, y = pair(device)
    expected = x + y + y
    out = torch.empty_like(x)
    weakref.finalize(x, gt.submit_add, out, y, out)
    gt.submit_add(x, y, out)
    del x
    gt.flush(sync=True)  # the tensor ends after its request
    gt.flush(sync=True)
    assert torch.equal(expected, out)


def test_refused_requests_hold_no_tensor(device):
    x, y = pair(device)
    out = torch.empty(ELEMS + 1, device=device)
    ref = weakref.ref(x)
    with pytest.raises(ValueError, match="add"):
        gt.submit_add(x, y, out)
    del x
    gc.collect()
    assert ref() is None


def test_scheduler_results_and_requests_mix(device):
    # Requests by name are not counted as users of a result.
    x, y = pair(device)
    out = torch.empty_like(x)
    expected = (x + y) * 2.0
    with torch.no_grad(), scheduler(takes=3):
        a = x + y
        b = a * 2.0
        gt.submit_add(a, b, out)
        gt.submit_add(out, x, b)
        c = b - x
    assert torch.equal(x + y, a)
    assert torch.equal(a + expected, out)
    torch.testing.assert_close(c, out)


def test_references_of_objects_are_as_many_as_before(device):
    tensors = [torch.rand(ELEMS, device=device) for _ in range(3)]
    refs = [weakref.ref(one) for one in tensors]
    for _ in range(FLUSHES):
        gt.submit_add(*tensors)
        gt.flush()
    gt.flush(sync=True)
    del tensors
    gc.collect()
    assert [ref() for ref in refs] == [None, None, None]


AT_EXIT = """
import torch, gpuos.torch as gt
x, y, out = torch.ones(3, 8)
x, y, out = x.clone(), y.clone(), out.clone()
gt.submit_add(x, y, out)
print("pending", gt.pending())
"""


def test_process_ends_with_requests_pending(printed_by):
    assert printed_by(AT_EXIT) == "pending 1\n"
