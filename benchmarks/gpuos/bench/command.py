"""The words after `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from gpuos.bench import (
    bulk,
    callers,
    checked,
    dropped,
    from_python,
    jit,
    latency,
    neighbours,
    program_arrays,
    program_chain,
    program_scaling,
    saves,
    session,
    swaps,
    torch_rows,
)
from gpuos.bench.row import Measure, measures_of


@dataclass(frozen=True)
class Command:
    """One word, and what it measures.

    Parameters
    ----------
    modules : tuple of modules
        Whose tables are measured, in this order.
    has_plot : bool
        Whether a measurement leaves series for a plot.
    has_disk_cache : bool
        Whether what is compiled is kept in a folder that ends with the run;
        else it is kept nowhere.
    is_of_torch : bool
        Whether it speaks of PyTorch's devices, and takes the bridge to PyTorch
        that was compiled before.
    is_of_cells : bool
        Whether it takes a number of cells and an architecture.
    """

    name: str
    summary: str
    modules: tuple[ModuleType, ...]
    has_plot: bool = False
    has_disk_cache: bool = False
    is_of_torch: bool = False
    is_of_cells: bool = False

    def measures(self) -> list[Measure]:
        """Return every measurement, with what is asked on one H200."""
        return measures_of(self.modules)


QUEUE = Command(
    "queue",
    "the queue against launches, graphs, PyTorch, CuPy and NumPy",
    (
        bulk,
        latency,
        swaps,
        from_python,
        callers,
        checked,
        dropped,
        neighbours,
    ),
    has_plot=True,
)
JIT = Command(
    "jit",
    "compiling at run time against cuda.core and CuPy",
    (jit,),
    has_disk_cache=True,
)
PROGRAMS = Command(
    "programs",
    "programs against PyTorch, CUDA graphs, CuPy and NumPy",
    (program_chain, program_arrays, program_scaling),
    has_plot=True,
)
TORCH = Command(
    "torch",
    "PyTorch programs in a scheduler against PyTorch alone",
    (torch_rows,),
    is_of_torch=True,
)
SESSION = Command(
    "session",
    "the cost of a cell, early and late in a session; needs no GPU",
    (session,),
    has_plot=True,
    is_of_cells=True,
)
WATCH = Command(
    "watch",
    "from the save of a watched file until its operator runs",
    (saves,),
)
COMMANDS = (QUEUE, JIT, PROGRAMS, TORCH, SESSION, WATCH)
