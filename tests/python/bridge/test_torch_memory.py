"""Where the results of small operations lie, and when that is used again."""

import functools
import itertools
import random

import numpy as np
import pytest

pytest.importorskip("torch")

from torch_support import (
    ELEMS,
    PATIENCE,
    gt,
    hasty_overrides,
    in_thread,
    scheduler,
    torch,
)

pytestmark = pytest.mark.torch

MEBI = 1 << 20
CYCLES = 6_000_000_000  # of a stream: some 3 s
SCHEDULERS = 400
RESULTS = 500


def address(tensor):
    return tensor.untyped_storage().data_ptr()


def test_results_of_many_sizes_do_not_overlap(device):
    sizes = random.Random(7)
    kept = []
    with torch.no_grad(), scheduler(takes=RESULTS):
        for k in range(RESULTS):
            size = sizes.choice([1, 128, 129, 1024, 1025, 5000, 32_768])
            dtype = sizes.choice([torch.float32, torch.float16, torch.float64])
            base = torch.zeros(size, device=device, dtype=dtype)
            kept.append(base + (k % 1000))
            if k % 3 == 0:
                kept.pop(sizes.randrange(len(kept)))
    values = {float(each.min()) for each in kept}
    assert all(each.min() == each.max() for each in kept)
    assert len(values) == len(kept)
    ends = sorted((address(x), address(x) + x.nbytes) for x in kept)
    for (_, end), (begin, _) in itertools.pairwise(ends):
        assert end <= begin


def test_small_results_of_many_schedulers_share_blocks(device):
    a = torch.ones(8, device=device)
    kept = []
    for _ in range(SCHEDULERS):
        with torch.no_grad(), scheduler():
            kept.append(a.sum())
    assert len({address(x) // MEBI for x in kept}) < 6
    assert {x.item() for x in kept} == {8.0}


def test_a_result_can_be_cloned_lazily(device):
    with torch.no_grad(), scheduler():
        x = torch.ones(ELEMS, device=device) + 1
        y = torch._lazy_clone(x)
        x += 1
    assert x.eq(3).all()
    assert y.eq(2).all()


def test_a_result_outlives_everything(device):
    with torch.no_grad(), scheduler():
        x = torch.ones(ELEMS, device=device) + 1
    with hasty_overrides():
        for _ in range(PATIENCE + 1):  # the overrides go, and unused blocks
            x.abs()
    with torch.no_grad(), scheduler(takes=64):
        others = [torch.zeros(ELEMS, device=device) + k for k in range(64)]
    assert x.eq(2).all()
    assert all(other.eq(k).all() for k, other in enumerate(others))


LEAVES_PYTORCH = """
import torch, gpuos.torch as gt
from gpuos.torch.readiness import bridge
a = torch.ones(4)
with torch.no_grad(), gt.scheduler():
    a + 1
for _ in range({patience}):
    a.exp()
assert hasattr(torch.Tensor.numpy, "__wrapped__")
bridge().retire_after(0.0)
for _ in range({patience}):
    a.exp()
assert not hasattr(torch.Tensor.numpy, "__wrapped__")
with torch.no_grad(), gt.scheduler(auto_flush_ms=60_000):
    b = (a + 1).exp()
    assert gt.pending() == 2
assert torch.equal(b, (a + 1).exp())
print("as it was")
"""


def test_pytorch_is_restored_after_the_last_scheduler(printed_by):
    # A process of its own: none of its threads has ended in a scheduler.
    text = LEAVES_PYTORCH.format(patience=PATIENCE + 1)
    assert printed_by(text) == "as it was\n"


@pytest.mark.gpu
def test_another_streams_work_keeps_a_dropped_results_memory():
    side = torch.cuda.Stream()
    with torch.no_grad(), scheduler():
        x = torch.ones(ELEMS, device="cuda") + 1
        gt.flush()
        # A first launch loads its kernel, which waits for the whole device.
        torch.flip(torch.zeros(ELEMS, device="cuda") - 1, [0])
        gt.flush()
    torch.cuda.synchronize()
    # Out of the scheduler, which does not see it.
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES)
        y = torch.flip(x, [0])
    x.record_stream(side)
    was = address(x)
    del x
    with torch.no_grad(), scheduler(takes=600):
        others = [torch.zeros(ELEMS, device="cuda") - 1 for _ in range(600)]
    addresses = {address(other) for other in others}
    assert not side.query(), "the stream's work is to last longer than this"
    assert was not in addresses
    side.synchronize()
    assert y.eq(2).all()


@pytest.mark.gpu
def test_a_result_can_be_shared_with_a_process():
    with torch.no_grad(), scheduler():
        torch.zeros(ELEMS, device="cuda") + 1
        x = torch.ones(ELEMS, device="cuda") + 1
    x.untyped_storage()._share_cuda_()
    assert x.eq(2).all()


SHAPES = [(), (1,), (3,), (2, 3), (1, 1), (2, 1, 4), (2, 3, 4, 5), (2,) * 6]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("inference", [False, True])
def test_a_result_is_the_tensor_that_pytorch_makes(device, shape, inference):
    def facts(x):
        formats = (torch.channels_last, torch.channels_last_3d)
        ranks = [
            f
            for f, rank in zip(formats, (4, 5), strict=True)
            if rank == x.dim()
        ]
        return (
            torch._C._dispatch_keys(x).raw_repr(),
            x.shape,
            x.stride(),
            x.is_contiguous(),
            [x.is_contiguous(memory_format=f) for f in ranks],
            x.is_inference(),
            x.is_inference() or x._version,
        )

    mode = torch.inference_mode() if inference else torch.no_grad()
    with mode:
        a = torch.rand(shape, device=device)
        expected = a + a
        with scheduler():
            result = a + a
            gt.flush()
            result.sum()  # PyTorch has seen it, so it is marked no more
    assert facts(result) == facts(expected)
    assert torch.equal(result, expected)


def test_a_result_in_the_place_of_another_begins_at_version_0(device):
    a = torch.ones(ELEMS, device=device)
    with torch.no_grad(), scheduler():
        for _ in range(100):
            result = a + 1
            assert result._version == 0
            result += 1
            assert result._version == 1
            shared = result.detach()
            result = None
            assert shared._version == 1
        assert float(shared.sum()) == 3 * ELEMS


def test_results_may_be_dropped_by_other_threads(device):
    a = torch.ones(ELEMS, device=device)

    def make(results):
        with torch.no_grad(), scheduler():
            results.extend(a * k for k in range(RESULTS))

    for _ in range(4):
        results = []
        in_thread(functools.partial(make, results))
        in_thread(functools.partial(results.__delitem__, slice(0, None, 2)))
        assert [float(each[0]) for each in results] == list(
            range(1, RESULTS, 2)
        )


@pytest.mark.parametrize("own", [False, True])
def test_storages_with_the_same_memory_are_used_in_order(own):
    # At most one of the two comes from PyTorch's allocator.
    first = torch.zeros(ELEMS)
    second = torch.from_numpy(first.numpy())
    if not own:
        first = torch.from_numpy(first.numpy())
    with torch.no_grad(), scheduler(takes=0):
        seen = []
        for _ in range(RESULTS):
            first += 1
            seen.append(second * 2)
    assert [float(x[0]) for x in seen] == [
        2.0 * k for k in range(1, RESULTS + 1)
    ]


def use_both(a, b):
    """Write through each of two tensors, and read through the other."""
    a.fill_(1.0)
    results = [b + 1.0]
    b.mul_(3.0)
    results.append(a * 2.0)
    a.add_(b)
    results.append(b - 1.0)
    torch.mul(a, 0.5, out=b)
    results.append((a + 1.0) * 2.0)
    torch._foreach_add_([a], 2.0)
    results.append(b.sum())
    a[:100] = 7.0
    results.append(b * 1.0)
    b.copy_(torch.arange(float(ELEMS)))
    results.append(a * 1.0)
    return results


def test_two_mappings_of_one_file(tmp_path):
    came = []
    for name in ("eager", "scheduled"):
        path = tmp_path / name
        path.write_bytes(bytes(4 * ELEMS))
        a, b = (
            torch.from_file(str(path), shared=True, size=ELEMS)
            for _ in range(2)
        )
        if name == "eager":
            came.append(use_both(a, b))
            continue
        with scheduler(takes=1):
            came.append(use_both(a, b))
    for expected, got in zip(*came, strict=True):
        assert torch.equal(expected, got)


# Two views of an array of NumPy, each a storage of its own.
WRITES = {
    "copy_": lambda out, x: out.copy_(x),
    "add_": lambda out, x: out.add_(x),
    "+= a part": lambda out, x: out[:2].add_(x[:2]),
    "out": lambda out, x: torch.mul(x, 3.0, out=out),
    "out of the rows": lambda out, x: torch.exp(out, out=out).mul_(x),
    "where": lambda out, x: torch.where(x > 2, x, out, out=out),
    "lerp_": lambda out, x: out.lerp_(x, 0.5),
    "list": lambda out, x: torch._foreach_mul_([out], [x]),
    "clamp_": lambda out, x: out.clamp_(x, x + 1),
}


@pytest.mark.never(
    lambda device: device != "cpu",
    reason="arrays of NumPy are in the memory of the processor",
)
@pytest.mark.parametrize("name", WRITES)
def test_storages_of_one_memory_are_written_as_in_eager(device, name):  # noqa: ARG001
    slices = [
        slice(first, first + 4 * step, step)
        for first, step in itertools.product(range(4), (1, 2))
    ]

    def run(written, read):
        array = np.arange(11, dtype=np.float32) / 4
        out = torch.from_numpy(array[written])
        x = torch.from_numpy(array[read])
        beside = torch.zeros(3)
        before = x * 2.0
        WRITES[name](out, x)
        beside.add_(5.0)
        after = x + out
        # A further tensor of the same memory is written after all this.
        torch.from_numpy(array)[5:].mul_(2.0)
        return [before, beside, after, torch.from_numpy(array)]

    for written, read in itertools.product(slices, slices):
        with torch.no_grad():
            expected = [one.clone() for one in run(written, read)]
            with scheduler(takes=2):
                came = run(written, read)
        for one, other in zip(expected, came, strict=True):
            torch.testing.assert_close(other, one, msg=f"{written}, {read}")
