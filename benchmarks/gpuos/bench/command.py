"""Parse the words after `bench`."""

import argparse
from dataclasses import dataclass
from pathlib import Path
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
from gpuos.cli.words import program_name


@dataclass(frozen=True)
class Command:
    """One word, and the modules whose tables it measures, in order."""

    name: str
    summary: str
    modules: tuple[ModuleType, ...]
    has_plot: bool = False

    def measures(self) -> list[Measure]:
        """Return every measurement, with the targets on one H200."""
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


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{program_name()} bench", description="Measure this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        text = f"Measure {command.summary}. Peers are measured in the same run."
        _add_options(
            commands.add_parser(
                command.name, help=command.summary, description=text
            ),
            command,
        )
    return parser


def _add_options(parser: argparse.ArgumentParser, command: Command) -> None:
    names = [measure.name for measure in command.measures()]
    parts = sorted(set().union(*(m.parts for m in command.measures())))
    add = parser.add_argument
    parser.set_defaults(chosen=command, device=0, plot=None)
    parser.set_defaults(no_compile=False, cells=0, arch="")
    if command.name == "torch":
        devices = ["auto", "cpu", "cuda"]
        add("--device", dest="backend", choices=devices, default="auto")
        add(
            "--no-compile",
            action="store_true",
            help="without torch.compile, whose first calls take minutes",
        )
    else:
        add("--backend", choices=["auto", "host", "cuda"], default="auto")
        add("--device", type=int, metavar="N")
    if command.name == "session":
        add("--cells", type=int, metavar="N", help="1000 if not given")
        what = "such as sm_90; the device's, or the newest, if not given"
        add("--arch", metavar="SM", help=what)
    add("--quick", action="store_true", help="fewer repetitions")
    what = "what our issues ask for on one H200, and rows without a figure too"
    add("--asked", action="store_true", help=what)
    what = "some measurements: " + ", ".join(names)
    if parts:
        what += ". These only run if asked for: " + ", ".join(parts)
    choices = [*names, *parts]
    add("--only", nargs="+", choices=choices, metavar="NAME", help=what)
    what = "write everything, for programs"
    add("--json", type=Path, metavar="PATH", help=what)
    if command.has_plot:
        what = "write time over sizes and counts, as PNG or SVG"
        add("--plot", type=Path, metavar="PATH", help=what)
