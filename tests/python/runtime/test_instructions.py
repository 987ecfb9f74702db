"""The cost of a submission for its caller, in instructions of our modules.

Valgrind counts them, so they do not depend on the load of the machine.
Instructions of Python and NumPy are excluded, because they differ by release.
"""

from pathlib import Path

import pytest
from instructions import ROOM, count

import gpuos
from gpuos import _core

# CI asserts these counts for each change.
pytestmark = [pytest.mark.always, pytest.mark.host]
LIBRARIES = [Path(_core.__file__).resolve(), Path(gpuos.get_library())]

CALLS = 1000
FLUSH = 240  # calls; a flush is launched when it has 512
# The counts of one call, from 2026-11-29 with g++ 12, and the tolerance, because
# a worker may be awake or not.
HOST = {
    "by name": 1249,
    "by expression": 1881,
    "NumPy arrays": 2106,
    "fused": 2317,
    "fused, new sizes": 4406,
    "fused, two results": 2669,
    "fused, NumPy arrays": 7185,  # it waits for the task
    "x + y of arrays": 1771,
    "x * y + x of arrays, run": 10435,
}
# Burst workers on the simulated device.
BURSTS = {
    "meets nothing": 2434,
    "needs the one before": 1303,
    "meets the one 256 before": 2978,
    "fused": 2392,
}
# A module that was compiled before.
MODULES = {"in memory": 10818}

# Callgrind writes its counts and starts again at each call of getppid().
HOST_SCRIPT = f"""
import os
import numpy as np
import gpuos

# Nothing is compiled during the calls: valgrind does not support AVX-512, which
# the host's compiler may use.
rt = gpuos.Runtime("host", workers=1, compile_programs_after=0)
submit = rt.submit
op = rt.define("f", "o = x + y")
fused = rt.fuse(lambda x, y: (x + y) * x)
two = rt.fuse(lambda x, y: (x + y, x - y))
x, y, o, p = (rt.zeros(64) for _ in range(4))
nx, ny, no = (np.zeros(64, "f4") for _ in range(3))
# In one allocation: how many pages of memory an array shares with others decides too.
rows = rt.zeros((32, 3, 1024))
sizes = [[rows[i, k, : 16 + i] for k in range(3)] for i in range(32)]
turns = iter(sizes * 1000)


def new_size():
    x, y, o = next(turns)
    fused(x, y, out=o)


# Each call but these needs the one before, so none looks for what it meets.
for call in (
    lambda: submit("add", x, y, out=o),
    lambda: submit(op, x, y, out=o),
    lambda: submit("add", nx, ny, out=no),
    lambda: fused(x, y, out=o),
    new_size,
    lambda: two(x, y, out=(o, p)),
    lambda: fused(nx, ny, out=no),
    lambda: x + y,
    lambda: (x * y + x, rt.flush()),
):
    for _ in range(2):
        for _ in range({CALLS}):
            call()
        rt.synchronize()
    os.getppid()
    for _ in range({CALLS}):
        call()
    os.getppid()
    rt.synchronize()
"""

BURST_SCRIPT = f"""
import os
import gpuos

rt = gpuos.Runtime(
    "cuda", residency="burst", flush_after_us=1e8, compile_programs_after=0
)
submit = rt.submit
fused = rt.fuse(lambda x, y: (x + y) * x)
# Consecutive arrays, as a driver's pool allocates them. Memory in between would
# determine how many pages they share with others.
x, y, *outs = rt.zeros((258 + {FLUSH}, 1024))
outs, many = outs[:256], outs[256:]
turn = iter(many * 4)
for before, call in (
    ([], lambda i: submit("add", x, y, out=next(turn))),
    ([], lambda i: submit("add", x, y, out=outs[0])),
    (range(256), lambda i: submit("add", x, y, out=outs[i % 256])),
    ([], lambda i: fused(x, y, out=outs[0])),
):
    for is_counted in (False, False, True):
        for i in before:
            call(i)
        if is_counted:
            os.getppid()
        for i in range({FLUSH}):
            call(i)
        if is_counted:
            os.getppid()
        rt.synchronize()
"""
# The source is as long as a user's small kernel, with typical includes.
MODULE_SCRIPT = f"""
import os
import gpuos

source = '''// a comment and a "string"
#include <gpuos/vectors.h>
extern "C" __global__ void scale(float* x, float by, int n) {{
  /* one element for each thread */
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}}
'''
for _ in range(20):
    gpuos.JitModule(source)
os.getppid()
for _ in range({CALLS}):
    gpuos.JitModule(source)
os.getppid()
"""
SIMULATOR = Path(__file__).parents[3] / "build/test/tests/simulator"


@pytest.fixture(scope="module")
def on_host(tmp_path_factory) -> dict[str, float]:
    folder = tmp_path_factory.mktemp("callgrind")
    return count(folder, LIBRARIES, HOST_SCRIPT, HOST, CALLS)


@pytest.fixture(scope="module")
def in_bursts(tmp_path_factory) -> dict[str, float]:
    if not (SIMULATOR / "libcuda.so.1").exists():
        pytest.skip("no simulated device: scripts/test builds it")
    folder = tmp_path_factory.mktemp("callgrind")
    return count(
        folder,
        LIBRARIES,
        BURST_SCRIPT,
        BURSTS,
        FLUSH,
        LD_LIBRARY_PATH=str(SIMULATOR),
    )


@pytest.fixture(scope="module")
def of_modules(tmp_path_factory) -> dict[str, float]:
    folder = tmp_path_factory.mktemp("callgrind")
    return count(folder, LIBRARIES, MODULE_SCRIPT, MODULES, CALLS)


# Less than half: not all of it was seen.


@pytest.mark.parametrize("what", HOST)
def test_a_submission_costs_no_more(on_host, what):
    assert HOST[what] / 2 < on_host[what] <= HOST[what] * ROOM


@pytest.mark.parametrize("what", BURSTS)
def test_a_submission_to_a_burst_costs_no_more(in_bursts, what):
    assert BURSTS[what] / 2 < in_bursts[what] <= BURSTS[what] * ROOM


@pytest.mark.parametrize("what", MODULES)
def test_a_module_that_was_compiled_costs_no_more(of_modules, what):
    assert MODULES[what] / 2 < of_modules[what] <= MODULES[what] * ROOM
