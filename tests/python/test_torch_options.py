"""What a scheduler is told holds in it, and in no other one."""

from __future__ import annotations

import pytest
from torch_support import NEVER_MS, gt, in_thread, taken, torch

pytestmark = pytest.mark.torch

ELEMS = 64
FEW, MANY = 4, 1000  # operations


def is_taken(elems, device):
    x = torch.ones(elems, device=device)
    before = taken()
    x.exp()
    return taken() > before


def most_that_waited(device):
    """Put operations off that need nothing of each other; look each time."""
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


def test_a_threshold_comes_back_behind_an_exception(device):
    with scheduler(size_threshold=ELEMS):
        with pytest.raises(KeyError), scheduler(size_threshold=0):
            raise KeyError
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
            pass  # says nothing of what comes behind it
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


def test_options_are_read_only():
    made = scheduler(capacity=FEW)
    with pytest.raises(AttributeError):
        made.capacity = MANY
