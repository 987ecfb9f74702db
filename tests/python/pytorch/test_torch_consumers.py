"""Every reader of a pending value sees it computed.

test_torch_composites.py has PyTorch's own operators, test_torch_attributes.py the
attributes and methods of a tensor.
"""

import copy
import ctypes
import io
import pickle

import numpy as np
import pytest
from torch_support import ELEMS, in_thread, torch

pytestmark = pytest.mark.torch


class Memory:
    """An address in the memory of a GPU, for anything that reads it."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "shape": (ELEMS,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


def read_memory(tensor, address):
    """Return what a program finds that got only the address of a tensor."""
    if tensor.is_cuda:
        return torch.as_tensor(Memory(address), device="cuda").cpu()
    raw = (ctypes.c_float * ELEMS).from_address(address)
    return torch.tensor(np.ctypeslib.as_array(raw).copy())


def save_and_load(c):
    file = io.BytesIO()
    torch.save(c, file)
    file.seek(0)
    return torch.load(file)


def share(c):
    c.share_memory_()
    return read_memory(c, c.data_ptr())


def to_numpy(tensor):
    return tensor.cpu().numpy().copy()


def place(c):
    return c.abs().sum().to(torch.int64) % 10


# Readers of one pending tensor; the first word may name the only device.
READS = {
    "item": lambda c: (c[3].item(), c.sum().item()),
    "item of a sum": lambda c: c.sum().item(),
    "float": lambda c: float(c.sum()),
    "bool": lambda c: bool(c.sum() > 0),
    "int": lambda c: int(place(c)),
    "index": lambda c: list(range(10))[place(c)],
    "tolist": torch.Tensor.tolist,
    "iteration": lambda c: [x.item() for x in c[:4]],
    "equal": lambda c: torch.equal(c, c + 0),
    "repr": repr,
    "format": lambda c: f"{c[0]:.3f}",
    "to the processor": lambda c: c.cpu().to(torch.float64),
    "its numpy": to_numpy,
    "cpu numpy": lambda c: c.numpy().copy(),
    "cpu asarray": lambda c: np.asarray(c).copy(),
    "capsule": lambda c: torch.from_dlpack(c.__dlpack__()).clone(),
    "from_dlpack": lambda c: torch.from_dlpack(c).clone(),
    "cpu np.from_dlpack": lambda c: np.from_dlpack(c).copy(),
    "save and load": save_and_load,
    "pickle": lambda c: pickle.loads(pickle.dumps(c)),
    "deepcopy": copy.deepcopy,
    "bytes": lambda c: c.untyped_storage().tolist()[:64],
    "cpu bytes": lambda c: bytes(c.untyped_storage())[:64],
    "address": lambda c: read_memory(c, c.data_ptr()),
    "address of a storage": lambda c: read_memory(
        c, c.untyped_storage().data_ptr()
    ),
    "cuda interface": lambda c: read_memory(
        c, c.__cuda_array_interface__["data"][0]
    ),
    "cpu shared memory": share,
    "operation in a thread": lambda c: in_thread((c * 3).abs),
    "numpy in a thread": lambda c: in_thread(lambda: to_numpy(c)),
    "view in a thread": lambda c: in_thread(c.view(32, 32)[3:5].exp),
}


@pytest.mark.never(
    lambda device, name: {"cpu": "cuda", "cuda": "cpu"}[device] in name.split(),
    reason="the other device has it",
)
@pytest.mark.parametrize("name", READS)
def test_readers_see_pending_values(same, name):
    same(lambda a, b: READS[name](a + b))


def test_foreign_operators_read_pending_values(same):
    with torch.library._scoped_library("gpuos_test", "DEF") as library:
        library.define("peek(Tensor x) -> Tensor")
        library.impl(
            "peek",
            lambda x: torch.tensor(to_numpy(x) * 2),
            "CompositeExplicitAutograd",
        )
        same(lambda a, b: torch.ops.gpuos_test.peek(a + b), grad=(False,))


def test_random_numbers_are_those_of_eager(same):
    def function(a, b):
        torch.manual_seed(3)
        noise = torch.randn(ELEMS, device=a.device)
        c = (a + b) * noise
        return c + torch.rand(ELEMS, device=a.device), torch.dropout(
            c, 0.5, True
        )

    same(function)
