"""Every reader of a pending value sees it computed."""

from __future__ import annotations

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

    def __init__(self, address, elems):
        self.__cuda_array_interface__ = {
            "shape": (elems,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


def read_memory(address, device):
    """Return what a program finds that got only an address."""
    if device == "cuda":
        return torch.as_tensor(Memory(address, ELEMS), device="cuda").cpu()
    raw = (ctypes.c_float * ELEMS).from_address(address)
    return torch.tensor(np.ctypeslib.as_array(raw).copy())


def to_numpy(tensor):
    return tensor.cpu().numpy().copy()


def test_item(same):
    same(lambda a, b: (a + b).sum().item())
    same(lambda a, b: (a + b)[3].item())


def test_float_and_bool(same):
    same(lambda a, b: (float((a + b).sum()), bool((a + b).sum() > 0)))


def test_int_and_index(same):
    def function(a, b):
        place = (a + b).abs().sum().to(torch.int64) % 10
        return int(place), list(range(10))[place]

    same(function)


def test_tolist(same):
    same(lambda a, b: (a + b).tolist())


def test_numpy(same):
    same(lambda a, b: to_numpy(a + b))
    if same.device == "cpu":
        same(lambda a, b: (a + b).numpy().copy())
        same(lambda a, b: np.asarray(a + b).copy())


def test_repr(same):
    same(lambda a, b: repr(a + b))


def test_format(same):
    same(lambda a, b: f"{(a + b)[0]:.3f}")


def test_copy_to_the_processor_and_another_dtype(same):
    same(lambda a, b: (a + b).cpu().to(torch.float64))


def test_dlpack(same):
    same(lambda a, b: torch.from_dlpack((a + b).__dlpack__()).clone())
    same(lambda a, b: torch.from_dlpack(a + b).clone())
    if same.device == "cpu":
        same(lambda a, b: np.from_dlpack(a + b).copy())


def test_save_and_load(same):
    def function(a, b):
        file = io.BytesIO()
        torch.save(a + b, file)
        file.seek(0)
        return torch.load(file)

    same(function)


def test_pickle(same):
    same(lambda a, b: pickle.loads(pickle.dumps(a + b)))


def test_deepcopy(same):
    same(lambda a, b: copy.deepcopy(a + b))


def test_bytes_of_a_storage(same):
    same(lambda a, b: (a + b).untyped_storage().tolist()[:64])
    if same.device == "cpu":
        same(lambda a, b: bytes((a + b).untyped_storage())[:64])


def test_address_of_a_tensor(same):
    def function(a, b):
        c = a + b  # stays alive while its memory is read
        return read_memory(c.data_ptr(), same.device)

    same(function)


def test_address_of_a_storage(same):
    def function(a, b):
        c = a + b
        return read_memory(c.untyped_storage().data_ptr(), same.device)

    same(function)


@pytest.mark.never(
    lambda device: device == "cpu", reason="tensors of the processor have none"
)
def test_array_interface_of_a_gpu(same):
    def function(a, b):
        c = a + b
        address, _ = c.__cuda_array_interface__["data"]
        return read_memory(address, same.device)

    same(function)


@pytest.mark.never(
    lambda device: device != "cpu",
    reason="sharing between processes is for processors here",
)
def test_shared_memory(same):
    def function(a, b):
        c = a + b
        c.share_memory_()
        return read_memory(c.data_ptr(), same.device)

    same(function)


def test_operation_of_another_thread(same):
    def function(a, b):
        c = a + b
        return in_thread((c * 3).abs)

    same(function)


def test_numpy_in_another_thread(same):
    def function(a, b):
        c = a + b
        return in_thread(lambda: to_numpy(c))

    same(function)


def test_view_in_another_thread(same):
    def function(a, b):
        c = (a + b).view(32, 32)[3:5]
        return in_thread(c.exp)

    same(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.fft.rfft(x).abs(),
        lambda x: torch.cumsum(x, 0),
        torch.sort,
        lambda x: x.topk(3),
        torch.linalg.norm,
        lambda x: torch.searchsorted(x.sort().values, x[:5]),
        lambda x: torch.histc(x, 8),
        lambda x: torch.nn.functional.conv1d(
            x.view(1, 1, -1), x.view(1, 1, -1)
        ),
        lambda x: torch.nn.functional.interpolate(x.view(1, 1, -1), 10),
    ],
    ids=[
        "fft",
        "cumsum",
        "sort",
        "topk",
        "norm",
        "searchsorted",
        "histc",
        "conv1d",
        "interpolate",
    ],
)
def test_operations_that_are_not_taken(same, function):
    same(lambda a, b: function(a + b))


def test_sigmoid(same):
    same(lambda a, b: torch.sigmoid(a + b))


def test_lists_of_tensors(same):
    same(lambda a, b: torch.cat([a + b, a * b, a]))
    same(lambda a, b: torch.stack([a + b, a * b, a]))


def test_foreach(same):
    same(lambda a, b: torch._foreach_add([a + b, a], [b, a - b]))


def test_indices(same):
    def function(a, b):
        c = a + b
        places = (a * 1.0 > 0).nonzero()[:, 0]
        return c[places], c[c > 0], torch.take(c, places)

    same(function)


def test_matmul(same):
    same(lambda a, b: (a + b).view(32, 32) @ (a - b).view(32, 32))
    same(lambda a, b: torch.dot(a + b, a - b))


def test_einsum(same):
    def function(a, b):
        return torch.einsum(
            "ij,jk->ik", (a + b).view(32, 32), (a * b).view(32, 32)
        )

    same(function)


def test_item_assignment(same):
    def function(a, b):
        c = a + b
        c[3:5] = 7
        c[c > 1] = a[0] * 2
        return c

    same(function)


def test_iteration(same):
    same(lambda a, b: [x.item() for x in (a + b)[:4]])


def test_comparison(same):
    same(lambda a, b: (a + b) > (a - b))
    same(lambda a, b: torch.equal(a + b, b + a))


def test_random_numbers_are_those_of_eager(same):
    def function(a, b):
        torch.manual_seed(3)
        noise = torch.randn(ELEMS, device=a.device)
        c = (a + b) * noise
        return c + torch.rand(ELEMS, device=a.device), torch.dropout(
            c, 0.5, True
        )

    same(function)


def test_operator_of_somebody_else(same):
    with torch.library._scoped_library("gpuos_test", "DEF") as library:
        library.define("peek(Tensor x) -> Tensor")
        library.impl(
            "peek",
            lambda x: torch.tensor(to_numpy(x) * 2),
            "CompositeExplicitAutograd",
        )
        same(lambda a, b: torch.ops.gpuos_test.peek(a + b), grad=(False,))


def test_facts_about_a_tensor(same):
    def function(a, b):
        c = a + b
        return (
            c.type(),
            str(c.layout),
            str(c.device),
            str(c.dtype),
            (c.is_cpu, c.is_cuda, c.is_sparse, c.is_quantized, c.is_leaf),
            (c.element_size(), c.storage_offset(), c.is_contiguous()),
            (c.stride(), c._version, c.grad, c.requires_grad),
            (c.is_inference(), c.is_shared(), c.is_pinned(), c.nbytes),
            torch.typename(c),
        )

    same(function)
