"""Types for annotations of gpuos' arguments and results.

>>> from gpuos.typing import ArrayInput, Stats
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy.typing as npt

from gpuos._core import Array

__all__ = [
    "ArrayInput",
    "Backend",
    "Residency",
    "Stats",
    "SupportsArrayInterface",
    "SupportsCudaArrayInterface",
    "SupportsDLPack",
]

Backend: TypeAlias = Literal["auto", "host", "cuda"]
Residency: TypeAlias = Literal["auto", "resident", "burst"]


class SupportsDLPack(Protocol):
    """An array of PyTorch, CuPy, JAX, NumPy or another library with DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class SupportsCudaArrayInterface(Protocol):
    """An array in a GPU's memory of Numba and others."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class SupportsArrayInterface(Protocol):
    """An array in the host's memory that NumPy can view."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


ArrayInput: TypeAlias = (
    Array
    | npt.NDArray[Any]
    | SupportsDLPack
    | SupportsCudaArrayInterface
    | SupportsArrayInterface
)


class Stats(TypedDict):
    """The result of `Runtime.stats()`: counters since the start, and choices.

    gpuos cuts a large task into tiles. Each tile counts as a task.
    """

    backend: str
    """`host` or `cuda`."""
    device: str
    """The name of the GPU or processor."""
    residency: str
    """`resident`, `burst`, or `auto`, which switches between them."""
    residency_reason: str
    """The reason for the residency, in words."""
    worker_image: str
    """The source of the workers' code: `embedded`, `ptx`, `nvrtc` or `host`.
    `embedded` starts fastest. `nvrtc` compiles at the first start."""
    is_resident: bool
    """True while workers stay on the device."""
    is_dead: bool
    """True after a task trapped. Every wait and submission raises TaskError."""
    workers: int
    """The number of thread blocks on a GPU, or of threads on the host."""
    threads_per_worker: int
    """Threads of one worker on a GPU. It is 1 on the host."""
    registers_per_thread: int
    """Registers that a whole operator may use on a GPU. Others spill."""
    stack_bytes_per_thread: int
    """Bytes of stack that a whole operator may use on a GPU."""
    tasks_submitted: int
    """Submitted tasks."""
    tasks_completed: int
    """Tasks that were done at the last check of the queue."""
    batches_submitted: int
    """Batches of queued tasks. If each has few tasks, `submit_many` or a fused
    function costs less."""
    tasks_ordered: int
    """Tasks that waited for an earlier task, because they use its memory. If
    it is near `tasks_submitted`, few tasks run at the same time."""
    tasks_chained: int
    """Tasks that one worker runs one after another, as a chain."""
    chains: int
    """Chains of such tasks."""
    bursts: int
    """Launches of workers for one flush. If it is near `tasks_submitted`, the
    program waits after each task."""
    residencies: int
    """Launches of workers that stay."""
    parks: int
    """Pauses of the queue, because such workers left for a load."""
    injections: int
    """Loads of operators since the start."""
    unloads: int
    """Operators that were unloaded."""
    upgrades: int
    """Operators with `tiered=True` that run optimised code now."""
    programs: int
    """Different programs that were called. If it grows with each call, a value
    in a fused function changes and should be a parameter."""
    program_calls: int
    """Calls of programs."""
    programs_compiled: int
    """Passes of programs that run compiled."""
    programs_failed: int
    """Passes that stay interpreted, because the compiler is missing or failed.
    0 is good. The log and `gpuos.diagnose()` say why."""
    programs_waiting: int
    """Passes that are compiling, or wait for it."""
    allocations: int
    """Allocations of memory by the driver. It stays constant in a loop after
    the first iterations."""
    last_pause_us: float
    """The queue's pause for the last load, in microseconds."""
    last_load_us: float
    """The driver's part of that pause, in microseconds."""
    last_compile_ms: float
    """The time of the last compilation, in milliseconds."""
