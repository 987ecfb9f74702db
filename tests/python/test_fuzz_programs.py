"""A few of the random programs of tests/fuzz, always the same ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import gpuos

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))

import main

COUNT = 1500  # programs, with three layouts each
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
    found = main.first_finding(exact, COUNT, seed=1)
    assert found is None, found


def test_compiled_programs_are_numpys(exact):
    found = main.first_finding(exact, COMPILED, seed=2, is_compiled=True)
    assert found is None, found
