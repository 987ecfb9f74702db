"""Streams, events and graphs of CUDA."""

import gc

import pytest
from torch_support import ELEMS, gt, in_thread, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    pytest.mark.gpu,
    pytest.mark.usefixtures("device"),
    pytest.mark.never(lambda device: device == "cpu", reason="it has none"),
]

ROUNDS = 50


def busy(matrix):
    """Keep the current stream busy for milliseconds.

    By one operator: among many of PyTorch's own a thread would be left alone.
    """
    return matrix @ matrix


@pytest.fixture
def large():
    return torch.randn(4096, 4096, device="cuda")


def test_work_is_ordered_after_and_before_that_of_its_stream(large):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), scheduler(takes=ROUNDS):
        x = torch.zeros(ELEMS, device="cuda")
        for _ in range(ROUNDS):
            busy(large)
            torch.cumsum(torch.ones(ELEMS, device="cuda"), 0, out=x)
            y = x * 2
            z = torch.flip(y, [0])
    stream.synchronize()
    assert z[0].item() == 2 * ELEMS


def test_events_hand_work_from_stream_to_stream(large):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    event = torch.cuda.Event()
    with scheduler(takes=2 * ROUNDS):
        for k in range(ROUNDS):
            with torch.cuda.stream(first):
                busy(large)
                x = torch.full((ELEMS,), float(k), device="cuda")
                y = x + 1
                event.record()
            with torch.cuda.stream(second):
                event.wait()
                z = y * 2
            second.synchronize()
            assert z.sum().item() == 2 * (k + 1) * ELEMS


def test_wait_stream_waits_for_pending_work(large):
    side = torch.cuda.Stream()
    with scheduler(takes=2):
        with torch.cuda.stream(side):
            busy(large)
            y = torch.ones(ELEMS, device="cuda") + 1
        torch.cuda.current_stream().wait_stream(side)
        z = y * 2
        assert z.sum().item() == 4 * ELEMS


def test_query_and_synchronize_flush():
    a = torch.ones(ELEMS, device="cuda")
    event = torch.cuda.Event()
    with scheduler(takes=4):
        for wait in (
            torch.cuda.synchronize,
            torch.cuda.current_stream().synchronize,
            lambda: (event.record(), event.synchronize()),
            torch.cuda.current_stream().query,
        ):
            b = a + a
            wait()
            assert gt.pending() == 0
    assert b.sum().item() == 2 * ELEMS


def test_events_measure_pending_work(large):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    with scheduler():
        start.record()
        busy(large)
        x = large[0] + 1
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) > 0
        assert gt.pending() == 0
    assert x.shape == (4096,)


def test_record_stream_keeps_memory(large):
    side = torch.cuda.Stream()
    with scheduler(takes=ROUNDS):
        for k in range(ROUNDS):
            x = torch.full((ELEMS,), float(k), device="cuda") + 0.0
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                busy(large)
                y = torch.flip(x, [0])
            x.record_stream(side)
            del x
            torch.full((ELEMS,), -1.0, device="cuda")
            side.synchronize()
            assert y.sum().item() == k * ELEMS


def test_memory_of_dropped_tensors_is_not_overwritten(large):
    with scheduler(takes=ROUNDS):
        results = []
        for k in range(ROUNDS):
            busy(large)
            x = torch.full((ELEMS,), float(k), device="cuda")
            results.append(x + 1)
            del x
            torch.cumsum(torch.full((ELEMS,), -1.0, device="cuda"), 0)
        sums = [result.sum().item() for result in results]
    assert sums == [(k + 1) * ELEMS for k in range(ROUNDS)]


def test_empty_cache_and_new_memory_while_work_is_pending():
    with scheduler(takes=ROUNDS):
        x = torch.ones(ELEMS, device="cuda")
        for k in range(ROUNDS):
            x = x + 1
            hold = torch.empty((k + 1) << 20, device="cuda")
            del hold
            torch.cuda.empty_cache()
        assert x[0].item() == ROUNDS + 1


def test_graph_capture_and_replay():
    a = torch.ones(ELEMS, device="cuda")
    side = torch.cuda.Stream()
    with scheduler(takes=0):
        with torch.cuda.stream(side):
            b = ((a + 1) * 2).relu()  # before the capture, as PyTorch asks
        side.synchronize()
        before = a * 3
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            b = ((a + 1) * 2).relu()
            c = torch.cumsum(b, 0) * 0.5
        for k in range(5):
            a.fill_(k)
            graph.replay()
            d = c + 0.0
            assert b.sum().item() == 2 * (k + 1) * ELEMS
            assert d[-1].item() == (k + 1) * ELEMS
    assert before.sum().item() == 3 * ELEMS


def test_scheduler_inside_of_a_capture():
    a = torch.ones(ELEMS, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), scheduler(takes=0):
        b = (a + 1) * 2
    a.fill_(4)
    graph.replay()
    assert b.sum().item() == 10 * ELEMS


def test_streams_of_several_threads(large):
    def work(seed):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), gt.scheduler():
            x = torch.full((ELEMS,), float(seed), device="cuda")
            for _ in range(ROUNDS):
                x = (x + 1) * 0.5
            busy(large)
            return x.sum().item()

    def exact(seed):
        x = float(seed)
        for _ in range(ROUNDS):
            x = (x + 1) * 0.5
        return x * ELEMS

    for seed in range(4):
        assert in_thread(lambda s=seed: work(s)) == pytest.approx(exact(seed))


def test_small_tensors_of_the_processor_join_as_numbers():
    a = torch.ones(ELEMS, device="cuda")
    with scheduler():
        b = a * torch.tensor(3.0)
        with pytest.raises(RuntimeError, match="same device"):
            a + torch.ones(ELEMS)
    assert b.sum().item() == 3 * ELEMS


def test_kernels_are_loaded_while_work_is_pending():
    with scheduler():
        a = torch.ones(ELEMS, device="cuda") + 1
        # Kernels that nothing else here uses, so that they are loaded now.
        b = torch.special.bessel_j0(a), torch.igamma(a, a), torch.erfinv(a / 9)
        torch.cuda.synchronize()
    gc.collect()
    assert all(torch.isfinite(x).all() for x in b)
