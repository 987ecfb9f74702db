"""Tensors of many kinds in turns: what one was says nothing of the next."""

import itertools
import threading

import pytest
from deadlines import WAIT_S

pytest.importorskip("torch")

from torch_support import gt, scheduler, torch

pytestmark = pytest.mark.torch

ROUNDS = 3


def made(device, dtype):
    """Return tensors of one dtype that differ in PyTorch's flags."""
    random = torch.Generator().manual_seed(3)
    base = torch.randn(4096, generator=random).to(device, dtype)
    resized = torch.zeros(4096, device=device, dtype=dtype).resize_(1024)
    resized.copy_(base[:1024])
    image = base[:1024].clone().view(4, 8, 4, 8)
    return {
        "plain": base[:1024].clone(),
        "part": base[1024:2048],
        "every second": base[::4],
        "detached": base[:1024].clone().detach(),
        "data": base[:1024].clone().data,
        "resized": resized,
        "one row": base[:1024].clone().as_strided((1, 1024), (7, 1)),
        "one column": base[:1024].clone().as_strided((1024, 1), (1, 5)),
        "matrix": base[:1024].clone().view(32, 32),
        "turned": base[:1024].clone().view(32, 32).t(),
        "image": image,
        "channels last": image.contiguous(memory_format=torch.channels_last),
        "none": base[:0].clone(),
        "one": base[0].clone(),
        "parameter": torch.nn.Parameter(
            base[:1024].clone(), requires_grad=dtype.is_floating_point
        ),
    }


def calls():
    """Return operations of two tensors, and of one."""
    return {
        "add": lambda a, b: a + b,
        "number": lambda a, _: a * 2,
        "compare": lambda a, b: a < b,
        "relu": lambda a, _: torch.relu(a),
        "in place": lambda a, b: a.clone().add_(b),
        "out": lambda a, b: torch.mul(a, b, out=torch.empty_like(a)),
        "where": lambda a, b: torch.where(a > b, a, b),
    }


def facts(x):
    # A stride of one element says nothing.
    strides = [k for n, k in zip(x.shape, x.stride(), strict=True) if n != 1]
    return x.dtype, x.shape, strides, x.device, x._version, x.is_leaf


@pytest.mark.parametrize("call", calls().values(), ids=calls())
def test_alternating_kinds_match_eager(device, call):
    dtypes = torch.float32, torch.float16, torch.float64, torch.int64
    of_dtypes = [made(device, dtype) for dtype in dtypes]
    names = list(of_dtypes[0])
    cases = [
        (tensors[one], tensors[other])
        for one, other in itertools.product(names, names)
        for tensors in of_dtypes
        if tensors[one].shape == tensors[other].shape
    ]
    with torch.no_grad():
        expected = [call(a, b) for a, b in cases]
        with scheduler():
            results = [call(a, b) for a, b in cases]
    for result, wanted in zip(results, expected, strict=True):
        assert facts(result) == facts(wanted)
        assert torch.equal(result, wanted)


def test_requests_by_name_of_kinds_in_turns(device):
    of_dtypes = [
        made(device, dtype) for dtype in (torch.float32, torch.float16)
    ]
    with torch.no_grad():
        cases = [
            (a, b, torch.empty_like(a))
            for tensors in of_dtypes
            for a, b in itertools.product(tensors.values(), repeat=2)
            if a.shape == b.shape and a.numel() > 0
        ]
        for a, b, out in cases:
            gt.submit_add(a, b, out)
        gt.flush(sync=True)
        for a, b, out in cases:
            assert torch.equal(out, a + b)


def test_a_mode_affects_only_its_thread(device):
    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, _types, args=(), kwargs=None):
            names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    names = []
    a = torch.ones(64, device=device)
    turns = [threading.Event() for _ in range(2 * ROUNDS)]
    results = []

    def take_turns():
        # At the end of the block, the other thread may have pending operations.
        with torch.no_grad(), gt.scheduler(auto_flush_ms=60_000.0):
            results.append(a + 1)
            for turn in turns[::2]:
                assert turn.wait(WAIT_S)
                results.append(a + 2)
                turns[turns.index(turn) + 1].set()

    thread = threading.Thread(target=take_turns)
    with torch.no_grad(), scheduler(takes=0):
        b = a + 1
        thread.start()
        for turn in range(0, 2 * ROUNDS, 2):
            with Log():
                b = b + a
                turns[turn].set()
                assert turns[turn + 1].wait(WAIT_S)
                b = b * 1
            b = b - 0
        thread.join()
    assert names == ["add", "mul"] * ROUNDS
    assert len(results) == 1 + ROUNDS
    assert b.eq(2 + ROUNDS).all()
    assert all(result.eq(3).all() for result in results[1:])
