"""Small operations of unchanged PyTorch programs, run together.

>>> import torch
>>> import gpuos.torch
>>> a = torch.ones(4)
>>> with gpuos.torch.scheduler():
...     b = (a + a) * 3.0
>>> b
tensor([6., 6., 6., 6.])

Small operations on CPU and CUDA tensors are deferred and run together when a
result is read, in the stream that was current. PyTorch runs everything else.
docs/torch.md lists the supported operations and explains flushes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuos.choosing import is_off
from gpuos.torch import eager
from gpuos.torch.building import build
from gpuos.torch.readiness import bridge, wait_ready
from gpuos.torch.requests import (
    init,
    pending,
    register_elementwise,
    runtime,
    shutdown,
    stats,
    submit_binary,
    submit_elementwise,
    submit_reduce,
    submit_unary,
)
from gpuos.torch.scheduling import (
    Scheduler,
    flush,
    scheduler,
    scheduler_context,
)

if TYPE_CHECKING:
    import torch

    def submit_add(
        a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, /
    ) -> None: ...
    def submit_sub(
        a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, /
    ) -> None: ...
    def submit_mul(
        a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, /
    ) -> None: ...
    def submit_div(
        a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, /
    ) -> None: ...


__all__ = [
    "Scheduler",
    "build",
    "flush",
    "init",
    "pending",
    "register_elementwise",
    "runtime",
    "scheduler",
    "scheduler_context",
    "shutdown",
    "stats",
    "submit_add",
    "submit_binary",
    "submit_div",
    "submit_elementwise",
    "submit_mul",
    "submit_reduce",
    "submit_sub",
    "submit_unary",
    "wait_ready",
]

_OF_THE_BRIDGE = ("submit_add", "submit_sub", "submit_mul", "submit_div")


def __dir__() -> list[str]:
    return [*__all__]


def __getattr__(name: str) -> Any:
    """Return a C function of the bridge, which is loaded for it."""
    if name not in _OF_THE_BRIDGE:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    source = eager if is_off() else bridge()
    for found in _OF_THE_BRIDGE:
        globals()[found] = getattr(source, found)
    # Python is quicker with the attributes of a module that has none of this.
    globals().pop("__getattr__", None)
    return globals()[name]
