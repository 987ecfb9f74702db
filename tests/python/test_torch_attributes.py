"""Attributes of a tensor with a pending value are those of eager."""

from __future__ import annotations

import inspect
import operator

import pytest
from torch_support import (
    ELEMS,
    assert_same,
    compare,
    outcome,
    scheduler,
    torch,
)

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

# They are of this very tensor, or give names that hold none.
OF_THE_OBJECT = {
    "_cdata",
    "__weakref__",
    "__class__",
    "__cuda_array_interface__",  # has its address
}


def plain(device):
    return torch.arange(float(ELEMS), device=device) / ELEMS


def properties():
    return [
        name
        for name in dir(torch.Tensor)
        if inspect.isgetsetdescriptor(
            inspect.getattr_static(torch.Tensor, name)
        )
        or isinstance(inspect.getattr_static(torch.Tensor, name), property)
        if name not in OF_THE_OBJECT
    ]


@pytest.mark.parametrize("name", properties())
def test_properties(device, name):
    compare(lambda: outcome(getattr, plain(device) + 1.0, name))


# Methods without arguments that do not only query: they change the tensor, or
# their results always differ.
CHANGES = """
    bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_
    random_ uniform_ data_ptr const_data_ptr storage untyped_storage
    _typed_storage multinomial cuda cpu_ share_memory_ pin_memory is_shared_
    refine_names rename backward register_hook retain_grad type_as numpy
    to_mkldnn to_sparse to_sparse_coo xpu ipu mtia hpu _is_view exponential
    rrelu
"""


def methods():
    return [
        name
        for name in dir(torch.Tensor)
        if callable(inspect.getattr_static(torch.Tensor, name))
        and not isinstance(inspect.getattr_static(torch.Tensor, name), type)
        and name not in CHANGES.split()
        and not name.startswith("__")
    ]


@pytest.mark.never(
    lambda device, name: (
        device != "cpu" and name in ("record_stream", "is_pinned")
    ),
    reason="of the stream",
)
@pytest.mark.parametrize("name", methods())
def test_methods(device, name):
    call = operator.methodcaller(name)
    compare(lambda: outcome(call, plain(device) + 1.0), takes=0)


def test_new_tensors_of_the_same_kind(device):
    x = plain(device)
    with scheduler(takes=6):
        for made in (
            (x + 1).new([1.0, 2.0]),
            (x + 1).new(2).fill_(1.0),
            (x + 1).new(torch.Size([2, 3])).zero_(),
            (x + 1).new_tensor([1.0, 2.0]),
            (x + 1).new_tensor([1, 2], dtype=torch.int64),
            (x + 1).view(-1, 2).new([1.0]),
        ):
            assert made.device.type == device
            assert made.dtype in (torch.float32, torch.int64)


TYPES = ("Float", "Double", "Half", "Long", "Int", "Bool", "Byte", "BFloat16")


@pytest.mark.parametrize("name", TYPES)
def test_instances_of_types(device, name):
    owner = torch if device == "cpu" else torch.cuda
    kind = getattr(owner, f"{name}Tensor")
    other = torch.cuda.FloatTensor if device == "cpu" else torch.FloatTensor
    x = plain(device)
    with scheduler(takes=2):
        for tensor in (x + 1.0, (x + 1.0).double(), (x > 1), x[2:] * 2.0):
            assert isinstance(tensor, kind) == (tensor.dtype == kind.dtype)
            assert not isinstance(tensor, other)
            assert not isinstance(None, kind)
            assert (
                tensor.type()
                == f"{owner.__name__}." + (tensor.type().rsplit(".", 1)[1])
            )


@pytest.mark.never(lambda device: device != "cpu", reason="of the CPU's types")
def test_constructors_of_types(device):
    x = plain(device)
    with scheduler(takes=1):
        assert_same(torch.FloatTensor(x + 1.0), x + 1.0)
