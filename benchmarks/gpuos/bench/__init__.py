"""`python -m gpuos bench`: measure this machine."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import gpuos
from gpuos.bench.apart import INTERRUPTED, State, run_apart
from gpuos.bench.command import COMMANDS, Command
from gpuos.bench.runner import Run, describe, make_context, say
from gpuos.cli.words import program_name

CACHE = "GPUOS_CACHE_DIR"


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `bench`."""
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
    add("--state", type=Path, help=argparse.SUPPRESS)
    what = "some measurements: " + ", ".join(names)
    add("--only", nargs="+", choices=names, metavar="NAME", help=what)
    files = {
        "json": "everything, for programs",
        "markdown": "the table as Markdown",
    }
    if command.has_plot:
        files["plot"] = "time over sizes and counts, as PNG or SVG"
    for name, what in files.items():
        add(f"--{name}", type=Path, metavar="PATH", help=f"write {what}")


@contextlib.contextmanager
def _cache_of(command: Command) -> Iterator[None]:
    # Code from an earlier run would count as compiled now.
    if command.name == "torch":
        yield
        return
    with tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder:
        before = os.environ.get(CACHE)
        os.environ[CACHE] = folder if command.name == "jit" else "off"
        try:
            yield
        finally:
            os.environ.pop(CACHE)
            if before is not None:
                os.environ[CACHE] = before


def _compile_bridge() -> None:
    # It takes minutes, once; a row that waited for it would be given up.
    if importlib.util.find_spec("torch") is None:
        return
    # The rows say what is missing.
    with contextlib.suppress(gpuos.Error):
        importlib.import_module("gpuos.torch").build(say)


def start(argv: Sequence[str]) -> int:
    """Run `bench` in a process of its own; return what `main` returns.

    A measurement that kills it, or hangs, is a row that failed: another process
    goes on behind it.
    """
    make_parser().parse_args(argv)
    return run_apart([sys.executable, "-m", "gpuos.bench", *argv])


def main(argv: Sequence[str] | None = None) -> int:
    """Run `bench`; return 0, or 1 if a row failed (not if it is slow)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = make_parser().parse_args(arguments)
    chosen: Command = options.chosen
    measures = [
        measure
        for measure in chosen.measures()
        if not options.only or measure.name in options.only
    ]
    if options.state:
        arguments = arguments[: arguments.index("--state")]
    state = State(options.state)
    with _cache_of(chosen):
        try:
            context, stats = make_context(options)
        except gpuos.Error as error:
            sys.stderr.write(f"gpuos bench: {error}\n")
            return 1
        environment = describe(stats, arguments)
        if chosen.name == "torch":
            _compile_bridge()
        run = Run(options, context, environment, state)
        try:
            run.measure(measures)
        except KeyboardInterrupt:
            run.finish()
            return INTERRUPTED
        return run.finish()
