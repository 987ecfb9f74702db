"""Call fused functions with other libraries' arrays, and return such arrays."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.defaults import default_runtime
from gpuos.fusing import fuse

if TYPE_CHECKING:
    from collections.abc import Callable

# The base of c_int and other numbers has no public name.
_C_TYPES: Any = (ctypes.c_int.__base__, ctypes.Structure, ctypes.Union)
Bound = dict[_core.Runtime, _core.Fused]


def call(
    bound: Bound,
    function: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Run a fused function without an argument that is a gpuos.Array.

    The first array decides the library, the device and the stream. The results
    are arrays of that library. The program may read them in this stream, or at
    once on the host. `bound` has the fused function of each runtime.
    """
    library, first = _library_of(name, (*args, *keywords.values()))
    runtime = default_runtime(library.device(first))
    fused = bound.get(runtime)
    if fused is None:
        # Threads that run this together use the function of one of them.
        fused = bound.setdefault(runtime, fuse(function, runtime=runtime))
    out = keywords.pop("out", None)
    stream = keywords.pop("stream", None)
    args = tuple(library.operand(name, x) for x in args)
    keywords = {key: library.operand(name, x) for key, x in keywords.items()}
    if stream is None:
        stream = library.stream(first)
    made, rebuild = out, None
    if out is None:
        forms, rebuild = fused._forms(*args, **keywords)
        made = tuple(library.empty(first, *form) for form in forms)
    fused(*args, **keywords, out=made, stream=stream)
    if stream is not None:
        runtime.flush(stream)  # that stream then waits for it
    if out is not None:
        return out
    return made[0] if rebuild is None else rebuild(made)


# ---- The bindings call these.


def _field(interface: Any, name: str, where: str) -> Any:
    if not isinstance(interface, dict):
        kind = type(interface)
        raise _core.InvalidArgument(
            f"{where}: expected an array interface that is a dict, got "
            f"{kind.__module__}.{kind.__qualname__}"
        )
    found = interface.get(name)
    if found is None:
        raise _core.InvalidArgument(
            f"{where}: expected an array interface with '{name}', got one "
            "without"
        )
    return found


def _data(interface: Any, where: str) -> tuple[Any, Any]:
    """Return the address, and whether the memory is read-only."""
    data = _core._items(_field(interface, "data", where), "data")
    if len(data) != 2:
        raise _core.InvalidArgument(
            f"{where}: expected an address and whether it is read-only as "
            f"'data', got {len(data)} items"
        )
    return data[0], data[1]


def cuda_interface(x: Any, where: str) -> tuple[Any, ...]:
    """Return the dtype, shape, strides, address and read-only flag."""
    interface = x.__cuda_array_interface__
    dtype = _field(interface, "typestr", where)
    shape = _core._items(_field(interface, "shape", where), "shape")
    strides = interface.get("strides")
    if strides is not None:
        strides = _core._items(strides, "strides")
        if len(strides) != len(shape):
            raise _core.InvalidArgument(
                f"{where}: expected a stride for each axis, got {len(strides)}"
            )
    if interface.get("mask") is not None:
        raise _core.InvalidArgument(
            f"{where}: expected an array without a mask, got one with a mask"
        )
    return dtype, shape, strides, *_data(interface, where)


def kernel_value(x: Any, index: int) -> tuple[bytes, str] | Any:
    """Return the bytes and the type of an argument of a kernel, or an address.

    Return None for an array with DLPack. An array of NumPy with one plain
    number may be meant as an address, but one structure is a value.
    """
    is_structure = (
        isinstance(x, np.ndarray)
        and x.size == 1
        and x.ndim <= 1
        and x.dtype.names is not None
    )
    if is_structure or isinstance(x, np.generic):
        # Dates, texts and objects are no values of a kernel.
        if x.dtype.kind not in "biufcV":
            raise _core.InvalidArgument(
                f"argument {index}: expected a number or a structure of NumPy, "
                f"got {x.dtype}"
            )
        kind = "struct" if isinstance(x, np.void) else str(x.dtype)
        return x.tobytes(), kind
    if isinstance(x, complex):
        return np.complex128(x).tobytes(), "complex128"
    if isinstance(x, _C_TYPES):
        return bytes(x), "ctypes"
    if hasattr(x, "__cuda_array_interface__"):
        interface = x.__cuda_array_interface__
        return _data(interface, f"launch: input {index}")[0]
    return None


def _library_of(name: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    for argument in arguments:
        for kind in type(argument).__mro__:  # covers subclasses
            library = _LIBRARIES.get(kind.__module__.partition(".")[0])
            if library is not None and library.is_array(argument):
                return library, argument
    raise _core.InvalidArgument(
        f"{name}: expected an array of gpuos, NumPy, CuPy or PyTorch among the "
        "arguments, which says where the program runs, got none; name a "
        "runtime with runtime="
    )


class _NumPy:
    @staticmethod
    def is_array(x: Any) -> bool:
        return isinstance(x, sys.modules["numpy"].ndarray)

    @staticmethod
    def device(_: Any) -> str:
        return "host"

    @staticmethod
    def operand(_name: str, x: Any) -> Any:
        return x

    @staticmethod
    def stream(_: Any) -> None:
        """Return None, because the host has no streams."""

    @staticmethod
    def empty(_: Any, shape: tuple[int, ...], dtype: str) -> Any:
        numpy = sys.modules["numpy"]
        if dtype not in numpy.sctypeDict:
            import ml_dtypes  # noqa: PLC0415 (for few dtypes)

            dtype = getattr(ml_dtypes, dtype)
        return numpy.empty(shape, dtype)


class _CuPy(_NumPy):
    @staticmethod
    def is_array(x: Any) -> bool:
        return isinstance(x, sys.modules["cupy"].ndarray)

    @staticmethod
    def device(x: Any) -> str:
        return f"cuda:{x.device.id}"

    @staticmethod
    def stream(x: Any) -> Any:
        return sys.modules["cupy"].cuda.get_current_stream(x.device.id)

    @staticmethod
    def empty(x: Any, shape: tuple[int, ...], dtype: str) -> Any:
        with x.device:
            return sys.modules["cupy"].empty(shape, dtype)


class _PyTorch(_NumPy):
    @staticmethod
    def is_array(x: Any) -> bool:
        return isinstance(x, sys.modules["torch"].Tensor)

    @staticmethod
    def device(x: Any) -> str:
        return "host" if x.device.type == "cpu" else str(x.device)

    @staticmethod
    def operand(name: str, x: Any) -> Any:
        torch = sys.modules["torch"]
        if not (isinstance(x, torch.Tensor) and x.requires_grad):
            return x
        if torch.is_grad_enabled():
            raise _core.InvalidArgument(
                f"{name}: expected tensors without gradients, got one that "
                "requires them; a fused function does not have them; call it in "
                "torch.no_grad(), or with x.detach()"
            )
        return x.detach()

    @staticmethod
    def stream(x: Any) -> Any:
        if x.device.type == "cpu":
            return None
        return sys.modules["torch"].cuda.current_stream(x.device)

    @staticmethod
    def empty(x: Any, shape: tuple[int, ...], dtype: str) -> Any:
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=x.device)


_LIBRARIES = {"numpy": _NumPy, "cupy": _CuPy, "torch": _PyTorch}
