"""The bridge, loaded once in a process."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

import torch

import gpuos
from gpuos import defaults
from gpuos.torch import building
from gpuos.torch.composites import COMPOSITE

if TYPE_CHECKING:
    from types import ModuleType

# What looks at no elements, or is made of operators that are taken: these pass
# while others are pending.
VIEWS = [
    "view",
    "alias",
    "detach",
    "as_strided",
    "expand",
    "permute",
    "transpose.int",
    "t",
    "select.int",
    "slice.Tensor",
    "squeeze",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze",
    "unbind.int",
    "split.Tensor",
    "split_with_sizes",
    "unfold",
    "diagonal",
    "view.dtype",
    "_reshape_alias",
    "_unsafe_view",
    "is_set_to",
    "sym_size.int",
    "empty_like",
    "empty.memory_format",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "zeros",
    "zeros_like",
    "new_zeros",
    "ones",
    "ones_like",
    "new_ones",
    "full",
    "full_like",
    "new_full",
]
# They read their tensors and write nothing but new memory; also those that draw
# random numbers.
READERS = [
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "addmv",
    "mv",
    "dot",
    "convolution",
    "embedding",
    "index_select",
    "gather",
    "cat",
    "stack",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "rand",
    "randn",
    "randint",
    "randint.low",
    "randperm",
]


IMPLICIT = "CompositeImplicitAutograd"

_loading = threading.Lock()


def bridge() -> ModuleType:
    """Return the extension module, built and set up if need be.

    Raises
    ------
    gpuos.BackendUnavailable, gpuos.CompileError
        As `build()`.
    """
    # Threads may come here together: the cache alone would load it for each.
    with _loading:
        found = _load()
    if isinstance(found, building.UntriedPyTorch):
        raise found
    return found


def bridge_if_tried() -> ModuleType | None:
    """Return the same, or None with a PyTorch that it does not know.

    Then schedulers defer nothing; the first one of a process warns.
    """
    try:
        return bridge()
    except building.UntriedPyTorch as error:
        _warn(f"{error}; schedulers defer nothing, PyTorch does everything")
        return None


def bridge_if_loaded() -> ModuleType | None:
    """Return the same, or None if nobody has used it yet."""
    if _load.cache_info().currsize == 0:
        return None
    found = _load()
    return None if isinstance(found, building.UntriedPyTorch) else found


@functools.cache
def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


@functools.cache
def _load() -> ModuleType | building.UntriedPyTorch:
    try:
        return _load_anew()
    except building.UntriedPyTorch as error:
        return error


def _load_anew() -> ModuleType:
    path = building.build(_tell)
    spec = importlib.util.spec_from_file_location(building.NAME, path)
    if spec is None or spec.loader is None:
        text = f"gpuos.torch: expected an extension module, got {path}"
        raise gpuos.Error(text)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.check_private_parts()
    except RuntimeError as error:
        text = f"gpuos.torch: {str(error).splitlines()[0]}"
        raise building.UntriedPyTorch(text) from None
    known = _aten(torch._C._dispatch_get_all_op_names())
    passing = set(COMPOSITE)
    watch = module.setup(
        [name for name in composite() if name in passing],
        sorted(_with_kernel(IMPLICIT) - passing),
        [name for name in VIEWS if name in known],
        sorted(
            _with_kernel(
                "CompositeExplicitAutograd",
                "CompositeExplicitAutogradNonFunctional",
            )
        ),
        [name for name in READERS if name in known],
        _bridge_of_runtime,
        _stream_handle,
        _retire,
    )
    gpuos._core._watch_arrays(watch)
    _guard_sharing(module)
    _hide_keys()
    atexit.register(_finish, module)
    os.register_at_fork(before=module.flush, after_in_child=module.after_fork)
    return module


def _retire() -> None:
    from gpuos.torch import scheduling  # noqa: PLC0415 (which imports this)

    scheduling.retire()


def _guard_sharing(module: ModuleType) -> None:
    # Another process is given the block that begins at an address, also of a
    # tensor that outlived its scheduler.
    original = torch.UntypedStorage._share_cuda_

    @functools.wraps(original)
    def share(
        storage: torch.UntypedStorage, *arguments: Any, **named: Any
    ) -> Any:
        module.leave_slab(storage)
        return original(storage, *arguments, **named)

    torch.UntypedStorage._share_cuda_ = share


def _hide_keys() -> None:
    # Operators of higher order are Python's, which finds a function for each
    # key but knows ours not. They are made of operators, which do.
    operators = torch._ops
    original = getattr(operators, "key_extractor", None)
    if original is None:
        return
    ours = [
        torch._C._parse_dispatch_key(name)
        for name in (
            "TESTING_ONLY_GenericMode",
            "TESTING_ONLY_GenericWrapper",
            "CustomRNGKeyId",
        )
    ]

    @functools.wraps(original)
    def extract(tensors: Any, mask: Any) -> Any:
        keys = original(tensors, mask)
        for key in ours:
            keys = keys.remove(key)
        return keys

    operators.key_extractor = extract


def _finish(module: ModuleType) -> None:
    """Leave nothing pending, and no thread, when the process ends."""
    module.stop_timer()
    module.flush()


def _tell(line: str) -> None:
    """Say why the first use takes so long, to a user who watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"gpuos.torch: {line}\n")


def _aten(names: list[str]) -> set[str]:
    return {
        name.removeprefix("aten::")
        for name in names
        if name.startswith("aten::")
    }


def _with_kernel(*keys: str) -> set[str]:
    # One call for all operators: to ask for each of them takes 30 ms a key.
    names_of = torch._C._dispatch_get_registrations_for_dispatch_key
    return set().union(*(_aten(names_of(key)) for key in keys))


def composite() -> list[str]:
    """Return the names of what PyTorch makes of other operators."""
    # A device's own kernel reads memory itself.
    return sorted(_with_kernel(IMPLICIT) - _with_kernel("CPU", "CUDA"))


def _bridge_of_runtime(kind: str, index: int) -> Any:
    """Return a capsule of the runtime for tensors of one device."""
    return gpuos._core._bridge(_runtime_of(kind, index))


def _runtime_of(kind: str, index: int) -> gpuos.Runtime:
    return defaults.of_device("host" if kind == "cpu" else kind, index)


def runtime(device: torch.device | str | int = "cpu") -> gpuos.Runtime:
    """Return the runtime in which a device's operations run.

    What is submitted to it is in one order with PyTorch's operators: it comes
    after what was deferred before, and a tensor that it reads or writes is
    waited for by whatever comes to it later.

    Parameters
    ----------
    device : torch.device, str or int
        As PyTorch takes it; a GPU without an index is the current one.

    Raises
    ------
    gpuos.BackendUnavailable, gpuos.CompileError
        The bridge cannot be built.
    gpuos.InvalidArgument
        For a device that is no CPU and no GPU of CUDA.
    """
    found = torch.device(device)
    if found.type not in ("cpu", "cuda"):
        text = f"runtime: expected a device cpu or cuda, got {found}"
        raise gpuos.InvalidArgument(text)
    index = found.index or 0
    if found.type == "cuda" and found.index is None:
        index = torch.cuda.current_device()
    bridge().use_device(found.type, index)
    return _runtime_of(found.type, index)


def _stream_handle(stream: int, kind: int, index: int) -> int:
    """Return the driver's handle of one of PyTorch's streams."""
    handle: int = torch.cuda.Stream(
        stream_id=stream, device_type=kind, device_index=index
    ).cuda_stream
    return handle
