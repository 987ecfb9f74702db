"""Seeded programs give the same bits in every run, if that is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from torch_support import (
    ELEMS,
    NEVER_MS,
    gt,
    is_taken,
    leave_alone,
    taken,
    torch,
    watch_anew,
)

pytestmark = pytest.mark.torch

SCRIPT = Path(__file__).parents[2] / "scripts" / "figures"
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
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_child_of_a_fork_may_be_deterministic(run_python):
    done = run_python(FORK)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_one_inside_another_wakes_a_thread_that_rests(device):
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
def test_a_table_says_what_is_left_to_pytorch():
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
