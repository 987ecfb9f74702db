"""Options of a scheduler apply in it, and in no other one."""

import dataclasses

import numpy as np
import pytest
import torch_support
from torch_support import NEVER_MS, gt, in_thread, torch

import gpuos

pytestmark = pytest.mark.torch

ELEMS = 64
FEW, MANY = 4, 1000  # operations


def is_taken(elems, device):
    return torch_support.is_taken(torch.ones(elems, device=device))


def most_that_waited(device):
    """Defer independent operations and return how many waited at most."""
    x = torch.ones(ELEMS, device=device)
    gt.flush()
    waited = []
    results = []
    for _ in range(5 * FEW):
        results.append(x + x)
        waited.append(gt.pending())
    return max(waited)


def scheduler(**options):
    return gt.scheduler(auto_flush_ms=NEVER_MS, **options)


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def test_a_threshold_is_that_of_the_innermost_scheduler(device):
    with scheduler(size_threshold=ELEMS):
        assert is_taken(ELEMS, device)
        assert not is_taken(2 * ELEMS, device)
        with scheduler(size_threshold=2 * ELEMS):
            assert is_taken(2 * ELEMS, device)
            with scheduler(size_threshold=0):
                assert not is_taken(ELEMS, device)
            assert is_taken(2 * ELEMS, device)
        assert not is_taken(2 * ELEMS, device)
        assert is_taken(ELEMS, device)


def test_a_threshold_is_that_of_its_thread(device):
    def other():
        with torch.no_grad(), scheduler(size_threshold=0):
            return is_taken(ELEMS, device)

    with scheduler(size_threshold=ELEMS):
        assert not in_thread(other)
        assert is_taken(ELEMS, device)
        assert not is_taken(2 * ELEMS, device)


def test_a_capacity_is_that_of_the_innermost_scheduler(device):
    with scheduler(capacity=MANY):
        assert most_that_waited(device) == 5 * FEW
        with scheduler(capacity=FEW):
            # One chunk may run while the next one is filled.
            assert most_that_waited(device) <= 2 * FEW
        assert most_that_waited(device) == 5 * FEW


def test_a_capacity_is_that_of_its_thread(device):
    def other():
        with torch.no_grad(), scheduler(capacity=FEW):
            return most_that_waited(device)

    with scheduler(capacity=MANY):
        assert in_thread(other) <= 2 * FEW
        assert most_that_waited(device) == 5 * FEW


def test_requests_by_name_have_the_capacity_of_init(device):
    x = torch.ones(ELEMS, device=device)
    outs = [torch.empty_like(x) for _ in range(5 * FEW)]

    def most_by_name():
        gt.flush()
        waited = []
        for out in outs:
            gt.submit_add(x, x, out)
            waited.append(gt.pending())
        return max(waited)

    with torch.no_grad():
        with scheduler(capacity=FEW):
            pass  # does not affect the scheduler after it
        assert most_by_name() == 5 * FEW
        gt.init(capacity=FEW)
        try:
            assert most_by_name() <= 2 * FEW
            with scheduler(capacity=MANY):
                assert most_by_name() == 5 * FEW
        finally:
            gt.init()
    gt.flush(sync=True)
    assert all(torch.equal(out, x + x) for out in outs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("capacity", 1.5),
        ("capacity", None),
        ("threads_per_block", "256"),
        ("size_threshold", 1e6),
        ("auto_flush_ms", "2"),
        ("auto_flush_ms", None),
    ],
)
def test_a_number_of_another_kind_is_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"expected {name} to be .* got"):
        gt.scheduler(**{name: value})


def test_whole_numbers_of_numpy_are_taken(device):
    with scheduler(capacity=np.int64(8), size_threshold=np.uint16(ELEMS)):
        assert is_taken(ELEMS, device)
        assert not is_taken(2 * ELEMS, device)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("capacity", 0), ("capacity", -1), ("threads_per_block", 0)),
        *(("size_threshold", -1), ("size_threshold", 1 << 63)),
        ("auto_flush_ms", -1.0),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(gpuos.InvalidArgument, match=f"expected .*{name}"):
        gt.scheduler(**{name: value})


def test_a_scheduler_that_cannot_be_entered_is_not_in_use(device):
    # A scheduler made without scheduler() may have such a value.
    made = dataclasses.replace(scheduler(), size_threshold="many")
    with pytest.raises(TypeError), made:
        pass
    gt.shutdown()
    with scheduler():
        assert is_taken(ELEMS, device)


def test_a_scheduler_decorates_functions(device):
    @gt.scheduler(auto_flush_ms=60_000)
    def step(x, *, factor=1):
        y = x * factor + 1
        return y, gt.pending()

    x = torch.ones(4, device=device)
    before = gt.stats()["intercepted"]
    y, pending = step(x, factor=3)
    assert gt.stats()["intercepted"] > before
    assert (pending > 0, gt.pending()) == (True, 0)
    assert y.tolist() == [4.0] * 4
    assert step.__name__ == "step"

    def items():
        yield 1

    async def later():
        pass

    for function in (items, later):
        with pytest.raises(gpuos.InvalidArgument, match="write `with` inside"):
            gt.scheduler()(function)
