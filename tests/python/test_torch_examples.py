"""Each example runs, and checks its results itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from deadlines import COMPILE_S

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, device):
    """Return the output of an example."""
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        env=os.environ | hidden,
        capture_output=True,
        text=True,
        timeout=COMPILE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("pytorch_batch_demo", 1),
        ("pytorch_scheduler_demo", 1),
        ("pytorch_scheduler_advanced_demo", 6),
        ("pytorch_reduce_demo", 7),
    ],
)
def test_results_are_those_of_eager(device, name, results):
    printed = run(name, device)
    assert printed.count("as PyTorch's") == results
    if name == "pytorch_scheduler_demo":
        assert f"1200 of 1200 operations were taken on {device}" in printed
