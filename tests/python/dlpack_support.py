"""DLPack's structures as ctypes, and tensors with wrong fields."""

import ctypes
from typing import ClassVar

Int64s = ctypes.POINTER(ctypes.c_int64)
DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", Int64s),
        ("strides", Int64s),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


def capsule_of(managed: Managed) -> object:
    """Return a capsule of an object that must outlive it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(managed), NAME, None)


NAME = b"dltensor_versioned"


class Liar:
    """The memory of an array with any claimed shape."""

    def __init__(self, array, shape, strides=None, *, ndim=None, bits=32):
        self.array = array  # keeps the memory
        self.place = array.__dlpack_device__()
        self.shape = (ctypes.c_int64 * max(1, len(shape or ())))(*shape or ())
        self.strides = None
        if strides is not None:
            self.strides = (ctypes.c_int64 * len(strides))(*strides)
        tensor = Tensor(
            array.ptr,
            *self.place,
            len(shape) if ndim is None else ndim,
            2,
            bits,
            1,
            None if shape is None else ctypes.cast(self.shape, Int64s),
            None if strides is None else ctypes.cast(self.strides, Int64s),
            0,
        )
        self.managed = Managed(1, 0, None, DELETER(), 0, tensor)

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **_):
        return capsule_of(self.managed)
