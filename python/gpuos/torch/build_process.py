"""Compile the bridge in another process; this side of it.

A compilation that is waited for lives as long as the standard input that this
process holds open. Any end of this process ends it too, even a kill, and leaves
no files. A compilation in the background outlives this process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gpuos

WORKER = Path(__file__).with_name("build_worker.py")
END_TIMEOUT_S = 30


class Lock:
    """The right to compile, held by one of the processes that share a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = (folder / "lock").open("w")

    def acquire(self) -> bool:
        """Take it; return whether it was free."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def fileno(self) -> int:
        """Return its file, with which another process is given it."""
        return self._file.fileno()

    def close(self) -> None:
        """Give it up; another holder keeps it until it ends."""
        self._file.close()


class BuildProcess:
    """One compilation that runs, or has ended.

    Parameters
    ----------
    plan : dict
        See build_worker.py.
    lock : Lock
        It is the other process's too, until that ends.
    """

    def __init__(self, plan: dict[str, Any], lock: Lock) -> None:
        if not sys.executable:
            text = "gpuos.torch: expected to know which Python this is"
            raise gpuos.BackendUnavailable(text)
        self.outlives = plan["outlives"]
        self._target = Path(plan["target"])
        self._began = time.monotonic()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (lives as this)
        # Not of the terminal's group: whether Ctrl-C ends this process is its
        # own matter, and the other one follows it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            cwd="/",
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )
        assert self._process.stdin is not None
        self._input = self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._input.write(json.dumps(plan).encode() + b"\n")
            self._input.flush()
            if self.outlives:
                self._input.close()

    def has_ended(self) -> bool:
        """Return whether there is a result; never waits."""
        return self._process.poll() is not None

    def lines(self) -> list[dict[str, Any]]:
        """Return the messages so far, see build_worker.py."""
        size = os.fstat(self._output.fileno()).st_size
        whole = os.pread(self._output.fileno(), size, 0).decode(
            errors="replace"
        )
        found = []
        for line in whole.split("\n")[:-1]:
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"error": whole})  # Python's, as it broke down
        return found

    def seconds(self) -> float:
        """Return how long ago it began."""
        return time.monotonic() - self._began

    def check(self) -> None:
        """Raise CompileError if it has ended without a bridge."""
        if self._target.exists():
            return
        errors = [line["error"] for line in self.lines() if "error" in line]
        code = self._process.returncode
        what = errors[-1] if errors else f"its process ended with {code}"
        raise gpuos.CompileError(f"gpuos.torch: compiling the bridge: {what}")

    def stop(self) -> None:
        """End the process, if it runs, and make it remove its files."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def forget(self) -> None:
        """Release it in the child of a fork, which does not own it."""
        self._input.close()
        self._output.close()
        self._process.returncode = 0
