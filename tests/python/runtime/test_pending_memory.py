"""Memory that was given back while tasks still use it is bounded."""

import sys

import pytest
from conftest import define_nap

import gpuos

MIB = 2**20
NAP_NS = 50_000_000


def test_an_allocation_waits_for_the_oldest_task(backend):
    with gpuos.Runtime(backend, pending_bytes=4 * MIB) as rt:
        nap = define_nap(rt)
        held, size = [], (MIB,)
        for _ in range(4):
            x = rt.empty(size, "uint8")
            target = rt.empty(1)
            held.append(rt.submit(nap, out=target, ns=NAP_NS))
            x.free()
        # Two MiB may wait. The tasks before the first two are done.
        rt.empty(size, "uint8")
        assert held[1].done
        # Larger than the bound: it waits for all, and is there.
        large = rt.empty((64 * MIB,), "uint8")
        assert held[3].done
        assert large.nbytes == 64 * MIB


STEPS = """
import resource
import numpy as np
import gpuos

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

rt = gpuos.Runtime("host", pending_bytes={bound})
fused = rt.fuse(lambda x: x * 0.999 + 0.001)
x = rt.array(np.ones((1024, 512)))  # 4 MiB
for _ in range(2):
    x = {step}
rt.synchronize()
before = peak()
if {limit}:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + {limit}, used + {limit}))
for _ in range(200):
    x = {step}
last = float(x[0, 0])
assert last == 1.0, last
print(peak() - before)
"""
WAYS = {
    "fused": "fused(x)",
    "arrays": "x * 0.999 + 0.001",
    "array functions": "np.multiply(x, 0.999) + 0.001",
    "kept for a while": "(fused(x), fused(x))[0]",
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("way", WAYS)
def test_a_loop_that_drops_its_results_has_a_bounded_peak(run_python, way):
    text = STEPS.format(bound=32 * MIB, limit=0, step=WAYS[way])
    done = run_python(text)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 32 + 16


@pytest.mark.parametrize("way", WAYS)
def test_without_room_an_allocation_waits_for_pending_tasks(run_python, way):
    """No bound: only the address space ends the memory."""
    text = STEPS.format(bound=2**40, limit=160 * MIB, step=WAYS[way])
    done = run_python(text)
    assert done.returncode == 0, done.stderr


def test_memory_that_is_nowhere_is_an_error(run_python):
    text = STEPS.format(bound=2**40, limit=160 * MIB, step="fused(x)")
    text += "\ntry:\n    rt.empty((2**40,))\nexcept MemoryError: print('none')"
    done = run_python(text)
    assert done.stdout.endswith("none\n"), done.stderr
