"""`python -m gpuos bench`: measure this machine."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.bench import report, session
from gpuos.bench.command import COMMANDS
from gpuos.bench.environment import describe
from gpuos.bench.runner import Run, make_context, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuos.bench.command import Command

CACHE = "GPUOS_CACHE_DIR"


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `bench`."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuos bench", description="Measure this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        _add_command(
            commands.add_parser(
                command.name,
                help=command.summary,
                description=command.description,
            ),
            command,
        )
    session.add_parser(commands)
    return parser


def _add_command(parser: argparse.ArgumentParser, command: Command) -> None:
    names = [measure.name for measure in command.measures()]
    parser.set_defaults(chosen=command, plot=None, no_compile=False)
    _add_device(parser, command)
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        metavar="NAME",
        help="some measurements: " + ", ".join(names),
    )
    files = {
        "json": "everything, for programs",
        "markdown": "the table as Markdown",
    }
    if command.has_plot:
        files["plot"] = "a PNG of time over sizes and counts"
    for name, what in files.items():
        parser.add_argument(
            f"--{name}", type=Path, metavar="PATH", help=f"write {what}"
        )


def _add_device(parser: argparse.ArgumentParser, command: Command) -> None:
    if command.is_of_torch:
        parser.set_defaults(device=0)
        parser.add_argument(
            "--device",
            dest="backend",
            choices=["auto", "cpu", "cuda"],
            default="auto",
        )
        parser.add_argument(
            "--no-compile",
            action="store_true",
            help="without torch.compile, whose first calls take minutes",
        )
        return
    parser.add_argument(
        "--backend", choices=["auto", "host", "cuda"], default="auto"
    )
    parser.add_argument("--device", type=int, default=0, metavar="N")


@contextlib.contextmanager
def _cache_at(where: str) -> Iterator[None]:
    # What an earlier run compiled would count as compiled now.
    before = os.environ.get(CACHE)
    os.environ[CACHE] = where
    try:
        yield
    finally:
        os.environ.pop(CACHE)
        if before is not None:
            os.environ[CACHE] = before


@contextlib.contextmanager
def _cache_of(command: Command) -> Iterator[None]:
    if command.is_of_torch:
        yield
        return
    with (
        tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder,
        _cache_at(folder if command.has_disk_cache else "off"),
    ):
        yield


def _compile_bridge() -> None:
    # It takes minutes, once; a row that waited for it would be given up.
    if importlib.util.find_spec("torch") is None:
        return
    # The rows say what is missing.
    with contextlib.suppress(gpuos.Error):
        importlib.import_module("gpuos.torch").build(say)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `bench`; return 0, or 1 if a row failed (not if it is slow)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = make_parser().parse_args(arguments)
    if options.command == "session":
        with _cache_at("off"):
            return session.main(options)
    command: Command = options.chosen
    measures = [
        measure
        for measure in command.measures()
        if not options.only or measure.name in options.only
    ]
    with _cache_of(command):
        backend = "host" if options.backend == "cpu" else options.backend
        context, stats = make_context(
            backend, options.device, quick=options.quick
        )
        environment = describe(stats, arguments)
        if command.is_of_torch:
            _compile_bridge()
        if options.no_compile:
            context = context.without_compiler()
        say(report.format_header(environment))
        run = Run(options, context, environment)
        run.measure(measures)
        run.finish()
    return 1 if run.has_failed else 0
