"""Random DLPack producers, correct and wrong ones, given to a runtime.

Each describes memory in the middle of a buffer. A correct one must give NumPy's
result for the same layout, and a wrong one must be refused. The deleter must be
called once in both cases.
"""

import ctypes
import gc
import random
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

import gpuos

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from dlpack_support import DELETER, Int64s, Managed, Tensor

BYTES = 32768  # of the buffer: no layout of a right case reaches its ends
CPU, HOST_CUDA = 1, 3
# Code and bits of each dtype that NumPy has too.
DTYPES = {
    (0, 8): "int8",
    (0, 16): "int16",
    (0, 32): "int32",
    (0, 64): "int64",
    (1, 8): "uint8",
    (1, 32): "uint32",
    (2, 16): "float16",
    (2, 32): "float32",
    (2, 64): "float64",
    (5, 64): "complex64",
    (5, 128): "complex128",
    (6, 8): "bool",
}
ALLOWED = (
    gpuos.Error,
    gpuos.InvalidArgument,
    TypeError,
    ValueError,
    BufferError,
    MemoryError,
    OverflowError,
)
NAMES = (
    *("dltensor_versioned", "dltensor", "used_dltensor_versioned"),
    *("used_dltensor", "dlpack", "", "dltensor_versioned_"),
)
HUGE = (-1, -(2**63), 2**31, 2**32 + 1, 2**61 + 1, 2**62, 2**63 - 1)


class Unversioned(ctypes.Structure):
    """DLManagedTensor of before version 1."""

    _fields_ = (
        ("tensor", Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
    )


@dataclass(frozen=True)
class Case:
    """The fields of a producer; `wrong` is why it is invalid, or empty."""

    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int  # bytes from the buffer's middle to the first element
    byte_offset: int = 0
    lanes: int = 1
    ndim: int | None = None
    device: tuple[int, int] = (CPU, 0)
    told: tuple[int, int] = (CPU, 0)  # the result of __dlpack_device__
    name: str = "dltensor_versioned"
    version: tuple[int, int] = (1, 0)
    flags: int = 0
    has_shape: bool = True
    has_data: bool = True
    has_deleter: bool = True
    gives: str = "capsule"  # or another result of __dlpack__
    wrong: str = field(default="", compare=False)

    @property
    def dtype(self) -> str | None:
        return DTYPES.get((self.code, self.bits))


def draw_right(dice: random.Random) -> Case:
    """Draw a correct producer."""
    code, bits = dice.choice(list(DTYPES))
    item = bits // 8
    shape = tuple(
        dice.choice([0, 1, 2, 3, 5]) for _ in range(dice.randrange(5))
    )
    strides = None
    if dice.random() < 0.6:
        strides = tuple(dice.choice([-3, -1, 0, 1, 2, 4]) for _ in shape)
    if 0 in shape or dice.random() < 0.2:
        # Along axes of one element, or of none, strides say nothing.
        strides = strides and tuple(
            dice.choice(HUGE) if n == 1 else s
            for n, s in zip(shape, strides, strict=True)
        )
    return Case(
        code,
        bits,
        shape,
        strides,
        offset=item * dice.randrange(-20, 20),
        byte_offset=item * dice.choice([0, 0, 1, 7]),
        device=dice.choice([(CPU, 0), (HOST_CUDA, 0)]),
        name=dice.choice(NAMES[:2]),
        version=(1, dice.choice([0, 1, 3, 99])),
        flags=dice.choice([0, 0, 1, 2, 4, 2**40]),
        has_deleter=dice.random() < 0.8,
    )


def spoil(dice: random.Random, case: Case) -> Case:
    """One thing that no consumer may take."""
    changes = dict(case.__dict__)
    axis = dice.randrange(len(case.shape)) if case.shape else None
    kinds = ["dtype", "lanes", "ndim", "told", "name", "gives", "device"]
    if case.name == "dltensor_versioned":
        kinds.append("version")
    if axis is not None:
        kinds += ["size", "no shape"]
        if 0 not in case.shape:
            kinds += ["no data", "unaligned"]
    kind = dice.choice(kinds)
    if kind == "dtype":
        known = set(DTYPES) | {(0, 8), (1, 16), (1, 64), (4, 16)}
        pair = dice.randrange(256), dice.choice([0, 1, 7, 12, 24, 48, 96, 255])
        changes |= {"code": pair[0], "bits": pair[1]}
        assert pair not in known
    elif kind == "lanes":
        changes["lanes"] = dice.choice([0, 2, 4, 65535])
    elif kind == "ndim":
        changes["ndim"] = dice.choice([-1, -(2**31), 9, 33, 2**31 - 1])
    elif kind == "told":
        changes["told"] = dice.choice([(2, 0), (13, 0), (99, 0), (-1, 0)])
    elif kind == "device":
        changes["device"] = dice.choice([(2, 0), (13, 0), (99, 0), (0, 0)])
    elif kind == "name":
        changes["name"] = dice.choice(NAMES[2:])
    elif kind == "gives":
        changes["gives"] = dice.choice(["None", "0", "'dltensor'", "object()"])
    elif kind == "version":
        changes["version"] = (dice.choice([0, 2, 2**32 - 1]), 0)
    elif kind == "size":
        shape = list(case.shape)
        shape[axis] = dice.choice(HUGE[:2])
        changes["shape"] = tuple(shape)
    elif kind == "no shape":
        changes["has_shape"] = False
    elif kind == "no data":
        changes |= {"has_data": False, "byte_offset": 0}
    elif kind == "unaligned":
        if case.bits == 8:
            return case
        changes["offset"] = case.offset + 1
    return Case(**changes | {"wrong": kind})


def draw(dice: random.Random) -> Case:
    case = draw_right(dice)
    return spoil(dice, case) if dice.random() < 0.5 else case


def text(case: Case) -> str:
    return f"{case}"


DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = _api.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


class Producer:
    """Exports one buffer as a case describes, and counts its releases."""

    def __init__(self, case: Case, memory: np.ndarray) -> None:
        self.case = case
        self.given = self.deleted = 0
        axes = len(case.shape)
        self.shape = (ctypes.c_int64 * max(1, axes))(*case.shape)
        self.strides = (ctypes.c_int64 * max(1, axes))(*case.strides or ())
        address = memory.ctypes.data + BYTES // 2 + case.offset
        tensor = Tensor(
            address - case.byte_offset if case.has_data else None,
            *case.device,
            axes if case.ndim is None else case.ndim,
            case.code,
            case.bits,
            case.lanes,
            ctypes.cast(self.shape, Int64s) if case.has_shape else None,
            None if case.strides is None else ctypes.cast(self.strides, Int64s),
            case.byte_offset,
        )
        # They must be alive for as long as the capsule may be.
        self.deleter = DELETER(self._delete)
        self.destructor = DESTRUCTOR(self._destroy)
        deleter = self.deleter if case.has_deleter else DELETER()
        if "versioned" in case.name:
            self.managed = Managed(
                *case.version, None, deleter, case.flags, tensor
            )
        else:
            self.managed = Unversioned(tensor, None, deleter)
        self.name = case.name.encode()

    def _delete(self, _: int) -> None:
        self.deleted += 1

    # Follow the standard: call the deleter, unless the capsule was consumed.
    def _destroy(self, capsule: int) -> None:
        if _is_valid(capsule, self.name):
            self._delete(0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.case.told

    def __dlpack__(self, **_: object) -> object:
        if self.case.gives != "capsule":
            return eval(self.case.gives)
        self.given += 1
        return _new(
            ctypes.addressof(self.managed),
            self.name,
            ctypes.cast(self.destructor, ctypes.c_void_p),
        )


def wanted(case: Case, memory: np.ndarray) -> np.ndarray:
    """Return NumPy's result for the same layout."""
    strides = case.strides
    if strides is not None:
        item = case.bits // 8
        strides = tuple(
            0 if n <= 1 else s * item
            for n, s in zip(case.shape, strides, strict=True)
        )
    return np.ndarray(
        case.shape,
        case.dtype,
        memory.data,
        BYTES // 2 + case.offset,
        strides,
    )


@cache
def runtime() -> gpuos.Runtime:
    return gpuos.Runtime("host", workers=1, compile_programs_after=0)


@cache
def same() -> gpuos.Fused:
    """A function that reads every element."""
    return runtime().fuse(lambda x: x * 1)


def ask(producer: Producer, out: list[np.ndarray]) -> BaseException | None:
    """Read the elements; the error if they are refused."""
    try:
        result = same()(producer)
        out.append(result.numpy())
    except Exception as error:  # noqa: BLE001
        return error.with_traceback(None)
    return None


def finding(case: Case) -> str:
    """Return the finding, or an empty text."""
    dice = np.random.default_rng(1)
    memory = dice.integers(0, 2, BYTES).astype(np.uint8)
    before = memory.tobytes()
    producer = Producer(case, memory)
    got: list[np.ndarray] = []
    error = ask(producer, got)
    runtime().synchronize()
    if error is not None and not isinstance(error, ALLOWED):
        return f"{type(error).__name__}: {error}"
    del error
    gc.collect(0)
    if producer.deleted != producer.given:
        return f"{producer.given} given, {producer.deleted} given back"
    if memory.tobytes() != before:
        return "memory of the producer was written"
    if case.wrong:
        return f"{case.wrong} was taken" if got else ""
    if not got:
        return "a right one was refused"
    expected = wanted(case, memory) * 1
    if got[0].dtype != expected.dtype or got[0].shape != expected.shape:
        return f"expected {expected!r}, got {got[0]!r}"
    if got[0].tobytes() != expected.tobytes():
        return f"expected {expected!r}, got {got[0]!r}"
    return ""
