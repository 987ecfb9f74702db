"""The words after `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuos.bench.jit import jit_measures
from gpuos.bench.measures import queue_measures
from gpuos.bench.programs import program_measures
from gpuos.bench.torch_rows import torch_measures

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuos.bench.row import Measure


@dataclass(frozen=True)
class Command:
    """One word, and what it measures.

    Parameters
    ----------
    has_plot : bool
        Whether a measurement leaves series for a plot.
    has_disk_cache : bool
        Whether what is compiled is kept in a folder that ends with the run;
        else it is kept nowhere.
    is_of_torch : bool
        Whether it speaks of PyTorch's devices, and takes the bridge to PyTorch
        that was compiled before.
    """

    name: str
    summary: str
    description: str
    measures: Callable[[], list[Measure]]
    has_plot: bool = False
    has_disk_cache: bool = False
    is_of_torch: bool = False


COMMANDS = (
    Command(
        "queue",
        "the queue against launches, graphs, PyTorch, CuPy and NumPy",
        "Measure the queue; peers are measured in the same run.",
        queue_measures,
        has_plot=True,
    ),
    Command(
        "jit",
        "compiling at run time against cuda.core and CuPy",
        "Measure compiling at run time; peers are measured in the same run.",
        jit_measures,
        has_disk_cache=True,
    ),
    Command(
        "programs",
        "programs against PyTorch, CUDA graphs, CuPy and NumPy",
        "Measure programs; peers are measured in the same run.",
        program_measures,
        has_plot=True,
    ),
    Command(
        "torch",
        "PyTorch programs in a scheduler against PyTorch alone",
        "Measure gpuos.torch; peers are measured in the same run.",
        torch_measures,
        is_of_torch=True,
    ),
)
