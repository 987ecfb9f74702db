"""Run measurements in a separate process.

A measurement may crash that process, or hang until a time limit kills it. The
next measurement then begins in another process.
"""

import math
import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

import gpuos
from gpuos.bench.row import Measure, Row, Series, fail_rows

# A result has the rows of one measurement, and lines of plots.
Result = tuple[list[Row], dict[str, Series]]
START_S = 3600.0  # it may compile a bridge to PyTorch, once
KILLED_S = 30.0
END_S = 10.0
ERROR = "error"


def serve(pipe: Any, make: Callable[..., Any], arguments: list[str]) -> None:
    """Send the bench's environment, then the result for each received name."""
    try:
        bench = make(arguments)
    except gpuos.Error as error:
        pipe.send({ERROR: str(error)})
        return
    pipe.send(bench.environment)
    try:
        while True:
            measure = bench.measures[pipe.recv()]
            # The parent kills a process that hangs, unless it has ended itself.
            signal.alarm(math.ceil(measure.limit_s + KILLED_S))
            pipe.send(bench.measure(measure))
            signal.alarm(0)
    except (EOFError, OSError):
        return  # The parent has ended.


def reason_of_end(code: int | None) -> str:
    """Return why a process ended, from its exit code in `multiprocessing`."""
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


class Apart:
    """Uses `make(arguments)` in a process. A new one replaces a dead one.

    Raises
    ------
    RuntimeError
        If `make` raised gpuos.Error, or the process died in it.
    """

    def __init__(self, make: Callable[..., Any], arguments: list[str]) -> None:
        self._begin = make, arguments
        self.environment = self._start()

    def _start(self) -> dict[str, Any]:
        self._has_measured = False
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(theirs, *self._begin))
        # A terminal sends Ctrl-C to both processes, and the parent decides.
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
        """Return the rows of one measurement, even if it fails."""
        try:
            if measure.part and self._has_measured:
                self._end()
            if not self._process.is_alive():
                self._start()
            self._pipe.send(measure.name)
            result: Result = self._receive(measure.limit_s)
            self._has_measured = True
            if measure.part:
                self._end()
        except (OSError, RuntimeError) as error:  # also a timeout
            self.close()
            fail_rows(measure.rows, error)
            return measure.rows, {}
        return result

    def _end(self) -> None:
        """Let the idle process end its compilers and itself."""
        self._pipe.close()
        self._process.join(END_S)
        self.close()

    def close(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join(KILLED_S)
