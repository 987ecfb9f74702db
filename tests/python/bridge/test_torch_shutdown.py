"""init() and shutdown() start and end the workers of PyTorch's operators."""

import functools
import gc
import threading

import pytest
from deadlines import WAIT_S
from torch_support import assert_same, gt, in_threads, scheduler, torch

import gpuos
from gpuos import defaults

pytestmark = pytest.mark.torch


# The runtimes that a graph of an earlier test captured; they are never released.
_captured: list[gpuos.Runtime] = []


@pytest.fixture(autouse=True)
def anew():
    gt.shutdown()
    _captured.extend(defaults._of_devices.values())
    defaults._of_devices.clear()
    yield
    gt.shutdown()


def add(device):
    a = torch.arange(8.0, device=device)
    out = torch.empty_like(a)
    gt.submit_add(a, a, out)
    gt.flush(sync=True)
    return out


def test_init_has_the_workers():
    assert defaults._of_devices == {}
    gt.init(threads_per_block=64)
    [found] = defaults._of_devices.values()
    if found.backend == "cuda":
        assert found.options["threads_per_worker"] == 64
    assert found.stats()["tasks_submitted"] == 0


def test_the_next_use_after_shutdown_makes_new_runtimes(device):
    made = []
    for _ in range(3):
        out = add(device)
        [found] = defaults._of_devices.values()
        made.append(id(found))
        assert_same(out, torch.arange(8.0, device=device) * 2)
        del found
        gt.shutdown()
        gc.collect()
        assert defaults._of_devices == {}
        # The results that it has written stay.
        assert_same(out, torch.arange(8.0, device=device) * 2)


def test_results_outlive_shutdown(device):
    with gt.scheduler():
        a = torch.arange(100.0, device=device)
        results = [a + k for k in range(50)]
    gt.shutdown()
    with gt.scheduler():
        others = [a - k for k in range(50)]
    for k, (more, less) in enumerate(zip(results, others, strict=True)):
        assert_same(more, torch.arange(100.0, device=device) + k)
        assert_same(less, torch.arange(100.0, device=device) - k)


def test_pending_requests_are_run(device):
    a = torch.ones(8, device=device)
    out = torch.zeros(8, device=device)
    gt.submit_add(a, a, out)
    gt.shutdown()
    assert gt.pending() == 0
    assert_same(out, a * 2)


def test_arrays_keep_their_runtime_after_shutdown(device):
    kept = gt.runtime(device)
    x = kept.array([1.0, 2.0], dtype="float32")
    op = kept.define("more", "o = x + 1")
    add(device)
    gt.shutdown()
    name = "host" if kept.backend == "host" else "cuda:0"
    assert gpuos.default_runtime(name) is not kept
    out = kept.empty(2)
    kept.submit(op, x, out=out)
    assert out.numpy().tolist() == [2.0, 3.0]
    assert (x * 2).numpy().tolist() == [2.0, 4.0]
    kept.close()  # it has no other user
    with pytest.raises(gpuos.QueueClosed):
        kept.submit(op, x, out=out)
    assert_same(add(device), torch.arange(8.0, device=device) * 2)


def test_shutdown_in_a_scheduler_is_refused(device):
    with (
        gt.scheduler(),
        pytest.raises(gpuos.Error, match="no scheduler in use"),
    ):
        gt.shutdown()
    is_in, may_leave = threading.Event(), threading.Event()

    def stay():
        with gt.scheduler():
            is_in.set()
            may_leave.wait(WAIT_S)

    other = threading.Thread(target=stay)
    other.start()
    assert is_in.wait(WAIT_S)
    try:
        with pytest.raises(gpuos.Error, match="no scheduler in use"):
            gt.shutdown()
        add(device)
    finally:
        may_leave.set()
        other.join()
    gt.shutdown()


def test_shutdown_while_other_threads_request(device):
    is_done = threading.Event()
    wrong = []

    def work(k):
        a = torch.full((32,), float(k), device=device)
        out = torch.empty_like(a)
        while not is_done.is_set():
            gt.submit_mul(a, a, out)
            gt.flush(sync=True)
            if out[0].item() != k * k:
                wrong.append(k)

    def shut_down():
        for _ in range(20):
            gt.shutdown()
        is_done.set()

    in_threads(shut_down, *(functools.partial(work, k) for k in range(3)))
    assert wrong == []


def test_no_thread_and_no_memory_stays(printed_by):
    text = """
import gc, os, time
from collections import Counter
from pathlib import Path
import torch
import gpuos.torch as gt

COMPILER = "gpuos-compile"

def names():
    return [(t / "comm").read_text().strip() for t in Path("/proc/self/task").iterdir()]

def threads():
    # A compiler ends by itself, a second after the last program. The threads of
    # CUDA's driver stay. Asking PyTorch for a GPU starts them.
    return sorted(n for n in names() if n != COMPILER and not n.startswith("cuda"))

def use():
    a = torch.ones(64)
    with gt.scheduler(auto_flush_ms=1.0):
        for _ in range(100):
            a = a * 0.5 + 1.0
    assert float(a[0]) == 2.0, a
    gt.shutdown()
    gc.collect()

def resident():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024

torch.ones(1) + 1
before = Counter(threads())
sizes, more = [], Counter()
for count in range(120):
    use()
    more |= Counter(threads()) - before
    end = time.monotonic() + float(os.environ["WAIT_S"])
    while count < 60 and COMPILER in names() and time.monotonic() < end:
        time.sleep(0.02)  # its result needs memory, too
    sizes.append(resident())
print(*more, sizes[-1] - sizes[60] < 4)
"""
    assert printed_by(text, WAIT_S=str(WAIT_S), OMP_NUM_THREADS="1") == "True\n"


@pytest.mark.never(
    lambda device: device == "cpu", reason="graphs are those of a GPU"
)
def test_a_captured_graph_keeps_its_runtime(device):
    a = torch.ones(64, device=device)
    side = torch.cuda.Stream()
    with scheduler(takes=0):
        with torch.cuda.stream(side):
            out = ((a + 1) * 2).relu()  # before the capture, as PyTorch asks
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = ((a + 1) * 2).relu()
    gt.shutdown()
    assert len(defaults._of_devices) == 1
    for k in range(5):
        a.fill_(k)
        graph.replay()
        assert_same(out, torch.full_like(a, 2.0 * (k + 1)))
