"""A run in a process of its own: a row that kills it takes no other along.

The process writes down which measurement it begins and what it has. Where it
dies, or is ended because a measurement hangs, another one goes on behind that.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from gpuos.bench.row import Row, Series

LATE = 3  # the exit code of a run that hangs
ENDS = (0, 1, 2, 130)  # all was tried, or cannot be, or Ctrl-C
ENDED_BY = 128  # and the signal's number, as shells have it
INTERRUPTED = 130
WAIT_S = 30.0


class State:
    """The progress of a run, in a file; nowhere if there is none.

    Parameters
    ----------
    path : Path or None
        Written by the process that measures, before and after each
        measurement.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        content = _read(path)
        self.rows = [Row(**row) for row in content.get("rows", [])]
        self.series = {
            name: Series(**one)
            for name, one in content.get("series", {}).items()
        }
        self.done: list[str] = content.get("done", [])
        self.before = tuple(self.done)
        # The measurement in which the earlier process died.
        self.died_in: str = content.get("current", "")
        self.reason: str = content.get("reason", "")
        self._parent = os.getppid()

    def is_wanted(self) -> bool:
        """Whether the process that began this one is still there."""
        return self._path is None or os.getppid() == self._parent

    def save(
        self,
        rows: Sequence[Row],
        series: dict[str, Series],
        current: str = "",
    ) -> None:
        """Write down what there is, and what begins now."""
        if self._path is None:
            return
        content = {
            "rows": [asdict(row) for row in rows],
            "series": {name: asdict(one) for name, one in series.items()},
            "done": self.done,
            "current": current,
        }
        _write(self._path, content)


def _write(path: Path, content: dict[str, Any]) -> None:
    # Whole or not at all: whoever writes may be ended at any moment.
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(path)


def _read(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _tried(content: dict[str, Any]) -> int:
    """Return how many measurements were begun."""
    return len(content.get("done", ())) + bool(content.get("current"))


def reason_of_end(code: int) -> str:
    """Return why a process ended, by its exit code as `subprocess` has it."""
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


def run_apart(command: Sequence[str]) -> int:
    """Run `command --state FILE` until nothing is left; return its exit code.

    It is begun again if a measurement ended it, which is then never begun
    again.
    """
    with tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder:
        path = Path(folder) / "state.json"
        tried = 0
        while True:
            code = _wait([*command, "--state", str(path)], folder)
            content = _read(path)
            before, tried = tried, _tried(content)
            if code in ENDS or code > ENDED_BY or tried == before:
                return code
            content["reason"] = reason_of_end(code)
            _write(path, content)


def _wait(command: Sequence[str], folder: str) -> int:
    """Return how the process ended, or what a shell has for our own signal."""
    # The files of a process that dies are removed with the folder.
    environment = {**os.environ, "TMPDIR": folder}
    told: list[int] = []
    with subprocess.Popen(command, env=environment) as process:

        def tell(number: int, _frame: FrameType | None) -> None:
            told.append(number)
            process.send_signal(number)

        before = signal.signal(signal.SIGTERM, tell)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # A terminal has told it too; it saves what it has.
            code = INTERRUPTED
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
        finally:
            signal.signal(signal.SIGTERM, before)
    return ENDED_BY + told[0] if told else code
