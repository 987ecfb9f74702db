"""Compile and link a bridge in a separate process, see build_process.py.

It needs only Python's standard library, so it starts quickly. Its standard
input is a plan, one line of JSON, and then nothing. The end of the input means
that the caller has ended in some way, or wants no bridge any more. Then the
compilers are killed, their output is removed, and this process ends. If the
plan `outlives` its caller, the end of the input means nothing.

A plan has a `target`, the path of a file that appears when all is done; `units`,
texts of C++ by their names; `compile` and `link`, the words of a command before
`FILE -o OBJECT` and before `-o TARGET`; `trailing`, words after those of the
link; `at_a_time` compilers; `nice`; `outlives`; and `deadline_s`.

It prints a line of JSON for each step: `{"done": 1, "of": 2, "says":
"warnings"}`, or at last `{"error": "the compiler's output"}` with the exit code
1. A file next to the target has that error too, for later processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

SCRATCH = "building-"  # what folders are called that are removed at the end
REFUSAL = ".error"  # in place of the target's suffix
LOOK_S = 0.02
STOPPED = 3

_stop = threading.Event()


class Failed(Exception):
    """A compiler refused."""


class Stopped(Exception):
    """The result is not wanted any more."""


class Command:
    """One run of a compiler, with all that it starts."""

    def __init__(self, words: list[str], scratch: Path, number: int) -> None:
        self.words = words
        self._output = scratch / f"{number}.log"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=scratch,
                env={**os.environ, "TMPDIR": str(scratch)},
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def says(self) -> str:
        """Return its warnings; raise Failed with its errors."""
        text = self._output.read_text(errors="replace")
        code = self._process.returncode
        if code != 0:
            words = " ".join(self.words)
            raise Failed(f"{words}: exit code {code}\n{text.rstrip()}")
        return text

    def end(self) -> None:
        """Kill it and its children, unless it has ended."""
        if not self.has_ended():
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Work:
    """The steps of one plan."""

    def __init__(self, plan: dict[str, Any], scratch: Path) -> None:
        self._plan = plan
        self._scratch = scratch
        self._end = time.monotonic() + plan["deadline_s"]
        self._started = self._done = 0
        self._of = len(plan["units"]) + 1

    def run(self) -> None:
        units, objects = [], []
        for name, text in self._plan["units"].items():
            unit = self._scratch / name
            unit.write_text(text)
            units.append(unit)
            objects.append(str(unit.with_suffix(".o")))
        words = [
            [*self._plan["compile"], str(unit), "-o", made]
            for unit, made in zip(units, objects, strict=True)
        ]
        self._run_all(words)
        target = Path(self._plan["target"])
        linked = self._scratch / "linked.so"
        link = [*self._plan["link"], *objects, "-o", str(linked)]
        self._run_all([[*link, *self._plan["trailing"]]])
        linked.replace(target)

    def _run_all(self, waiting: list[list[str]]) -> None:
        running: list[Command] = []
        try:
            while waiting or running:
                while waiting and len(running) < self._plan["at_a_time"]:
                    self._started += 1
                    running.append(
                        Command(waiting.pop(0), self._scratch, self._started)
                    )
                for command in [one for one in running if one.has_ended()]:
                    running.remove(command)
                    says = command.says()
                    self._done += 1
                    tell(done=self._done, of=self._of, says=says)
                self._wait()
        finally:
            for command in running:
                command.end()

    def _wait(self) -> None:
        if _stop.wait(LOOK_S):
            raise Stopped
        if time.monotonic() > self._end:
            limit = self._plan["deadline_s"]
            raise Failed(f"expected the compiler to end within {limit} s")


def tell(**line: Any) -> None:
    """Print a line for the caller."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def watch_input() -> None:
    """Stop when the other end of the standard input is closed."""
    while os.read(0, 1):
        pass
    _stop.set()


def main() -> int:
    """Follow the plan; return the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _stop.set())
    line = sys.stdin.buffer.readline()
    if not line:
        return STOPPED
    plan = json.loads(line)
    if not plan["outlives"]:
        threading.Thread(target=watch_input, daemon=True).start()
    os.nice(plan["nice"])
    refusal = Path(plan["target"]).with_suffix(REFUSAL)
    refusal.unlink(missing_ok=True)
    folder = refusal.parent
    for left in folder.glob(f"{SCRATCH}*"):  # of a killed process
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder))
    try:
        Work(plan, scratch).run()
    except (Failed, OSError) as error:
        with contextlib.suppress(OSError):
            refusal.write_text(str(error))
        tell(error=str(error))
        return 1
    except Stopped:
        return STOPPED
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
