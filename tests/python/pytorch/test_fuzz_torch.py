"""A few of the random lines of PyTorch of tests/fuzz, always the same ones."""

import pytest

pytest.importorskip("torch")

import moments
import sequences
from torch_support import taken  # which makes the bridge

pytestmark = pytest.mark.torch

COUNT = 500


def check(device, count, seed):
    before = taken()
    assert sequences.first_finding(device, count, seed) == ""
    assert taken() - before > 20 * count


def test_a_few_lines_are_as_without_a_scheduler(device):
    check(device, 20, seed=2)


def test_lines_are_as_without_a_scheduler(device):
    check(device, COUNT, seed=1)


def test_handlers_and_finalizers_compute_at_any_moment():
    assert moments.first_finding(2.0, with_torch=True) == ""
