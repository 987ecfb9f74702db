"""A few of the random programs of tests/fuzz, always the same ones."""

from __future__ import annotations

import random

import arrays
import main
import programs
import pytest
import shared_memory
import small_worlds
import steps

import gpuos

COUNT = 1500  # programs, with three layouts each
ON_A_GPU = 500  # of them; scripts/gpu_check tries more for minutes
COMPILED = 3


@pytest.fixture
def exact(rt):
    """A runtime that promises the same bits."""
    if rt.backend == "host":
        yield rt
        return
    with gpuos.Runtime(rt.backend, deterministic=True) as runtime:
        yield runtime


def test_programs_are_numpys(exact):
    count = COUNT if exact.backend == "host" else ON_A_GPU
    found = main.first_finding(exact, count, seed=1)
    assert found is None, found


TWO = [f for f in steps.FUNCTIONS if f.inputs == 2]


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.name)
def test_a_function_of_a_value_and_a_number(exact, function):
    """Each dtype with each number, in both orders."""
    for dtype in steps.DTYPES:
        x = arrays.lay_out(random.Random(dtype.name), [40], dtype, "contiguous")
        for number in map(steps.Number, steps.numbers_for(dtype)):
            for operands in ((0, number), (number, 0)):
                step = steps.step_of(function, operands)
                case = programs.Case((x,), (step,), x)
                try:
                    last = programs.values_of(case)[-1]
                except programs.Invalid:
                    continue
                found = programs.finding(exact, programs.with_out(case, last))
                assert found is None, f"{found}\n\n{case.text(exact.backend)}"


def test_compiled_programs_are_numpys(exact):
    found = main.first_finding(exact, COMPILED, seed=2, is_compiled=True)
    assert found is None, found


def test_outputs_that_share_memory():
    with gpuos.Runtime("host") as rt:
        assert shared_memory.first_finding(rt, seed=1) == ""


def test_all_programs_of_a_few_sums(rt):
    assert small_worlds.first_finding(rt) == ""


def test_all_programs_of_five_sums(host):
    assert small_worlds.finding(host, 5, (2, 2)) == ""
