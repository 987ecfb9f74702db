"""Requests that a program makes by name, without interception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import gpuos
from gpuos.choosing import is_off
from gpuos.torch import eager, scheduling
from gpuos.torch.collective import prepare_on_all
from gpuos.torch.expressions import Expression
from gpuos.torch.loading import runtime_of
from gpuos.torch.readiness import bridge, bridge_if_loaded, wait_ready
from gpuos.torch.scheduling import check_limits, set_threads, shut_down

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.distributed import ProcessGroup

_registered: dict[str, Expression] = {}
_NAMES = "sum mean prod max min amax amin any all argmax argmin logsumexp"
_REDUCTIONS = {name: name for name in _NAMES.split()}
_REDUCTIONS |= {"max": "amax", "min": "amin"}
_PLACES = ("argmax", "argmin")  # of one dimension, or of all
_STATS = """
    intercepted fallbacks left known_reads saved_ns flushes tasks programs unwritten
    compiling pending
"""


def init(capacity: int = 4096, threads_per_block: int = 256) -> None:
    """Get ready: wait for the bridge, and have the workers of a device.

    Every other function here does it by itself. The device is PyTorch's current
    GPU, or the CPU if there is none.

    Parameters
    ----------
    capacity : int
        Requests that wait at most when one is added outside of schedulers, 1
        to 2**20; then they are run.
    threads_per_block : int
        Threads of one worker on the GPU, a multiple of 32, 32 to 256; of a
        device that is used for the first time, or the first since `shutdown()`.

    Raises
    ------
    gpuos.InvalidArgument
        For a value outside of these ranges.
    gpuos.BackendUnavailable, gpuos.CompileError
        The bridge cannot be built.
    """
    check_limits(capacity, threads_per_block)
    set_threads(threads_per_block)
    if is_off():
        return
    wait_ready()
    bridge().set_capacity(capacity)
    runtime("cuda" if torch.cuda.is_available() else "cpu").flush()


def runtime(device: torch.device | str | int = "cpu") -> gpuos.Runtime:
    """Return the runtime in which a device's operations run.

    Its tasks are ordered with PyTorch's operations: a task runs after earlier
    deferred operations, and later operations on its tensors wait for it.

    Parameters
    ----------
    device : torch.device, str or int
        As in PyTorch; a GPU without an index is the current one.

    Raises
    ------
    gpuos.BackendUnavailable, gpuos.CompileError
        The bridge cannot be built, or `GPUOS_TORCH=off`: without it that order
        would not hold.
    gpuos.InvalidArgument
        For a device that is neither the CPU nor a CUDA GPU.
    """
    found = torch.device(device)
    if found.type not in ("cpu", "cuda"):
        text = f"runtime: expected a device cpu or cuda, got {found}"
        raise gpuos.InvalidArgument(text)
    index = found.index or 0
    if found.type == "cuda" and found.index is None:
        index = torch.cuda.current_device()
    bridge().use_device(found.type, index)
    return runtime_of(found.type, index)


def submit_unary(name: str, a: torch.Tensor, out: torch.Tensor) -> None:
    """Defer ``out = torch.name(a)``, such as relu or exp; as `submit_add()`.

    Raises
    ------
    ValueError
        Also for a name that is none.
    """
    if is_off():
        eager.submit(name, (a,), out)
    else:
        bridge().submit(name, a, out)


def submit_binary(
    name: str, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor
) -> None:
    """Defer ``out = torch.name(a, b)``, such as maximum; as `submit_unary()`."""
    if is_off():
        eager.submit(name, (a, b), out)
    else:
        bridge().submit(name, a, b, out)


def submit_reduce(
    name: str,
    a: torch.Tensor,
    out: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> None:
    """Defer ``out = torch.name(a, dim, keepdim)``; as `submit_add()`.

    Parameters
    ----------
    name : str
        sum, mean, prod, max, min, any, all, argmax, argmin or logsumexp.
    a, out : Tensor
        `out` has the shape of the result and its dtype.
    dim : int or sequence of int, optional
        All dimensions if not given.
    keepdim : bool
        Whether reduced dimensions stay with size 1.

    Raises
    ------
    ValueError
        It cannot be deferred, or there is no such reduction; nothing was.
    """
    if name not in _REDUCTIONS:
        text = (
            f"submit_reduce: expected one of {', '.join(_REDUCTIONS)}, got "
            f"{name!r}"
        )
        raise ValueError(text)
    dims = [dim] if isinstance(dim, int) else dim
    if name in _PLACES and dims is not None and len(dims) != 1:
        text = (
            f"submit_reduce: {name}: expected one dimension or None, got "
            f"{list(dims)}"
        )
        raise ValueError(text)
    if is_off():
        eager.submit_rows(_REDUCTIONS[name], a, out, dims, keepdim)
    else:
        bridge().submit_rows(_REDUCTIONS[name], a, out, dims, keepdim)


def register_elementwise(
    key: str, expression: str, *, group: ProcessGroup | None = None
) -> None:
    """Name an expression for `submit_elementwise()`.

    Parameters
    ----------
    key : str
        Its name; a known one gets the new expression.
    expression : str
        Of Python, with PyTorch's functions: ``"o = 2 * x + relu(y)"``. Its
        operands are its names in the order of their first use.
    group : torch.distributed.ProcessGroup, optional
        All of its ranks call this with the same key and expression, like any
        collective: all have the new one then, or none. Requests of a rank
        before the call use the old one, later requests the new one. Waits for
        the others for the group's timeout. Default: this process alone.

    Raises
    ------
    gpuos.InvalidArgument
        It is not an expression, or uses an unknown function; with a group on all
        ranks, also if their expressions differ, and the message names the
        ranks.
    gpuos.Error
        A rank of the group has died, or did not call this in time.
    """

    def prepare() -> Expression:
        if not (isinstance(key, str) and isinstance(expression, str)):
            text = (
                "register_elementwise: expected a name and an expression, got "
                f"{key!r} and {expression!r}"
            )
            raise gpuos.InvalidArgument(text)
        return Expression(expression)

    if group is None:
        _registered[key] = prepare()
    else:
        _registered[key] = prepare_on_all(key, expression, prepare, group)


def submit_elementwise(
    key: str, *operands: torch.Tensor | float, out: torch.Tensor
) -> None:
    """Defer an expression of `register_elementwise()`, as `submit_add()` does.

    Raises
    ------
    gpuos.InvalidArgument
        The expression does not exist, or takes another number of operands.
    """
    if key not in _registered:
        known = ", ".join(map(repr, _registered)) or "none"
        text = (
            f"submit_elementwise: expected a registered key ({known}), got "
            f"{key!r}"
        )
        raise gpuos.InvalidArgument(text)
    _registered[key].submit(operands, out)


def shutdown() -> None:
    """Run pending operations, wait for them and end the workers.

    The runtimes of all devices are released, also `gpuos.default_runtime()`. A
    runtime lives on while an array, a program or its user refers to it, and
    while a captured graph runs its tasks. Unused memory is freed. The next use
    starts again.

    Raises
    ------
    gpuos.Error
        A thread is inside of a scheduler; nothing was done.
    """
    module = bridge_if_loaded()
    if module is None:
        return
    shut_down(module)


def pending() -> int:
    """Return how many operations wait."""
    module = bridge_if_loaded()
    return 0 if module is None else int(module.pending())


def stats() -> dict[str, Any]:
    """Return counters since the bridge was loaded.

    ``intercepted`` counts deferred operations, and ``left`` those that passed
    through because of their size or cost. ``fallbacks`` counts unsupported
    operators of PyTorch inside a scheduler. ``known_reads`` counts reads of
    pending values that the host knew. ``saved_ns`` is the estimated time
    that deferring has saved, less the flushes. ``flushes`` ran the operations
    as ``tasks`` of the workers. ``programs`` counts different chains,
    ``unwritten`` results that were not needed, and ``pending`` waiting
    operations. ``compiling`` counts parts of programs that are being compiled
    or soon will be. ``eager`` counts schedulers that were entered without a
    bridge.

    Two dicts say more. ``causes`` counts flushes by the operator of PyTorch,
    such as ``aten::mm``, or the event that caused them. ``run_by_pytorch``
    counts operators that PyTorch ran inside of schedulers.

    Before the bridge is loaded, all others are 0 or empty.
    """
    module = bridge_if_loaded()
    counted: dict[str, Any]
    if module is None:
        nothing = dict.fromkeys(_STATS.split(), 0)
        counted = {**nothing, "causes": {}, "run_by_pytorch": {}}
    else:
        counted = module.stats()
    return {**counted, "eager": scheduling.count_of_eager()}
