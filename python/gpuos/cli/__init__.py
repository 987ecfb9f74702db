"""The command line: `python -m gpuos demo | info | run | ctl | cache | build-torch | bench`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING

import gpuos
from gpuos.cli import build_torch, cache, ctl, demo, info, run
from gpuos.cli.words import program_name

if TYPE_CHECKING:
    from collections.abc import Sequence

BAD_INPUT = 2


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of every subcommand but `bench`, which has its own."""
    parser = argparse.ArgumentParser(
        prog=program_name(),
        description="A runtime that runs many small array operations together.",
    )
    parser.add_argument(
        "--version", action="version", version=f"gpuos {gpuos.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_parser(commands)
    info.add_parser(commands)
    run.add_parser(commands)
    ctl.add_parser(commands)
    cache.add_parser(commands)
    build_torch.add_parser(commands)
    commands.add_parser(
        "bench",
        help="measure this machine",
        description="Measure this machine; see `bench --help`.",
        add_help=False,
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    Returns
    -------
    int
        0; 1 if something went wrong; 2 for bad input; 130 after Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["bench"]:
        try:
            from gpuos.bench import start  # noqa: PLC0415 (it is large)
        except ImportError as error:
            if "_loops" not in str(error):
                raise
            print(
                "gpuos bench: expected a build with benchmarks; do `pip install"
                " . -C cmake.define.GPUOS_BUILD_BENCHMARKS=ON`",
                file=sys.stderr,
            )
            return 1
        return start(arguments[1:])
    parser = make_parser()
    if not arguments:
        parser.print_help()
        return 0
    parsed, rest = parser.parse_known_args(arguments)
    # argparse has given an optional FILE up when it comes after options.
    if len(rest) == 1 and getattr(parsed, "file", "") is None:
        parsed.file = rest.pop()
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        code = int(parsed.function(parsed))
        # At process exit this failure could not be reported.
        print(end="", flush=True)
    except gpuos.InvalidArgument as error:
        code = BAD_INPUT
        text = str(error)
    except gpuos.CompileError as error:
        code = BAD_INPUT
        # The error of a C++ compiler has its output in the message.
        log = getattr(error, "log", "")
        text = f"{error}\n{log}".rstrip()
    except BrokenPipeError:
        code, text = 1, ""  # the reader has closed its end
    except (gpuos.Error, OSError, MemoryError) as error:
        code = 1
        text = str(error) or "out of memory"
    except KeyboardInterrupt:
        code = 130  # what a shell gives for Ctrl-C
        text = "interrupted"
    else:
        return code
    if text:
        print(f"gpuos {parsed.command}: {text}", file=sys.stderr)
    drop_output()
    return code


def drop_output() -> None:
    """Drop unwritten output, because the process is about to end."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            with contextlib.suppress(OSError):
                sys.stdout.close()
