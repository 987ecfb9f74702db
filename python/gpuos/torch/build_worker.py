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
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

SCRATCH = "building-"  # what folders are called that are removed at the end
REFUSAL = ".error"  # in place of the target's suffix
LOOK_S = 0.02
STOPPED = 3

_stop = threading.Event()


class Failed(Exception):
    """Reports that a compiler failed."""


class Stopped(Exception):
    """Reports that the result is no longer needed."""


def run(words: list[str], scratch: Path) -> str:
    """Run one compiler; return its warnings, or raise Failed with its errors."""
    if _stop.is_set():
        raise Stopped
    with tempfile.TemporaryFile(dir=scratch) as output:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,  # a process that outlives it would hold a pipe
            stderr=output,
            cwd=scratch,
            env={**os.environ, "TMPDIR": str(scratch)},
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                if _stop.wait(LOOK_S):
                    raise Stopped
        finally:
            if process.poll() is None:  # then kill all that it started
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != 0:
        said = f"{' '.join(words)}: exit code {process.returncode}\n"
        raise Failed(said + text.rstrip())
    return text


def run_all(
    plan: dict[str, Any], commands: list[list[str]], scratch: Path
) -> Iterator[str]:
    """Run compilers, `at_a_time`; yield the warnings of each that has ended."""
    with futures.ThreadPoolExecutor(plan["at_a_time"]) as pool:
        running = {pool.submit(run, words, scratch) for words in commands}
        try:
            while running:
                ended, running = futures.wait(
                    running, LOOK_S, futures.FIRST_COMPLETED
                )
                for one in ended:
                    yield one.result()
                if _stop.is_set():
                    raise Stopped
                if time.monotonic() > plan["end"]:
                    limit = plan["deadline_s"]
                    raise Failed(
                        f"expected the compiler to end within {limit} s"
                    )
        except BaseException:
            _stop.set()  # the pool then waits for killed compilers
            raise


def work(plan: dict[str, Any], scratch: Path) -> None:
    """Follow a plan."""
    plan["end"] = time.monotonic() + plan["deadline_s"]
    objects, commands = [], []
    for name, text in plan["units"].items():
        unit = scratch / name
        unit.write_text(text)
        objects.append(f"{unit}.o")
        commands.append([*plan["compile"], str(unit), "-o", objects[-1]])
    linked = scratch / "linked.so"
    link = [*plan["link"], *objects, "-o", str(linked), *plan["trailing"]]
    said = itertools.chain(
        run_all(plan, commands, scratch), run_all(plan, [link], scratch)
    )
    for done, says in enumerate(said, start=1):
        tell(done=done, of=len(commands) + 1, says=says)
    linked.replace(plan["target"])


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
        work(plan, scratch)
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
