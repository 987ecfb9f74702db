"""The host computes the same numbers in every run of a program.

Runs differ in workers, in when they wait, in when the compiler is done and in
what else is under way. GPUOS_TEST_RUNS=100 makes a hundred of each.
"""

import os
import random
import stat
import time

import numpy as np
import pytest

import gpuos
from gpuos import functions as F

RUNS = int(os.environ.get("GPUOS_TEST_RUNS", "3"))


def normalized(x):
    x = x + 0.01 * (F.softmax(x, axis=1) - x.mean(axis=1, keepdims=True))
    return x * F.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def columns(x):
    low = x - x.mean(axis=0)
    return low / (x.std(axis=0) + 1e-3), x.sum(axis=0), (x * x).sum()


def layer(x, w):
    return np.tanh((x[:, None] * w[None]).sum(axis=-1))


def gradient(x, y, w):
    slope = (1 - y * y) * (y - 0.5)
    return w - 0.01 * (slope[:, :, None] * x[:, None]).sum(axis=0)


def moments(x):
    return x.mean(axis=-1), x.var(axis=-1), np.linalg.norm(x, axis=-1)


def shifted(x):
    return x - F.logsumexp(x, axis=-1, keepdims=True)


def products(x):
    return (1 + x / 64).prod(axis=0), (1 + x / 64).prod(axis=-1), x.sum()


def greedy(x):
    return np.where(x == x.max(axis=-1, keepdims=True), x * 0.5, x)


def many(x, y):
    return (x * y).sum(axis=1), x.max(axis=1), y.min(axis=1), (x + y).sum(1)


class Program:
    """Steps of fused functions, which notes every result and its operator."""

    def __init__(self, rt: gpuos.Runtime, mood: random.Random):
        self.rt = rt
        self.mood = mood
        self.fused = {}
        self.noted: list[tuple[str, gpuos.Array]] = []

    def __call__(self, function, *arrays):
        fused = self.fused.setdefault(function, self.rt.fuse(function))
        if self.mood.random() < 0.01:
            fused.compile(*arrays)
        results = fused(*arrays)
        several = results if isinstance(results, tuple) else (results,)
        self.noted += [(function.__name__, result) for result in several]
        if self.mood.random() < 0.1:
            self.rt.synchronize()
        if self.mood.random() < 0.05:
            time.sleep(self.mood.random() / 100)
        return results


def start(shape, dtype, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * np.random.default_rng(seed + 1).standard_normal(shape)
    return x.astype(dtype)


def loop_of(function, shape, dtype, steps=15):
    def run(program):
        x = program.rt.array(start(shape, dtype))
        for _ in range(steps):
            results = program(function, x)
            x = results[0] if isinstance(results, tuple) else results

    return run


def once_each(function, shapes, dtype):
    def run(program):
        for seed, shape in enumerate(shapes):
            x = program.rt.array(start(shape, dtype, seed))
            program(function, x)
            program(function, x.T)

    return run


def training(program):
    x = program.rt.array(start((24, 40), "float32"))
    w = program.rt.array(start((33, 40), "float32", 1))
    for _ in range(20):
        w = program(gradient, x, program(layer, x, w), w)


def beside(program):
    x = program.rt.array(start((40, 700), "float32"))
    y = program.rt.array(start((700, 40), "float32", 1)).T
    for _ in range(10):
        program(many, x, y)
        y = program(normalized, y)


SHAPES = [(3, 17), (40, 300), (2, 30_000), (700, 5)]
PROGRAMS = {
    "softmax": loop_of(normalized, (32, 1000), "float32"),
    "columns": loop_of(columns, (300, 70), "float32"),
    "doubles": once_each(moments, SHAPES, "float64"),
    "halves": loop_of(normalized, (40, 200), "float16"),
    "half columns": loop_of(columns, (300, 33), "float16"),
    "complex": once_each(products, SHAPES, "complex64"),
    "complex doubles": once_each(products, SHAPES, "complex128"),
    "products": once_each(products, SHAPES, "float32"),
    "logsumexp": loop_of(shifted, (17, 515), "float32"),
    "greedy": loop_of(greedy, (30, 100), "float32"),
    "training": training,
    "beside": beside,
}


@pytest.fixture
def slow_compiler(tmp_path, monkeypatch):
    """A compiler that takes some time more, another one in each call."""
    script = tmp_path / "slow_cxx"
    compiler = os.environ.get("CXX", "c++")
    script.write_text(
        f'#!/usr/bin/env bash\nsleep 0.$((RANDOM % 10))\nexec {compiler} "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("GPUOS_CACHE_DIR", "off")


def run_of(name: str, number: int) -> list[tuple[str, bytes]]:
    mood = random.Random(number)
    with gpuos.Runtime(
        backend="host",
        workers=(1, 2, 4)[number % 3],
        compile_programs_after=mood.choice((0, 2, 7, 20)),
    ) as rt:
        program = Program(rt, mood)
        PROGRAMS[name](program)
        return [
            (name, array.numpy().tobytes()) for name, array in program.noted
        ]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("slow_compiler")
def test_runs_differ_in_nothing(name):
    first = run_of(name, 0)
    for number in range(1, RUNS):
        other = run_of(name, number)
        assert len(other) == len(first)
        for step, (a, b) in enumerate(zip(first, other, strict=True)):
            assert a == b, f"run {number}: result {step}, of {a[0]}, differs"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_sum_that_is_returned_is_the_sum_that_is_used(dtype):
    column = start((50, 1), dtype)
    x = np.broadcast_to(column, (50, 30))
    with gpuos.Runtime(backend="host") as rt:
        for axis in (0, 1):
            both = rt.fuse(
                lambda x, axis=axis: (
                    x.sum(axis),
                    x * 0 + x.sum(axis, keepdims=True),
                )
            )
            returned, used = both(x)
            spread = np.expand_dims(returned.numpy(), axis)
            assert np.array_equal(
                np.broadcast_to(spread, x.shape), used.numpy()
            )


def test_memory_layout_changes_no_bit():
    x = start((40, 30, 50), "float32")
    with gpuos.Runtime(backend="host") as rt:
        for axes in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            f = rt.fuse(
                lambda x, axes=axes: (
                    x.sum(axes),
                    (x * x).mean(axes),
                    x.std(axes),
                )
            )
            first = [a.numpy().tobytes() for a in f(x)]
            for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
                other = np.ascontiguousarray(x.transpose(order))
                same = other.transpose(np.argsort(order))
                assert [a.numpy().tobytes() for a in f(same)] == first
