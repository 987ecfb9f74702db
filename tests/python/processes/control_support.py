"""A process that serves, clients that behave and clients that do not."""

import contextlib
import socket
import threading
from pathlib import Path

import numpy as np
from deadlines import WAIT_S, until
from program_support import gpuos_command

from gpuos.control import client


def ctl(path, *words, stdin=None):
    """Run `python -m gpuos ctl`."""
    return gpuos_command("ctl", path, *words, input=stdin)


@contextlib.contextmanager
def connected(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(WAIT_S)
        client._connect(connection, path)
        yield connection


def open_files():
    """Return the target of each descriptor; other threads may close some."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return found


class Load:
    """A thread that computes all the time, and checks each result."""

    def __init__(self, rt):
        self.rounds = 0
        self.wrong = 0
        self._is_over = False
        self._rt = rt
        self._op = rt.define("load", "o = 2 * x + y")
        self._thread = threading.Thread(target=self._work)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        before = self.rounds
        try:
            until(lambda: self.rounds > before)
        finally:
            self._is_over = True
            self._thread.join()
        assert self.wrong == 0

    def _work(self):
        x = self._rt.array(np.arange(64, dtype="f4"))
        out = self._rt.empty(64)
        right = 3 * np.arange(64, dtype="f4")
        while not self._is_over:
            self._rt.submit(self._op, x, x, out=out)
            self.wrong += not np.array_equal(out.numpy(), right)
            self.rounds += 1
