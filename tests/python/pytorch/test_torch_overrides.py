"""PyTorch's functions and methods as the overrides take or leave them."""

import ctypes
import itertools

import numpy as np
import pytest
from torch_support import (
    NEVER_MS,
    compare,
    gt,
    outcome,
    pair,
    scheduler,
    torch,
)

from gpuos.torch import scheduling

pytestmark = pytest.mark.torch

TAKEN = {
    "** -1": lambda a, _: a**-1,
    "** 1.5": lambda a, _: a.abs() ** 1.5,
    "clamp method": lambda a, _: a.clamp(-0.5, 0.5),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "where number": lambda a, _: torch.where(a > 0, a, 0.0),
    "where whole numbers": lambda a, _: torch.where(a > 0, 1, 0),
    "where of numbers": lambda a, _: torch.where(a > 0, 1.5, -2),
    "where of halves": lambda a, b: torch.where(a > b, a.half(), b.half()),
    "where half and number": lambda a, _: torch.where(a > 0, 1, a.half()),
    "where of two dtypes": lambda a, b: torch.where(a > 0, a.half(), b),
    "where broadcast": lambda a, b: torch.where(a > 0, a, b[:1]),
    "where infinite": lambda a, _: torch.where(a > 0, a, float("inf")),
    "where of both": lambda a, _: torch.where(a > 0, 1, 0.5),
    "sum keeping": lambda a, _: a.view(32, 32).sum(1, True),
    "mean by name": lambda a, _: a.view(32, 32).mean(dim=0, keepdim=True),
    "mean keeping": lambda a, _: torch.mean(a, 0, keepdim=True),
    "lt method": lambda a, _: a.lt(0.5),
    "amax of some": lambda a, _: a.view(4, 8, 32).amax((0, 2)),
    "softmax by name": lambda a, _: torch.softmax(a.view(4, 256), dim=0),
    "log_softmax": lambda a, _: torch.log_softmax(a.double(), 0),
}

# Unusual calls: PyTorch's parser must handle them.
LEFT = {
    "out": lambda a, b: torch.add(a, b, out=torch.empty_like(a)),
    "alpha": lambda a, b: torch.add(a, b, alpha=3),
    "names": lambda a, b: torch.mul(input=a, other=b),
    "number first": lambda a, _: torch.mul(2.0, a),
    "dtype": lambda a, _: torch.sum(a, dtype=torch.float64),
    "dim list": lambda a, _: torch.sum(a.view(32, 32), [0, 1]),
    "bound names": lambda a, _: torch.clamp(a, min=0.0),
    "tensor bounds": lambda a, b: torch.clamp(a, b, b + 1),
    "no bound": lambda a, _: a.clamp(None, 0.5),
    "softmax to a dtype": lambda a, _: a.softmax(0, dtype=torch.float64),
    "softmax, dtype behind": lambda a, _: a.softmax(0, torch.float64),
    "softmax of one": lambda a, _: a[0].softmax(0),
    "one argument": lambda a, _: torch.where(a > 0)[0],
    "tensor exponent": lambda a, b: torch.pow(a.abs(), b),
}


@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_calls_match_eager_and_usual_ones_are_deferred(same, name):
    same((TAKEN | LEFT)[name], takes=int(name in TAKEN))


BINARY = "add sub mul div maximum minimum lt le gt ge eq ne pow"
METHODS = """
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __pow__
    __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __and__ __or__ __xor__
    __iadd__ __isub__ __imul__ __itruediv__ add_ sub_ mul_ div_
"""
OPERANDS = (2, 2.5, True, 1j, 2**70, None, "x", [1], (1, 2), np.float32(2), 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("name", BINARY.split() + METHODS.split())
@pytest.mark.filterwarnings("ignore")
def test_any_operand_means_what_it_means_in_eager(device, name, dtype):
    owners = (
        (torch.Tensor, torch) if name in BINARY.split() else (torch.Tensor,)
    )
    for owner, operand in itertools.product(owners, OPERANDS):
        function = getattr(owner, name)
        compare(
            lambda x, f=function, y=operand: outcome(f, x, y),
            torch.arange(6, device=device).to(dtype),
            takes=0,
        )


FUNCTIONS = ["relu", "add", "lt", "sum", "pow", "clamp", "where"]


def entry(name):
    """Return the address that Python calls directly, the object's last word."""
    function = getattr(torch, name)
    size = type(function).__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
    return ctypes.c_void_p.from_address(id(function) + size).value


def test_functions_stay_the_same_objects_with_an_entry_of_ours(device):
    scheduling.retire()
    before = [getattr(torch, name) for name in FUNCTIONS]
    assert [entry(name) for name in FUNCTIONS] == [None] * len(FUNCTIONS)
    a, _ = pair(device)
    with torch.no_grad(), scheduler():
        torch.relu(a)
        assert all(entry(name) for name in FUNCTIONS)
        assert [getattr(torch, name) for name in FUNCTIONS] == before
        assert torch._C._VariableFunctions.relu is torch.relu
    scheduling.retire()
    assert [entry(name) for name in FUNCTIONS] == [None] * len(FUNCTIONS)


def test_overrides_see_the_original_functions(device):
    seen = []

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    a, b = pair(device)
    with torch.no_grad(), scheduler(takes=0):
        torch.relu(a.as_subclass(Own))
        torch.add(a.as_subclass(Own), b)
    assert seen == [torch.relu, torch.add]


def test_a_test_by_name_may_write_numbers(device):
    a, b = pair(device)
    out = torch.full_like(a, 7.0)
    with torch.no_grad():
        gt.submit_binary("logical_and", a, b, out)
        gt.submit_add(out, out, out)
    gt.flush(sync=True)
    torch.testing.assert_close(out, 2 * torch.logical_and(a, b).float())


STEPS = 100
CHAINS = 40


def test_chunks_end_between_chains(device):
    inputs = [pair(device) for _ in range(CHAINS)]
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        before = gt.stats()
        outs = []
        for a, b in inputs:
            z = a
            for _ in range(STEPS // 2):
                z = z * 0.5 + b
            outs.append(z)
        gt.flush()
        after = gt.stats()
    assert after["flushes"] - before["flushes"] > 1
    assert after["programs"] - before["programs"] <= 1
    assert after["tasks"] - before["tasks"] == CHAINS
    a, b = inputs[0]
    torch.testing.assert_close(outs[-1], a * 0.5 ** (STEPS // 2) + 2 * b)


def test_a_chain_without_end_is_cut(device):
    a, b = pair(device)
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        before = gt.stats()["flushes"]
        z = a
        for _ in range(2000):
            z = z * 0.5 + b
        assert gt.stats()["flushes"] - before >= 2
    torch.testing.assert_close(z, 2 * b)
