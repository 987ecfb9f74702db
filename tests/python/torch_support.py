"""Helpers of the tests of gpuos.torch: schedulers that count, comparison."""

import contextlib
import os
from pathlib import Path

import pytest
from threads_support import in_threads

torch = pytest.importorskip("torch")

import gpuos.torch as gt
from gpuos.torch.readiness import bridge

# Some tests name functions of the bridge during collection. A machine without a
# bridge then compiles it, with a warning, before any test needs it.
gt.wait_ready()

# Eager's threads take longer to meet than these tests to compute.
torch.set_num_threads(1)

ELEMS = 1024
NEVER_MS = 60_000.0  # so that only the test flushes


def watch_anew():
    """Make schedulers forget the past of this thread."""
    bridge().watch_anew()


PATIENCE = 10_000  # calls until the overrides retire, see override_calls.cpp
PATIENCE_S = 10.0


@contextlib.contextmanager
def hasty_overrides():
    """Make the overrides retire after `PATIENCE` calls, independent of the time."""
    bridge().retire_after(0.0)
    try:
        yield
    finally:
        bridge().retire_after(PATIENCE_S)


def taken():
    """Return how many operations schedulers have taken so far."""
    return gt.stats()["intercepted"]


WINDOW = 256  # operators left to PyTorch, see rest.cpp


def leave_alone(x):
    """Run operators that PyTorch does itself, for longer than a window."""
    for _ in range(2 * WINDOW):
        torch.cumsum(x, 0)


def is_taken(x):
    """Return whether an operation on `x` is deferred now."""
    before = taken()
    torch.exp(x)
    return taken() > before


def used_bytes(device):
    """Return a GPU's memory in use, or this process's own on the machine.

    Pages of files do not count: libraries come as they are used.
    """
    if device == "cuda":
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return total - free
    _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def scheduler(*, takes=1, auto_flush_ms=NEVER_MS, **options):
    """Schedule the block, which must have at least `takes` operations taken.

    Operations that are pending at the end of the block must be flushed by it.
    """
    watch_anew()
    # An earlier test may have submitted to `gt.runtime()`. The first operator
    # that PyTorch runs flushes for it, with all that is pending then.
    gt.flush()
    before = taken()
    with gt.scheduler(auto_flush_ms=auto_flush_ms, **options) as made:
        yield made
    assert gt.pending() == 0
    count = taken() - before
    assert count >= takes, f"expected {takes} taken operations, came {count}"


def pair(device, elems=ELEMS, dtype=torch.float32):
    """Return the two vectors, normally distributed, that most tests use."""
    random = torch.Generator().manual_seed(1)
    return tuple(
        torch.randn(elems, generator=random).to(device, dtype) for _ in range(2)
    )


def cloned(value):
    """Return `value` with every tensor in it copied and off the graph."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [cloned(one) for one in value]
    if isinstance(value, dict):
        return {key: cloned(one) for key, one in value.items()}
    return value


def assert_same(expected, got, **tolerances):
    """Compare nested results: tensors as PyTorch does, the rest with `==`."""
    if isinstance(expected, (list, tuple)):
        assert isinstance(got, (list, tuple))
        assert len(expected) == len(got)
        for one, other in zip(expected, got, strict=True):
            assert_same(one, other, **tolerances)
    elif isinstance(expected, dict):
        assert list(expected) == list(got)
        for key, one in expected.items():
            assert_same(one, got[key], **tolerances)
    elif isinstance(expected, (float, complex)):
        # Usually the tensor is float32.
        limits = {"rtol": 1e-5, "atol": 1e-5} | tolerances
        torch.testing.assert_close(got, expected, equal_nan=True, **limits)
    elif hasattr(expected, "__array__"):
        torch.testing.assert_close(
            got, expected, equal_nan=True, check_stride=False, **tolerances
        )
        if isinstance(expected, torch.Tensor) and expected.layout == (
            torch.strided
        ):
            assert steps(got) == steps(expected)
    else:
        assert got == expected


def steps(tensor):
    """Return the strides that an element can tell apart."""
    if tensor.numel() == 0:
        return []
    return [
        stride
        for stride, size in zip(tensor.stride(), tensor.shape, strict=True)
        if size > 1
    ]


def compare(function, *inputs, takes=1, tolerances=None, **options):
    """Compare `function(*inputs)` and its effects on them with eager."""
    own = cloned(list(inputs))
    expected = cloned([function(*own), own])
    own = cloned(list(inputs))
    with scheduler(takes=takes, **options):
        result = function(*own)
    assert_same(expected, cloned([result, own]), **(tolerances or {}))


class Same:
    """Runs functions of two vectors eagerly and scheduled, and compares."""

    def __init__(self, device):
        self.device = device

    def __call__(self, function, *, takes=1, grad=(False, True), **options):
        """Compare the result of `function(a, b)` and its effects on a and b.

        Parameters
        ----------
        takes : int
            The least number of operations that the scheduler must defer.
        grad : tuple of bool
            With gradients off, on, or once each.
        """
        for enabled in grad:
            with torch.set_grad_enabled(enabled):
                compare(function, *pair(self.device), takes=takes, **options)

    def training(self, function, **options):
        """Compare `function`, which needs gradients."""
        self(function, grad=(True,), **options)


def in_thread(function):
    """Return the result of `function` in another thread, or raise its error."""
    return in_threads(function)[0]


def outcome(function, *arguments):
    """Return the result of a call, or the kind and first line of its error."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 (compared with eager's)
        return f"{type(error).__name__}: {str(error).splitlines()[:1]}"


def error_of(function):
    """Return the kind and the first line of the error of a call, or None."""
    try:
        function()
    except Exception as error:  # noqa: BLE001 (compared with eager's)
        return type(error).__name__, str(error).splitlines()[:1]
    return None
