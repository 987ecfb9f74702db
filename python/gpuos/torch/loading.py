"""The bridge, loaded once in a process."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import struct
from typing import TYPE_CHECKING, Any

import torch

import gpuos
from gpuos import choosing, defaults
from gpuos.torch.composites import passes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

# These look at no elements, or consist of operators that are deferred. They
# pass while others are pending.
_VIEWS = """
    view alias detach as_strided expand permute transpose.int t select.int
    slice.Tensor squeeze squeeze.dim squeeze.dims unsqueeze unbind.int
    split.Tensor split_with_sizes unfold diagonal view.dtype _reshape_alias
    _unsafe_view is_set_to sym_size.int empty_like empty.memory_format
    empty_strided new_empty new_empty_strided zeros zeros_like new_zeros ones
    ones_like new_ones full full_like new_full
"""

NAME = "_bridge"  # as its C++ has it
IMPLICIT = "CompositeImplicitAutograd"


class NotLoaded(gpuos.BackendUnavailable):
    """Reports that this machine lacks something that the bridge needs."""


class Damaged(NotLoaded):
    """Reports a file that is truncated or no library."""


def _check_whole(path: Path) -> None:
    # Reading past the end of a mapped library kills the process. Linkers write
    # the table of sections last.
    header = struct.Struct("<4s36xQ10x2H")  # ELF's magic, table, entry, entries
    with path.open("rb") as file:
        begin = file.read(header.size)
        size = os.fstat(file.fileno()).st_size
    expected = 0
    if len(begin) == header.size:
        magic, table, entry, entries = header.unpack(begin)
        expected = table + entry * entries if magic == b"\x7fELF" else 0
    if not 0 < expected <= size:
        text = (
            f"gpuos.torch: expected to load {path}: it is damaged, "
            f"{size} bytes of {expected or 'no library'}"
        )
        raise Damaged(text)


def load(
    path: Path, retire: Callable[[], None], join: Callable[[], None]
) -> ModuleType:
    """Return the extension module in `path`, set up; once in a process.

    Parameters
    ----------
    retire, join : callable
        Overrides of PyTorch's methods call `retire` after long disuse, and
        `join` in a thread whose schedulers wait for the bridge.

    Raises
    ------
    choosing.UntriedPyTorch
        PyTorch's internal layout differs.
    NotLoaded
        The dynamic loader refused, or the bridge is for another gpuos.
    Damaged
        The file is truncated.
    """
    _check_whole(path)
    try:
        spec = importlib.util.spec_from_file_location(NAME, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        text = f"gpuos.torch: expected to load {path}: {error}"
        raise NotLoaded(text) from None
    # The name has a digest of gpuos's headers. Another bridge would call the
    # library with objects of another layout.
    built_for = getattr(module, "name", "another gpuos")
    if built_for != choosing.name():
        text = (
            f"gpuos.torch: expected {path} to be {choosing.name()}, got "
            f"{built_for}; remove the file"
        )
        raise NotLoaded(text)
    try:
        module.check_private_parts()
    except RuntimeError as error:
        text = f"gpuos.torch: {str(error).splitlines()[0]}"
        raise choosing.UntriedPyTorch(text) from None
    known = _aten(torch._C._dispatch_get_all_op_names())
    watch = module.setup(
        [name for name in composite() if passes(name)],
        sorted(n for n in _with_kernel(IMPLICIT) if not passes(n)),
        [name for name in _VIEWS.split() if name in known],
        sorted(
            _with_kernel(
                "CompositeExplicitAutograd",
                "CompositeExplicitAutogradNonFunctional",
            )
        ),
        _bridge_of_runtime,
        _stream_handle,
        retire,
        join,
    )
    gpuos._core._watch_arrays(watch)
    _guard_sharing(module)
    _hide_keys()
    atexit.register(_finish, module)
    os.register_at_fork(before=module.flush, after_in_child=module.after_fork)
    return module


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
    # Python dispatches higher-order operators. It has no function for our
    # keys, but the operators inside of them do.
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
    """Return the names of operators that PyTorch composes of others."""
    # The own kernel of a device reads memory itself.
    return sorted(_with_kernel(IMPLICIT) - _with_kernel("CPU", "CUDA"))


def _bridge_of_runtime(kind: str, index: int) -> Any:
    """Return a capsule of the runtime for tensors of one device."""
    return gpuos._core._bridge(runtime_of(kind, index))


def runtime_of(kind: str, index: int) -> gpuos.Runtime:
    """Return the runtime for tensors of one device."""
    return defaults.of_device("host" if kind == "cpu" else kind, index)


def _stream_handle(stream: int, kind: int, index: int) -> int:
    """Return the driver's handle of one of PyTorch's streams."""
    handle: int = torch.cuda.Stream(
        stream_id=stream, device_type=kind, device_index=index
    ).cuda_stream
    return handle
