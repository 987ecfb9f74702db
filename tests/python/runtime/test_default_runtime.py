"""The runtimes that a process shares."""

import os
from functools import partial

import numpy as np
import pytest
from threads_support import in_threads

import gpuos
from gpuos import _core


def test_each_device_has_one_default_runtime(rt):
    own = gpuos.default_runtime(rt.backend)
    assert own is gpuos.default_runtime(rt.backend)
    assert own is not rt
    assert own.backend == rt.backend
    x = own.array([1.0, 2.0])
    assert (x + 1).tolist() == [2, 3]
    if rt.backend == "cuda":
        assert own is gpuos.default_runtime("cuda:0")
        assert own is gpuos.default_runtime(0)
        assert own is gpuos.default_runtime()


def test_without_a_gpu_it_is_the_hosts():
    try:
        gpuos.Runtime("cuda").close()
    except gpuos.BackendUnavailable:
        assert gpuos.default_runtime() is gpuos.default_runtime("host")
    else:
        assert gpuos.default_runtime().backend == "cuda"


def test_concurrent_first_calls_share_one_runtime(printed_by):
    printed_by("""
import threading, gpuos
start, found = threading.Barrier(8), []
def come():
    start.wait()
    found.append(gpuos.default_runtime("host"))
threads = [threading.Thread(target=come) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(map(id, found))) == 1
""")


def test_the_default_runtime_cannot_be_closed():
    with gpuos.default_runtime("host") as rt:
        pass
    with pytest.raises(gpuos.InvalidArgument, match="this process shares"):
        rt.close()
    assert not rt.is_closed
    assert (rt.ones(2) + 1).tolist() == [2, 2]


@pytest.mark.parametrize(
    "device",
    ["", "cpu", "cuda:", "cuda:x", "host:0", "cuda:99999", "CUDA", " host"],
)
def test_other_texts_are_refused(device):
    with pytest.raises(gpuos.InvalidArgument, match="default_runtime: device"):
        gpuos.default_runtime(device)


@pytest.mark.parametrize("device", [1.0, True, b"host", ["host"]])
def test_other_types_are_refused(device):
    with pytest.raises(TypeError, match="default_runtime: device"):
        gpuos.default_runtime(device)


def test_a_gpu_that_is_not_there_is_unavailable():
    with pytest.raises(gpuos.BackendUnavailable):
        gpuos.default_runtime("cuda:9999")


def test_a_missing_gpu_is_named(monkeypatch):
    def refuse(_, **options):
        raise gpuos.InvalidArgument(
            f"Runtime: device: expected 0 to 1, got {options['device']}"
        )

    monkeypatch.setattr(_core, "Runtime", refuse)
    with pytest.raises(
        gpuos.BackendUnavailable, match=r"cuda:977: .* expected 0 to 1, got 977"
    ):
        gpuos.default_runtime("cuda:977")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_makes_its_own_runtime(printed_by):
    printed_by("""
import os, warnings
warnings.simplefilter("ignore")
import gpuos
parents = gpuos.default_runtime("host")
(parents.ones(2) + 1).tolist()
child = os.fork()
if child == 0:
    result = 1
    try:
        own = gpuos.default_runtime("host")
        result = int(own is parents or (own.ones(2) + 1).tolist() != [2, 2])
    finally:
        os._exit(result)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert gpuos.default_runtime("host") is parents
""")


@pytest.mark.torch
def test_pytorch_uses_the_default_runtime(rt):
    torch = pytest.importorskip("torch")
    gt = pytest.importorskip("gpuos.torch")
    device = "cpu" if rt.backend == "host" else "cuda"
    shared = gpuos.default_runtime(rt.backend)
    assert gt.runtime(device) is shared
    x = torch.ones(4, device=device)
    out = torch.empty(4, device=device)
    with torch.no_grad(), gt.scheduler():
        y = x + 1
        shared.submit("add", y, y, out=out)
        z = out * 2
    assert z.tolist() == [8] * 4


def test_threads_use_it_together():
    rt = gpuos.default_runtime("host")

    def add(k):
        x = rt.array(np.full(8, k))
        for _ in range(100):
            x += 1
        return x.sum().item() - 8 * k

    assert in_threads(*(partial(add, k) for k in range(4))) == [800] * 4


OFTEN = """
import signal
from gpuos import array_functions, default_runtime, interop, tracing, pytrees
from gpuos import value_methods

depth = most = 0


def handle(*_):
    global depth, most
    depth += 1
    most = max(most, depth)
    default_runtime("host").ones(3)
    depth -= 1


signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.005)
while most == 0:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
assert most < 20, most
"""


def test_signals_while_it_starts_make_one_runtime(printed_by):
    """Its handlers would come amid each other until Python's stack ends."""
    printed_by(OFTEN)
