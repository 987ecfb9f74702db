"""Types with DLPack's C exchange API, made of ctypes."""

import ctypes
from typing import ClassVar

import numpy as np
import pytest
from dlpack_support import DELETER, Managed, Tensor

import gpuos

KEPT = []  # objects that types made here refer to


TO_MANAGED = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Managed))
)
TO_TENSOR = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor)
)


class Api(ctypes.Structure):
    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("to_managed", TO_MANAGED),
        ("to_object", ctypes.c_void_p),
        ("to_tensor", TO_TENSOR),
        ("current_stream", ctypes.c_void_p),
    ]


def describe(producer, tensor):
    array = producer.array
    producer.calls.append("tensor")
    producer.shape = array.ctypes.shape_as(ctypes.c_int64)  # pointed at below
    tensor[0] = Tensor(
        array.ctypes.data - producer.byte_offset,
        *producer.device,
        array.ndim,
        2,
        8 * array.itemsize,
        1,
        producer.shape,
        None,
        producer.byte_offset,
    )
    return producer.status


def describe_managed(producer, out):
    deleter = DELETER(lambda _: producer.calls.append("deleted"))
    KEPT.append(deleter)
    managed = Managed(1, 3, None, deleter, producer.flags)
    describe(producer, ctypes.pointer(managed.tensor))
    producer.calls[-1] = "managed"
    producer.managed = managed
    out[0] = ctypes.pointer(managed)
    return producer.status


class Producer:
    """Its Python protocol refuses, so that its C functions must have served."""

    def __init__(self, array, *, flags=0, status=0, device=(1, 0), offset=0):
        self.array = array
        self.flags = flags
        self.status = status
        self.device = device
        self.byte_offset = offset
        self.calls = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        message = "asked in Python"
        raise BufferError(message)


def make_type(*, major=1, has_tensor=True, bases=(Producer,)):
    to_tensor = TO_TENSOR(describe) if has_tensor else TO_TENSOR()
    api = Api(1, 3, None, None, TO_MANAGED(describe_managed), None, to_tensor)
    newest = api
    if major != 1:
        newest = Api(major, 0, ctypes.addressof(api))
    name = b"dlpack_exchange_api"
    KEPT.extend([api, newest, name])
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(newest), name, None)
    return type("Exchanged", bases, {"__dlpack_c_exchange_api__": capsule})


@pytest.fixture
def ones():
    return np.ones(3, "f4")


@pytest.mark.parametrize("major", [1, 2])
@pytest.mark.parametrize("has_tensor", [True, False])
def test_c_functions_are_used(host, ones, major, has_tensor):
    kind = make_type(major=major, has_tensor=has_tensor)
    x, out = kind(ones), kind(np.zeros(3, "f4"), offset=8)
    host.wait(host.submit("add", x, x, out=out))
    assert out.array.tolist() == [2, 2, 2]
    assert out.calls == ["managed", "deleted"]
    assert x.calls == (["tensor"] if has_tensor else out.calls) * 2


def test_subclasses_inherit_the_functions(host, ones):
    kind = type("Child", (make_type(),), {})
    x = kind(ones)
    host.wait(host.submit("add", x, x, out=x))
    assert ones.tolist() == [2, 2, 2]


def test_a_class_with_its_own_dlpack_is_asked_in_python(host, ones):
    own = {"__dlpack__": lambda self, **_: self.array.__dlpack__()}
    x = type("Child", (make_type(),), own)(ones)
    host.wait(host.submit("add", x, x, out=ones))
    assert x.calls == []
    assert ones.tolist() == [2, 2, 2]


def test_a_read_only_output_is_refused(host, ones):
    out = make_type()(np.zeros(3, "f4"), flags=1)
    with pytest.raises(gpuos.InvalidArgument, match="read-only"):
        host.submit("add", ones, ones, out=out)
    assert out.calls == ["managed", "deleted"]


@pytest.mark.parametrize("status", [-1, 1])
def test_refused_exchanges_are_asked_in_python(host, ones, status):
    x = make_type()(ones, status=status)
    with pytest.raises(gpuos.InvalidArgument, match=r"input 0.*Exchanged: ask"):
        host.submit("copy", x, out=ones)


def test_memory_of_a_device_is_refused_on_the_host(host, ones):
    x = make_type()(ones, device=(2, 0))
    with pytest.raises(gpuos.InvalidArgument, match="got device memory"):
        host.submit("copy", x, out=ones)


def test_gradients_are_asked_for(host, ones):
    kind = make_type()
    kind.requires_grad = property(lambda self: self.needs)
    x = kind(ones)
    x.needs = False
    host.wait(host.submit("copy", x, out=ones))
    x.needs = True
    with pytest.raises(gpuos.InvalidArgument, match="asked in Python"):
        host.submit("copy", x, out=ones)


@pytest.mark.parametrize("value", [None, 7, "capsule"])
def test_invalid_capsules_are_ignored(host, ones, value):
    kind = type("Odd", (Producer,), {"__dlpack_c_exchange_api__": value})
    with pytest.raises(gpuos.InvalidArgument, match="asked in Python"):
        host.submit("copy", kind(ones), out=ones)


def test_producer_types_may_be_short_lived(host, ones):
    for _ in range(300):
        x = make_type()(ones)
        host.wait(host.submit("copy", x, out=ones))
        with pytest.raises(gpuos.InvalidArgument, match="asked in Python"):
            host.submit("copy", type("P", (Producer,), {})(ones), out=ones)
    assert ones.tolist() == [1, 1, 1]
