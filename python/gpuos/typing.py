"""Types for annotations: what functions of gpuos take, and what they tell.

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

    A large task is cut into tiles, of which each counts as a task.
    """

    backend: str
    """`host` or `cuda`."""
    device: str
    """Name of the GPU or processor."""
    residency: str
    """`resident` or `burst`, or `auto`, which changes between them."""
    residency_reason: str
    """Why, in words."""
    worker_image: str
    """Where the workers' code is from: `embedded`, `ptx`, `nvrtc` or `host`.
    `embedded` starts soonest, `nvrtc` compiles at the first start."""
    is_resident: bool
    """Whether workers stay at this moment."""
    is_dead: bool
    """Whether every wait and submission throws TaskError: a task trapped."""
    workers: int
    """Blocks of threads on a GPU, threads on the host."""
    threads_per_worker: int
    """Lanes of one worker; 1 on the host."""
    registers_per_thread: int
    """The most that a whole operator uses on a GPU. More goes to the stack."""
    stack_bytes_per_thread: int
    """The stack that it may use, on a GPU. Bytes."""
    tasks_submitted: int
    """Tasks that were submitted."""
    tasks_completed: int
    """Tasks that were done at the last look at the queue."""
    batches_submitted: int
    """Pieces in which tasks were queued. Few tasks in each: `submit_many`, or a
    fused function, would cost less."""
    tasks_ordered: int
    """Tasks that had to wait for an earlier one, because they use its memory.
    Where it is near `tasks_submitted`, tasks hardly run beside each other."""
    tasks_chained: int
    """Tasks that one worker runs in a row, without a wait."""
    chains: int
    """Such rows."""
    bursts: int
    """Launches of workers for one flush. Near `tasks_submitted`: somebody waits
    after each task."""
    residencies: int
    """Launches of workers that stay."""
    parks: int
    """Times that these left for a load, and the queue stood still."""
    injections: int
    """Loads of operators since the start."""
    unloads: int
    """Loads that were taken back."""
    upgrades: int
    """Operators with `tiered=True` that run optimised code now."""
    programs: int
    """Different programs that were called. Grows with each call: something in
    a fused function changes that should be a parameter."""
    program_calls: int
    """Calls of programs."""
    programs_compiled: int
    """Passes of programs that run compiled."""
    programs_failed: int
    """Passes that stay interpreted, because no compiler was found or it gave
    up. 0 is good; logging says why, and so does `gpuos.diagnose()`."""
    programs_waiting: int
    """Passes that are being compiled, or will be."""
    allocations: int
    """Pieces of memory that the driver was asked for. It stops growing in a
    loop that is warm."""
    last_pause_us: float
    """How long the queue stood still for the last load. Microseconds."""
    last_load_us: float
    """How much of that was the driver's. Microseconds."""
    last_compile_ms: float
    """How long the last compilation took. Milliseconds."""
