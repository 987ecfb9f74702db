"""Operators that only read go ahead of what is pending elsewhere."""

from __future__ import annotations

import pytest
from torch_support import gt, pair, scheduler, torch

pytestmark = pytest.mark.torch

SIZE = 64


@pytest.fixture
def matrix(device):
    return torch.eye(SIZE, device=device)


def test_products_go_ahead_of_what_is_pending(device, matrix):
    a, b = pair(device)
    with torch.no_grad(), scheduler(takes=2):
        x = a + b
        product = matrix @ matrix
        y = x * 2
        assert gt.pending() == 2
        some = matrix @ x[:SIZE]  # which must be there first
        assert gt.pending() == 0
    torch.testing.assert_close(product, matrix)
    torch.testing.assert_close(some, (a + b)[:SIZE])
    torch.testing.assert_close(y, 2 * (a + b))


def test_products_stay_behind_what_writes_their_operands(device, matrix):
    a, b = pair(device)
    old, expected = a[:SIZE], (a + b)[:SIZE]
    with torch.no_grad(), scheduler():
        a += b
        product = matrix @ old
        assert gt.pending() == 0
    torch.testing.assert_close(product, expected)


def test_products_start_what_holds_much_memory(device, matrix):
    large = torch.ones(17 << 20, device=device)
    with torch.no_grad(), scheduler():
        x = large[:SIZE] + 1
        before = gt.stats()["flushes"]
        torch.mm(matrix, matrix)
        assert gt.stats()["flushes"] == before + 1
        torch.mm(matrix, matrix)
        assert gt.stats()["flushes"] == before + 1
    assert x.eq(2).all()
