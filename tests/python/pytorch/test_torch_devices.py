"""Tensors of several GPUs; skipped where there is one."""

import pytest
from threads_support import in_threads
from torch_support import ELEMS, gt, scheduler, torch

import gpuos

pytestmark = [
    pytest.mark.torch,
    pytest.mark.gpu,
    pytest.mark.never(lambda device: device == "cpu", reason="it is one"),
]

ROUNDS = 200


@pytest.fixture(autouse=True)
def two(device):  # noqa: ARG001
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")


def test_each_tensor_is_computed_on_its_device():
    with scheduler(takes=4):
        x = torch.ones(ELEMS, device="cuda:0") + 1
        y = torch.ones(ELEMS, device="cuda:1") + 2
        with torch.cuda.device(1):
            z = y * 2
        w = x.to("cuda:1") + z
        with pytest.raises(RuntimeError, match="same device"):
            x + y
    assert w.device.index == 1
    assert w.sum().item() == 8 * ELEMS


def test_streams_of_the_second_device_order_work():
    stream = torch.cuda.Stream(device=1)
    matrix = torch.randn(2048, 2048, device="cuda:1")
    rounds = 50  # few enough that the thread does not back off
    with torch.cuda.stream(stream), scheduler(takes=rounds):
        x = torch.zeros(ELEMS, device="cuda:1")
        for _ in range(rounds):
            matrix @ matrix
            torch.cumsum(torch.ones_like(x), 0, out=x)
            y = x * 2
            z = torch.flip(y, [0])
    stream.synchronize()
    assert z[0].item() == 2 * ELEMS


def test_requests_of_two_devices():
    gt.init(capacity=256)
    try:
        triples = []
        for k in range(2 * ROUNDS):
            where = f"cuda:{k % 2}"
            a, b = torch.full((2, ELEMS), float(k), device=where)
            triples.append((a, b, torch.empty_like(a)))
            gt.submit_add(*triples[-1])
        gt.flush(sync=True)
        for k, (_, _, out) in enumerate(triples):
            assert out.device.index == k % 2
            assert out[0].item() == out[-1].item() == 2.0 * k
    finally:
        gt.shutdown()


def test_a_thread_for_each_device():
    def work(index):
        with torch.cuda.device(index), scheduler(takes=ROUNDS):
            x = torch.zeros(ELEMS, device="cuda")
            for _ in range(ROUNDS):
                x = x + (index + 1)
            return x.sum().item()

    results = in_threads(lambda: work(0), lambda: work(1))
    assert results == [ROUNDS * ELEMS, 2 * ROUNDS * ELEMS]


def test_capture_on_the_second_device():
    with torch.cuda.device(1), scheduler(takes=1):
        x = torch.ones(ELEMS, device="cuda")
        (x * 2 + 1).sum().item()  # loads all code first
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x * 2 + 1
        x.fill_(4)
        graph.replay()
        torch.cuda.synchronize()
        assert y.sum().item() == 9 * ELEMS


def test_runtimes_of_two_devices():
    with gpuos.Runtime("cuda", 0) as first, gpuos.Runtime("cuda", 1) as second:
        for k in range(ROUNDS):
            for rt in (first, second):
                x = rt.array([float(k)] * 64)
                fused = rt.fuse(lambda x: (x + 1).sum())
                assert fused(x).numpy() == 64 * (k + 1.0)
        a = torch.ones(64, device="cuda:1")
        out = torch.empty_like(a)
        second.wait(second.submit("add", a, a, out=out), 10)
        assert out.sum().item() == 128
        with pytest.raises(gpuos.InvalidArgument):
            first.submit("add", a, a, out=out)
