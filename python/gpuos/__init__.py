"""A runtime that runs many small array operations together.

>>> import gpuos
>>> with gpuos.Runtime() as rt:
...     a = rt.array([1.0, 2.0], dtype="float32")
...     out = rt.empty(2)
...     rt.wait(rt.submit("add", a, a, out=out))
...     out.numpy()
array([2., 4.], dtype=float32)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gpuos import _core, cache, functions

# These add the parts in Python to _core. A handler of a signal calls them, also
# in the middle of an import.
from gpuos import definitions as definitions
from gpuos import object_texts as object_texts
from gpuos import refusals as refusals
from gpuos import runtime_methods as runtime_methods
from gpuos._core import (
    Alias,
    Array,
    BackendUnavailable,
    Cancelled,
    CompileError,
    CudaError,
    Definition,
    Error,
    Fused,
    HostError,
    InvalidArgument,
    JitModule,
    JitOptions,
    Kernel,
    KernelArgs,
    Operator,
    OutOfRange,
    Program,
    QueueClosed,
    Runtime,
    Session,
    TaskError,
    Ticket,
    Timeout,
    Transaction,
    Value,
    WrongType,
    __version__,
    modules,
    synchronize,
)
from gpuos.cell_output import CellResult
from gpuos.compiling import (
    CompileFuture,
    KernelAttributes,
    KernelLaunch,
    ModuleInfo,
    compile_async,
)
from gpuos.control import serve
from gpuos.defaults import default_runtime
from gpuos.definitions import OperatorVersion
from gpuos.diagnosis import Diagnosis, Finding, diagnose
from gpuos.fusing import fuse
from gpuos.magic import load_ipython_extension
from gpuos.paths import announce_wheels, get_include, get_library

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "Alias",
    "Array",
    "BackendUnavailable",
    "Cancelled",
    "CellResult",
    "CompileError",
    "CompileFuture",
    "CudaError",
    "Definition",
    "Diagnosis",
    "Error",
    "Finding",
    "Fused",
    "HostError",
    "InvalidArgument",
    "JitModule",
    "JitOptions",
    "Kernel",
    "KernelArgs",
    "KernelAttributes",
    "KernelLaunch",
    "ModuleInfo",
    "Operator",
    "OperatorVersion",
    "OutOfRange",
    "Program",
    "QueueClosed",
    "Runtime",
    "Session",
    "TaskError",
    "Ticket",
    "Timeout",
    "Transaction",
    "Value",
    "WrongType",
    "__version__",
    "cache",
    "compile_async",
    "default_runtime",
    "diagnose",
    "functions",
    "fuse",
    "get_include",
    "get_library",
    "load_ipython_extension",
    "modules",
    "serve",
    "synchronize",
]


def __dir__() -> list[str]:
    return [*__all__]


def __getattr__(name: str) -> ModuleType:
    # Python imports these at their first use, so `import gpuos` stays quick.
    if name in ("array_api", "ray", "torch", "typing"):
        try:
            return importlib.import_module(f"gpuos.{name}")
        except ImportError as error:
            text = f"gpuos.{name}: {error}"
            raise AttributeError(text) from error
    raise AttributeError(f"module 'gpuos' has no attribute {name!r}")


_core._add_docstrings()
announce_wheels()
