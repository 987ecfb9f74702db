"""Seeded programs give the same bits in every run, if that is asked for."""

import sys
from pathlib import Path

import pytest
from program_support import captured

pytest.importorskip("torch")

import pytest
from torch_support import (
    ELEMS,
    NEVER_MS,
    assert_same,
    compare,
    gt,
    is_taken,
    leave_alone,
    scheduler,
    taken,
    torch,
    watch_anew,
)

pytestmark = pytest.mark.torch

SCRIPT = Path(__file__).parents[3] / "scripts" / "figures"
RUNS = 3
STEPS = 40
LIMIT_S = 900
# The parent's runtimes are not the child's to change.
FORK = """
import os, warnings
warnings.simplefilter("ignore")
import torch, gpuos.torch as gt
x = torch.ones(64)
with torch.no_grad(), gt.scheduler():
    assert (x + 1).sum().item() == 128
child = os.fork()
if child == 0:
    result = 1
    try:
        with torch.no_grad(), gt.scheduler(deterministic=True):
            result = int((x + 1).sum().item() != 128)
    finally:
        os._exit(result)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize(
    "programs",
    [
        ["rows", "sums", "attention", "cart_pole", "layer_norms"],
        ["half_rows", "double_rows"],
        ["training", "half_training", "policy_gradient"],
    ],
    ids=["rows", "dtypes", "training"],
)
def test_runs_agree_in_every_bit(device, programs):
    command = [sys.executable, str(SCRIPT), "same", "--device", device]
    command += ["--runs", str(RUNS), "--steps", str(STEPS)]
    command += ["--only", *programs]
    result = captured(*command, timeout=LIMIT_S)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_child_of_a_fork_may_be_deterministic(printed_by):
    assert printed_by(FORK) == "0\n"


def test_a_nested_scheduler_ends_a_pause(device):
    x = torch.ones(ELEMS, device=device)
    watch_anew()
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        leave_alone(x)
        assert not is_taken(x)
        with gt.scheduler(auto_flush_ms=NEVER_MS, deterministic=True):
            assert is_taken(x)


def goes_on(device, **options):
    """Return whether a scheduler defers after operators that are not its."""
    x = torch.ones(ELEMS, device=device)
    watch_anew()
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS, **options):
        leave_alone(x)
        return is_taken(x)


def test_a_deterministic_scheduler_never_leaves_a_thread_alone(
    device, monkeypatch
):
    assert goes_on(device, deterministic=True)
    torch.use_deterministic_algorithms(True)
    try:
        assert goes_on(device)
        assert not goes_on(device, deterministic=False)
    finally:
        torch.use_deterministic_algorithms(False)
    # The ranks of a process group always are.
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    assert goes_on(device, deterministic=False)


@pytest.mark.host
def test_the_cost_table_decides_what_stays_eager():
    dear = torch.randn(64, 256)
    cheap = torch.randn(2, 16)
    for pending in (False, True):
        with (
            torch.no_grad(),
            gt.scheduler(auto_flush_ms=NEVER_MS, deterministic=True),
        ):
            gt.bridge().weigh_costs(True)
            x = dear + 1 if pending else dear
            before = gt.stats()
            x.softmax(1)
            after = gt.stats()
            assert after["intercepted"] == before["intercepted"]
            assert after["left"] > before["left"]
            cheap.softmax(1)
            assert taken() == before["intercepted"] + 1


FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
POWERS = (7, 8, 15, 16, 31, 32, 40, 63, 64, 65)


def values():
    """Return numbers on both sides of every limit, and NaN."""
    found = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 200.0, -200.0, 33000.0]
    found += [float("inf"), float("-inf"), float("nan"), 1e20, -1e20, 3e9, -3e9]
    for power in POWERS:
        for beside in (-5.0, -1.0, 0.0, 1.0, 5.0):
            found += [2.0**power + beside, -(2.0**power) + beside]
    return found


def ways(to):
    """Yield the conversions of tensors to a dtype."""
    yield lambda x: x.to(to)
    yield lambda x: torch.empty_like(x, dtype=to).copy_(x)
    yield lambda x: x[::2].to(to)
    yield lambda x: x.reshape(-1, 2).t().to(to)
    yield lambda x: x[20].to(to)
    yield lambda x: (x * 1.0).to(to) + 1
    yield lambda x: x[20:21].to(to)


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", INTEGERS)
def test_reals_to_integers_that_they_do_not_fit(device, of, to):
    x = torch.tensor(values(), dtype=torch.float64).to(of).to(device)
    for way in ways(to):
        compare(way, x)


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", INTEGERS)
def test_compiled_conversions_of_reals_match_eager(device, of, to):
    x = torch.tensor(values(), dtype=torch.float64).to(of).to(device)
    for _ in range(40):
        compare(lambda x: [x.to(to) for _ in range(8)], x)


ODD = (0, 1, 2, 255, 128, 0, 3, 1)  # bytes


def test_bools_in_a_program_of_many(device):
    bools = torch.tensor(ODD, dtype=torch.uint8, device=device).view(torch.bool)
    usual = torch.tensor([byte != 0 for byte in ODD], device=device)
    x = torch.arange(8.0, device=device)
    expected = ((usual & ~usual) | usual).float() * x + usual
    for _ in range(100):
        with scheduler():
            got = ((bools & ~bools) | bools).float() * x + bools
        assert_same(expected, got)
