"""Call fused functions with other libraries' arrays, and return such arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpuos import _core
from gpuos.defaults import default_runtime
from gpuos.fusing import fuse

if TYPE_CHECKING:
    from collections.abc import Callable

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
