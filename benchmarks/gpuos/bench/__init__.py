"""Measure this machine for `python -m gpuos bench`."""

import contextlib
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from gpuos.bench.apart import Apart
from gpuos.bench.command import make_parser
from gpuos.bench.here import Here
from gpuos.bench.runner import Run
from gpuos.bench.timing import environment

__all__ = ["main", "make_parser", "start"]

INTERRUPTED = 130
ENDED_BY = 128  # plus the signal's number, as in shells


@contextlib.contextmanager
def _folders_of(command: str) -> Iterator[None]:
    """Delete caches and files of killed processes at the end of the run.

    Code of an earlier run would count as compiled in this run. Only the cache
    of PyTorch's bridge stays.
    """
    with tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder:
        changes = {"TMPDIR": folder}
        if command != "torch":
            caches = folder if command == "jit" else "off"
            changes["GPUOS_CACHE_DIR"] = caches
        with environment(**changes):
            yield


def start(argv: Sequence[str]) -> int:
    """Run `bench` with its measurements in a separate process.

    A measurement that kills the process, or hangs, makes a failed row. Another
    process continues with the next row.
    """

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(ENDED_BY + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        return _run(argv, lambda arguments: Apart(Here, arguments))
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: Sequence[str]) -> int:
    """Run `bench` in this process."""
    return _run(argv, Here)


def _run(argv: Sequence[str], begin: Callable[..., Here | Apart]) -> int:
    """Return 1 if a row failed, else 0. A slow row does not fail."""
    options = make_parser().parse_args(argv)
    measures = [
        measure
        for measure in options.chosen.measures()
        if measure.is_asked(options.only)
    ]
    with _folders_of(options.chosen.name), contextlib.ExitStack() as stack:
        try:
            bench = begin(list(argv))
        except RuntimeError as error:  # gpuos.Error, or a dead process
            sys.stderr.write(f"gpuos bench: {error}\n")
            return 1
        stack.callback(bench.close)
        run = Run(options, bench)
        try:
            run.measure(measures)
        except KeyboardInterrupt:
            run.finish()
            return INTERRUPTED
        return run.finish()
