"""The words after `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from gpuos.bench import (
    bulk,
    callers,
    from_python,
    jit,
    latency,
    neighbours,
    operators,
    program_arrays,
    program_chain,
    program_scaling,
    saves,
    session,
    torch_rows,
)
from gpuos.bench.row import Measure, measures_of


@dataclass(frozen=True)
class Command:
    """One word, and the modules whose tables it measures, in their order."""

    name: str
    summary: str
    modules: tuple[ModuleType, ...]
    has_plot: bool = False

    def measures(self) -> list[Measure]:
        """Return every measurement, with what is asked on one H200."""
        return measures_of(self.modules)


COMMANDS = QUEUE, JIT, PROGRAMS, TORCH, SESSION, WATCH = (
    Command(
        "queue",
        "the queue against launches, graphs, PyTorch, CuPy and NumPy",
        (bulk, latency, from_python, callers, operators, neighbours),
        has_plot=True,
    ),
    Command("jit", "compiling at run time against cuda.core and CuPy", (jit,)),
    Command(
        "programs",
        "programs against PyTorch, CUDA graphs, CuPy and NumPy",
        (program_chain, program_arrays, program_scaling),
        has_plot=True,
    ),
    Command(
        "torch",
        "PyTorch programs in a scheduler against PyTorch alone",
        (torch_rows,),
    ),
    Command(
        "session",
        "the cost of a cell, early and late in a session; needs no GPU",
        (session,),
        has_plot=True,
    ),
    Command(
        "watch",
        "from the save of a watched file until its operator runs",
        (saves,),
    ),
)
