"""Hold the state that the measurements of one run share."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import gpuos
from gpuos.bench import _loops
from gpuos.bench.row import Series, Unavailable, check_right, median
from gpuos.typing import Backend, Residency

T = TypeVar("T")
SETS = 256
WAIT_S = 20.0


def size(full: T, *, quick: T | None = None, host: T | None = None) -> T:
    """Declare a size, its value on processors, and its limit in a quick run."""
    found: T = field(default=full, metadata={"quick": quick, "host": host})
    return found


@dataclass
class Sizes:
    """The amounts of work to measure."""

    bulk_tasks: int = size(262_144, quick=65_536, host=16_384)
    burst_tasks: int = 16_384
    reps: int = size(7, quick=3, host=5)
    round_trips: int = size(4000, quick=1000, host=2000)
    launches: int = size(4096, quick=1024)
    graph_nodes: int = size(1024, quick=256)
    swaps: int = size(200, quick=40, host=20)
    swapped_tasks: int = size(10_000_000, quick=2_000_000, host=1_000_000)
    defines: int = size(20, quick=5, host=10)
    flushes: int = size(500, quick=100)
    idle_s: float = size(3.0, quick=0.5)
    large_elems: int = size(64 << 20, host=16 << 20)
    submits: int = size(4096, quick=1024)
    pairs: int = size(200, quick=50)
    pauses: int = size(60, quick=20)
    idle_syncs: int = size(50, quick=10)
    saturated_syncs: int = size(15, quick=3)
    jit_reps: int = size(10, quick=3)
    jit_many: int = 64
    jit_async: int = 16
    jit_hits: int = 1000
    program_reps: int = size(300, quick=50, host=100)
    program_calls: int = size(2000, quick=500, host=500)
    program_firsts: int = size(20, quick=5)
    program_shapes: int = size(1000, quick=200)
    program_operations: tuple[int, ...] = size(
        (1, 3, 10, 30, 100, 300, 1000), host=(1, 3, 10, 30, 100)
    )
    program_elems: tuple[int, ...] = size(
        tuple(64 << 2 * k for k in range(11)),
        host=tuple(64 << 2 * k for k in range(6)),
    )
    torch_operations: int = size(10_000, quick=5000)
    torch_steps: int = size(200, quick=50, host=50)
    torch_matmuls: int = size(1000, quick=200, host=100)
    torch_parameters: int = 1000
    torch_reps: int = size(7, quick=3)
    torch_is_large: bool = size(True, host=False)
    torch_compiles: bool = True
    scaling_elems: tuple[int, ...] = size(
        (64, 256, 1024, 4096, 16384, 65536), host=(64, 256, 1024, 4096)
    )
    scaling_tasks: tuple[int, ...] = size(
        tuple(1 << 2 * k for k in range(9)),
        host=(1, 4, 16, 64, 256, 1024, 4096),
    )
    session_cells: int = size(1000, quick=100)

    def quick(self) -> Sizes:
        """Return the sizes for a run of half a minute."""
        less: dict[str, Any] = {"torch_compiles": False}
        for one in fields(self):
            value, most = getattr(self, one.name), one.metadata.get("quick")
            if isinstance(value, tuple):
                less[one.name] = value[::2]
            elif most is not None:
                less[one.name] = min(value, most)
        return replace(self, **less)


def host_sizes() -> Sizes:
    found = {one.name: one.metadata.get("host") for one in fields(Sizes)}
    return Sizes(**{k: v for k, v in found.items() if v is not None})


@dataclass
class Context:
    """The place and amounts of a measurement, and the plot's lines."""

    backend: Backend
    device: int
    sizes: Sizes
    why_no_cuda: str = ""
    arch: str = ""
    series: dict[str, Series] = field(default_factory=dict)

    @property
    def is_cuda(self) -> bool:
        """Return whether the runtimes of this run use a GPU."""
        return self.backend == "cuda"

    @property
    def modes(self) -> tuple[Residency, ...]:
        """Return the residencies to compare. Processors have one."""
        return ("resident", "burst", "auto") if self.is_cuda else ("resident",)

    def on_host(self) -> Context:
        """Return the same context for the processors of this machine."""
        return replace(self, backend="host")

    def need_cuda(self) -> None:
        """Raise an error unless there is a GPU."""
        if not self.is_cuda:
            raise Unavailable(self.why_no_cuda or "needs the cuda backend")

    def need_host(self) -> None:
        """Raise an error unless tasks run on processors."""
        if self.is_cuda:
            message = "needs the host backend"
            raise Unavailable(message)

    def rig(
        self, residency: str, elems: int = 4096, sets: int = SETS, **more: Any
    ) -> contextlib.closing[_loops.Rig]:
        """Make a runtime with buffers. The end of the block closes it."""
        options = {"backend": self.backend, "device": self.device, **more}
        return contextlib.closing(
            _loops.Rig(sets, elems, residency=residency, **options)
        )

    def runtime(self, residency: Residency, **options: Any) -> gpuos.Runtime:
        """Make a gpuos.Runtime. The end of the block closes it."""
        return gpuos.Runtime(self.backend, self.device, residency, **options)

    def peers(self) -> _loops.Device:
        """Return the launches and graphs of the same device."""
        self.need_cuda()
        return _loops.Device(self.device)

    def checked_bulk(
        self, rig: _loops.Rig, tasks: int, elems: int, calls: int = 1
    ) -> float:
        """Return nanoseconds per add, after a check of the results."""
        rig.poison()
        rig.bulk_ns(tasks, elems, 1, 0)
        check_right(rig.count_wrong(tasks, elems), f"add of {elems}")
        return median(rig.bulk_ns(tasks, elems, calls, self.sizes.reps))
