"""The state that the measurements of one run share."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import Any

import gpuos
from gpuos.bench import _loops
from gpuos.bench.row import Series, Unavailable, check_right, median
from gpuos.typing import Backend, Residency

SETS = 256
WAIT_S = 20.0


@dataclass
class Sizes:
    """How much is measured."""

    bulk_tasks: int = 262_144
    burst_tasks: int = 16_384
    reps: int = 7
    round_trips: int = 4000
    launches: int = 4096
    graph_nodes: int = 1024
    swaps: int = 200
    swapped_tasks: int = 10_000_000
    defines: int = 20
    flushes: int = 500
    idle_s: float = 3.0
    large_elems: int = 64 << 20
    submits: int = 4096
    pairs: int = 200
    pauses: int = 60
    idle_syncs: int = 50
    saturated_syncs: int = 15
    jit_reps: int = 10
    jit_many: int = 64
    jit_async: int = 16
    jit_hits: int = 1000
    program_reps: int = 300
    program_calls: int = 2000
    program_firsts: int = 20
    program_shapes: int = 1000
    program_operations: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000)
    program_elems: tuple[int, ...] = tuple(64 << 2 * k for k in range(11))
    program_pending: tuple[int, ...] = tuple(1 << 2 * k for k in range(11))
    torch_operations: int = 10_000
    torch_steps: int = 200
    torch_matmuls: int = 1000
    torch_parameters: int = 1000
    torch_reps: int = 7
    torch_is_large: bool = True
    torch_compiles: bool = True
    scaling_elems: tuple[int, ...] = (64, 256, 1024, 4096, 16384, 65536)
    scaling_tasks: tuple[int, ...] = tuple(1 << 2 * k for k in range(9))
    session_cells: int = 1000

    def quick(self) -> Sizes:
        """Return sizes for a run of half a minute."""
        less = {k: min(getattr(self, k), most) for k, most in QUICK.items()}
        for name in LINES:
            less[name] = getattr(self, name)[::2]
        return replace(self, **less, torch_compiles=False)


LINES = [name for name, kind in Sizes.__annotations__.items() if "..." in kind]
QUICK = {
    "bulk_tasks": 65_536,
    "reps": 3,
    "round_trips": 1000,
    "launches": 1024,
    "graph_nodes": 256,
    "swaps": 40,
    "swapped_tasks": 2_000_000,
    "defines": 5,
    "flushes": 100,
    "idle_s": 0.5,
    "submits": 1024,
    "pairs": 50,
    "pauses": 20,
    "idle_syncs": 10,
    "saturated_syncs": 3,
    "jit_reps": 3,
    "program_reps": 50,
    "program_calls": 500,
    "program_firsts": 5,
    "program_shapes": 200,
    "torch_operations": 5000,
    "torch_steps": 50,
    "torch_matmuls": 200,
    "torch_reps": 3,
    "session_cells": 100,
}


def host_sizes() -> Sizes:
    """Return sizes for processors."""
    return Sizes(
        bulk_tasks=16_384,
        reps=5,
        round_trips=2000,
        swaps=20,
        swapped_tasks=1_000_000,
        defines=10,
        large_elems=16 << 20,
        program_reps=100,
        program_calls=500,
        program_operations=(1, 3, 10, 30, 100),
        program_elems=tuple(64 << 2 * k for k in range(6)),
        program_pending=tuple(1 << 2 * k for k in range(6)),
        torch_steps=50,
        torch_matmuls=100,
        torch_is_large=False,
        scaling_elems=(64, 256, 1024, 4096),
        scaling_tasks=(1, 4, 16, 64, 256, 1024, 4096),
    )


@dataclass
class Context:
    """Where and how much to measure, and what rows leave for the plot."""

    backend: Backend
    device: int
    sizes: Sizes
    why_no_cuda: str = ""
    arch: str = ""
    series: dict[str, Series] = field(default_factory=dict)

    @property
    def is_cuda(self) -> bool:
        """Whether the runtimes of this run use a GPU."""
        return self.backend == "cuda"

    @property
    def modes(self) -> tuple[Residency, ...]:
        """The residencies worth comparing; processors have one."""
        return ("resident", "burst", "auto") if self.is_cuda else ("resident",)

    def on_host(self) -> Context:
        """Return the same on the processors of this machine."""
        return replace(self, backend="host")

    def need_cuda(self) -> None:
        """Raise unless there is a GPU."""
        if not self.is_cuda:
            raise Unavailable(self.why_no_cuda or "needs the cuda backend")

    def need_host(self) -> None:
        """Raise unless tasks run on processors."""
        if self.is_cuda:
            message = "needs the host backend"
            raise Unavailable(message)

    def rig(
        self, residency: str, elems: int = 4096, sets: int = SETS, **more: Any
    ) -> contextlib.closing[_loops.Rig]:
        """Make a runtime with buffers; closed at the end of the block."""
        options = {"backend": self.backend, "device": self.device, **more}
        return contextlib.closing(
            _loops.Rig(sets, elems, residency=residency, **options)
        )

    def runtime(self, residency: Residency, **options: Any) -> gpuos.Runtime:
        """Make a runtime of the public kind, which a block closes."""
        return gpuos.Runtime(self.backend, self.device, residency, **options)

    def peers(self) -> _loops.Device:
        """Return launches and graphs on the same device."""
        self.need_cuda()
        return _loops.Device(self.device)

    def checked_bulk(
        self, rig: _loops.Rig, tasks: int, elems: int, calls: int = 1
    ) -> float:
        """Return nanoseconds an add, after the results were checked."""
        rig.poison()
        rig.bulk_ns(tasks, elems, 1, 0)
        check_right(rig.count_wrong(tasks, elems), f"add of {elems}")
        return median(rig.bulk_ns(tasks, elems, calls, self.sizes.reps))
