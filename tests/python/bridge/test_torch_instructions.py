"""The cost of a deferred operation for its caller, in instructions.

Only the bridge is counted: PyTorch's and Python's instructions differ by release.
"""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from instructions import ROOM, count
from torch_support import bridge

pytestmark = [pytest.mark.always, pytest.mark.host, pytest.mark.torch]

CALLS = 240  # fewer than have a chunk started
# A call each, as counted on 2026-11-30 with PyTorch 2.13 and g++ 12.
COSTS = {
    "a + b": 1082,
    "a * 2.0": 1002,
    "relu": 860,
    "submit_add": 808,
    "by the dispatcher": 1172,
}
TORCH = "2.13."
SCRIPT = f"""
import ctypes
import os
import torch
import gpuos.torch

torch.set_num_threads(1)
a, b, c = (torch.ones(64) for _ in range(3))

# The bit after a tensor's flags, which PyTorch does not initialize. It follows
# five bytes of dtype and device and 23 flags.
def fields(tensor):
    return (ctypes.c_ubyte * 256).from_address(tensor._cdata)
pairs = zip(fields(a), fields(a.double()))
at = next(i for i, pair in enumerate(pairs) if pair == (6, 7)) + 7
fields(a)[at] &= 0x7F
fields(b)[at] |= 0x80
submit_add = gpuos.torch.submit_add
mul = torch.ops.aten.mul.Tensor
# Deterministic: flushes are late under valgrind, so a thread would be left alone.
with torch.no_grad(), gpuos.torch.scheduler(
    auto_flush_ms=60_000.0, deterministic=True
):
    for call in (
        lambda: a + b,
        lambda: a * 2.0,
        lambda: torch.relu(a),
        lambda: submit_add(a, b, c),
        lambda: mul(a, b),
    ):
        for is_counted in (False, False, True):
            if is_counted:
                os.getppid()
            for _ in range({CALLS}):
                call()
            if is_counted:
                os.getppid()
            gpuos.torch.flush()
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> dict[str, float]:
    if not torch.__version__.startswith(TORCH):
        pytest.skip(f"the numbers are those of PyTorch {TORCH}x")
    folder = tmp_path_factory.mktemp("callgrind")
    return count(folder, [Path(bridge().__file__)], SCRIPT, COSTS, CALLS)


@pytest.mark.parametrize("what", COSTS)
def test_an_operation_costs_no_more(counted, what):
    assert COSTS[what] / 2 < counted[what] <= COSTS[what] * ROOM
