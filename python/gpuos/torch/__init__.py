"""PyTorch programs of small operations, unchanged and faster.

>>> import torch
>>> import gpuos.torch
>>> a = torch.ones(4)
>>> with gpuos.torch.scheduler():
...     b = (a + a) * 3.0
>>> b
tensor([6., 6., 6., 6.])

Small operations on CPU and CUDA tensors are put off and run together when
somebody looks at a result, in the stream that was current. Everything else is
PyTorch's own. docs/torch.md says what is taken and what a flush is.
"""

from __future__ import annotations

from gpuos.torch.building import build
from gpuos.torch.requests import (
    flush,
    init,
    pending,
    register_elementwise,
    shutdown,
    stats,
    submit_add,
    submit_binary,
    submit_div,
    submit_elementwise,
    submit_mul,
    submit_reduce,
    submit_sub,
    submit_unary,
)
from gpuos.torch.scheduling import Scheduler, scheduler, scheduler_context

__all__ = [
    "Scheduler",
    "build",
    "flush",
    "init",
    "pending",
    "register_elementwise",
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
]
