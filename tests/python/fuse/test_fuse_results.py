"""New results of fused functions, in memory of results that were dropped."""

import random
import sysconfig

import numpy as np
import pytest

import gpuos

# Without a GIL another thread may look at an object that would be revived.
IS_REUSED = not sysconfig.get_config_var("Py_GIL_DISABLED")


def turn(a, b, u):
    return a * u + b, b * u - a


def start(elems):
    # Integers give equal sums in any order, even if they overflow.
    return np.random.default_rng(elems).integers(
        -1000, 1000, (3, elems), dtype="int32"
    )


@pytest.mark.parametrize("elems", [0, 1, 8, 256, 16384])
def test_memory_of_dropped_results_is_used_by_turns(rt, elems):
    fused = rt.fuse(turn)
    expected, other, u = start(elems)
    a, b, c = rt.array(expected), rt.array(other), rt.array(u)
    for call in range(1000):
        if call == 100:
            before = rt.stats()["allocations"]
        a, b = fused(a, b, c)
        expected, other = turn(expected, other, u)
    assert not IS_REUSED or rt.stats()["allocations"] == before
    np.testing.assert_array_equal(a.numpy(), expected)
    np.testing.assert_array_equal(b.numpy(), other)


def test_large_results_are_given_back(rt):
    fused = rt.fuse(lambda x: x + 1)
    x = rt.zeros(1 << 20)
    before = rt.stats()["allocations"]
    for _ in range(10):
        fused(x)
    assert rt.stats()["allocations"] == before + 10


class Live:
    """Arrays with their expected values, some of them views of others."""

    def __init__(self, rt, seed):
        self.rt = rt
        self.random = random.Random(seed)
        self.add = rt.fuse(lambda x, y: x + y)
        self.both = rt.fuse(lambda x, y: (x - y, x * 2))
        self.arrays = []
        for size in (1, 40, 1000, 20_000):
            values = np.arange(size, dtype="int32")
            self.keep(rt.array(values), values)

    def keep(self, array, values):
        self.arrays.append((array, values))

    def any(self):
        return self.random.choice(self.arrays)

    def compute(self):
        array, values = self.any()
        other, more = self.random.choice(
            [(a, v) for a, v in self.arrays if v.shape == values.shape]
        )
        if self.random.random() < 0.5:
            self.keep(self.add(array, other), values + more)
            return
        first, second = self.both(array, other)
        self.keep(first, values - more)
        if self.random.random() < 0.5:
            self.keep(second, values * 2)

    def view(self):
        array, values = self.any()
        at = self.random.randrange(len(values))
        if at and self.random.random() < 0.5:
            array, values = array[:at], values[:at]
        if not array.size:
            return
        result = self.add(array, array)
        whole = result[::1]
        del result
        self.keep(whole, values + values)

    def share(self):
        array, values = self.any()
        result, expected = self.add(array, array), values + values
        if self.rt.backend == "host":
            shared = np.asarray(result)
            del result
            self.keep(self.rt.array(shared), expected)
            self.arrays.append((Shared(shared), expected))
        else:
            self.keep(result, expected)

    def drop(self):
        while len(self.arrays) > 24:
            del self.arrays[4 + self.random.randrange(len(self.arrays) - 4)]

    def check(self, array, values):
        np.testing.assert_array_equal(array.numpy(), values)


class Shared:
    """NumPy's view of an array that is gone; no operation computes with it."""

    def __init__(self, values):
        self.values = values

    def numpy(self):
        return self.values


@pytest.mark.parametrize("seed", range(6))
def test_visible_results_are_not_overwritten(rt, seed):
    live = Live(rt, seed)
    shared = []
    for _ in range(400):
        step = live.random.choice([live.compute, live.compute, live.view])
        step()
        if live.random.random() < 0.05:
            live.share()
            shared += [x for x in live.arrays if isinstance(x[0], Shared)]
            live.arrays = [
                x for x in live.arrays if not isinstance(x[0], Shared)
            ]
        if live.random.random() < 0.05:
            live.check(*live.any())
        live.drop()
    for array, values in live.arrays + shared:
        live.check(array, values)


def test_results_may_be_dropped_before_their_tasks_ran(rt, nap):
    fused = rt.fuse(turn)
    expected, other, u = start(64)
    a, b, c = rt.array(expected), rt.array(other), rt.array(u)
    done = rt.zeros(1)
    rt.submit(nap, out=done, ns=50_000_000)
    before = rt.stats()["allocations"]
    # No thread waits for the first one.
    gate = rt.fuse(lambda x, y: x + (y > 0.5))
    a = gate(a, done)
    expected = expected + 1
    for _ in range(500):
        a, b = fused(a, b, c)
        expected, other = turn(expected, other, u)
    assert not IS_REUSED or rt.stats()["allocations"] - before <= 20
    np.testing.assert_array_equal(a.numpy(), expected)


def test_dropped_results_are_freed_with_the_runtime(backend):
    rt = gpuos.Runtime(backend)
    fused = rt.fuse(lambda x: x + 1)
    kept = fused(rt.zeros(8))
    for _ in range(100):
        fused(kept)
    assert kept.numpy()[0] == 1
    rt.close()
    del rt
    del kept
