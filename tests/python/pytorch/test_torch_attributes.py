"""Attributes of a tensor with a pending value are those of eager."""

import inspect
import operator

import pytest
from torch_support import (
    ELEMS,
    assert_same,
    cloned,
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


F = torch.nn.functional
ROUNDS = 5


def nested(device):
    sizes = ((3, 4), (2, 4), (5, 4))
    return torch.nested.nested_tensor(
        [torch.arange(float(n * m)).reshape(n, m) for n, m in sizes],
        device=device,
    )


def parts(result):
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
