"""Tensors that are made of others: nested and sparse ones, as in eager."""

from __future__ import annotations

import pytest
from torch_support import cloned, compare, outcome, torch

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

F = torch.nn.functional
ROUNDS = 5


def nested(device):
    sizes = ((3, 4), (2, 4), (5, 4))
    return torch.nested.nested_tensor(
        [torch.arange(float(n * m)).reshape(n, m) for n, m in sizes],
        device=device,
    )


def parts(result):
    """Return the comparable parts of a result."""
    if isinstance(result, (list, tuple)):
        return [parts(one) for one in result]
    if result.is_nested:
        return list(result.unbind())
    if result.layout != torch.strided:
        return result.to_dense()
    return result


OF_NESTED = {
    "a * 2 + a": lambda a: a * 2 + a,
    "gelu": lambda a: F.gelu(a * 0.5),
    "tanh": lambda a: a.tanh().abs(),
    "sum": lambda a: (a * 2).sum(-1, keepdim=True),
    "softmax": lambda a: (a * 0.1).softmax(-1),
    "layer_norm": lambda a: F.layer_norm(
        a * 2, (4,), *torch.ones(2, 4, device=a.device)
    ),
    "linear": lambda a: F.linear(a * 2, torch.ones(3, 4, device=a.device)),
    "matmul": lambda a: (a * 2) @ (a * 2).transpose(-1, -2),
    "transpose": lambda a: (a * 2).transpose(-1, -2) * 1.0,
    "unbind": lambda a: [x * 2 + 1 for x in (a * 2).unbind()],
    "padded": lambda a: torch.nested.to_padded_tensor(a * 2, 0.5) + 1,
    "dropout": lambda a: F.dropout(a * 2, 0.5, training=False) * a,
    "where": lambda a: (
        torch.nested.nested_tensor(
            [torch.where(x > 2, x, -x) for x in a.unbind()]
        )
        + a
    ),
    "select": lambda a: (a * 2)[1] + 1,
    "to": lambda a: (a * 2).double() + 1,
    "mean": lambda a: torch.stack([x.mean() for x in (a * 2).unbind()]),
}


def sparse(device):
    return torch.eye(6, device=device).mul(3.0).to_sparse()


OF_SPARSE = {
    "s + s": lambda s: (s + s) * 2.0,
    "sqrt": lambda s: (s * 2).sqrt(),
    "values": lambda s: s.coalesce().values() * 2 + 1,
    "dense": lambda s: (s * 2).to_dense() + 1.0,
    "mm": lambda s: (s * 2) @ torch.ones(6, 2, device=s.device),
    "sum": lambda s: torch.sparse.sum(s * 2, 1).to_dense(),
    "dense + s": lambda s: torch.ones(6, 6, device=s.device) * 2 + s,
    "made": lambda s: (
        torch.sparse_coo_tensor(
            s.coalesce().indices() + 0, s.coalesce().values() * 2, (6, 6)
        )
        + s
    ),
    "csr": lambda s: (s * 2).to_sparse_csr() * 2,
    "transpose": lambda s: (s * 2).t() + s,
    "mask": lambda s: (torch.ones(6, 6, device=s.device) * 2).sparse_mask(
        s.coalesce()
    ),
}


def compare_parts(make, function, device, *, grad):
    with torch.set_grad_enabled(grad):
        for _ in range(ROUNDS):
            compare(
                lambda: outcome(lambda: cloned(parts(function(make(device))))),
                takes=0,
            )


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", OF_NESTED)
def test_nested(device, name, grad):
    compare_parts(nested, OF_NESTED[name], device, grad=grad)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", OF_SPARSE)
def test_sparse(device, name, grad):
    compare_parts(sparse, OF_SPARSE[name], device, grad=grad)
