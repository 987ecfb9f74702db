"""Runs measurements in a process of their own.

A measurement may kill that process, or hang until the process is killed. The
next measurement then begins in another process.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

import gpuos
from gpuos.bench.row import Measure, Row, Series, fail_rows

# The rows of one measurement, and lines of plots.
Result = tuple[list[Row], dict[str, Series]]
START_S = 3600.0  # a bridge to PyTorch may be compiled, once
KILLED_S = 30.0
ERROR = "error"


def serve(pipe: Any, make: Callable[..., Any], arguments: list[str]) -> None:
    """Send what describes a bench, then the result of each name that comes."""
    try:
        bench = make(arguments)
    except gpuos.Error as error:
        pipe.send({ERROR: str(error)})
        return
    pipe.send(bench.environment)
    try:
        while True:
            measure = bench.measures[pipe.recv()]
            # The parent kills what hangs, but the parent may be gone by then.
            signal.alarm(math.ceil(measure.limit_s + KILLED_S))
            pipe.send(bench.measure(measure))
            signal.alarm(0)
    except (EOFError, OSError):
        return  # nobody is there any more


def reason_of_end(code: int | None) -> str:
    """Return why a process ended, by its exit code as `multiprocessing` has it."""
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


class Apart:
    """Uses `make(arguments)` in a process, and in a new one if that died.

    Raises
    ------
    RuntimeError
        If `make` raised gpuos.Error, or the process died in it.
    """

    def __init__(self, make: Callable[..., Any], arguments: list[str]) -> None:
        self._begin = make, arguments
        self.environment = self._start()

    def _start(self) -> dict[str, Any]:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(theirs, *self._begin))
        # A terminal tells both of Ctrl-C, and this process decides.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        theirs.close()
        environment: dict[str, Any] = self._receive(START_S)
        if ERROR in environment:
            raise RuntimeError(environment[ERROR])
        return environment

    def _receive(self, limit_s: float) -> Any:
        if not self._pipe.poll(limit_s):
            message = f"did not end within {limit_s:g} s"
            raise TimeoutError(message)
        try:
            return self._pipe.recv()
        except EOFError:
            self._process.join(KILLED_S)
            raise RuntimeError(reason_of_end(self._process.exitcode)) from None

    def measure(self, measure: Measure) -> Result:
        """Return the rows of one measurement, whatever happens to it."""
        try:
            if not self._process.is_alive():
                self._start()
            self._pipe.send(measure.name)
            result: Result = self._receive(measure.limit_s)
        except (OSError, RuntimeError) as error:  # a timeout is an OSError
            self.close()
            fail_rows(measure.rows, error)
            return measure.rows, {}
        return result

    def close(self) -> None:
        """End the process, at once."""
        self._process.kill()
        self._process.join(KILLED_S)
