"""Threads that read one message of a connection, run it and answer.

The threads are Python threads. One that waits for a client is blocked in the
kernel, without the GIL and without a lock of a runtime. It parses a message
once it is complete. The command then does what a thread of the program could.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import socket
import struct
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from gpuos import _core
from gpuos.control import messages
from gpuos.control.commands import Client, Refused
from gpuos.control.messages import MOST_BYTES, MOST_S

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from gpuos.control.commands import Commands
    from gpuos.control.socket_file import SocketFile

log = logging.getLogger("gpuos.control")

CLIENTS = 8  # at once; others wait until one is done
CLOSE_S = 60.0  # as long as a compiler may take
RETRY_S = 0.1
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid

_servers: weakref.WeakSet[Server] = weakref.WeakSet()


class Server:
    """The result of serve(). close() ends it, and so does a with-block."""

    def __init__(self, file: SocketFile, commands: Commands) -> None:
        self._file = file
        self._commands = commands
        self._connections: set[socket.socket] = set()
        self._is_over = False
        self._process = os.getpid()
        self._threads: list[threading.Thread] = []
        _servers.add(self)
        try:
            self._start_threads()
        except RuntimeError:  # no more threads can be started
            self.close()
            raise
        log.info("%s: serving process %d", self.path, self._process)

    @property
    def path(self) -> Path:
        """Return the path of the socket."""
        return self._file.path

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Take no more messages; a change that has begun is waited for."""
        self._stop()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(CLOSE_S)
        # A thread must not accept at a number that is another file's by then.
        if not any(thread.is_alive() for thread in self._threads):
            self._file.forget()

    def _start_threads(self) -> None:
        for _ in range(CLIENTS):
            thread = threading.Thread(
                target=self._work, name="gpuos-control", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def _stop(self) -> None:
        if self._is_over or os.getpid() != self._process:
            return
        self._is_over = True
        # Ends the waits of the threads: a close would not.
        with contextlib.suppress(OSError):
            self._file.listener.shutdown(socket.SHUT_RDWR)
        for connection in [*self._connections]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        self._file.remove()

    def _end(self) -> None:
        """Stop, at the end of the process, which waits for no client."""
        self._stop()
        # They end with it, which Python need not warn of.
        for one in (self._file.listener, *self._connections):
            one.detach()

    def _leave_to_parent(self) -> None:
        """Close the descriptors that a forked child has from its parent."""
        self._is_over = True
        self._file.forget()
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _work(self) -> None:
        listener = self._file.listener
        while not self._is_over:
            try:
                connection, _ = listener.accept()
            except OSError as error:
                if not self._is_over:  # perhaps no descriptor was left
                    log.debug("a client was not accepted: %s", error)
                    time.sleep(RETRY_S)
                continue
            with connection:
                self._connections.add(connection)
                try:
                    if not self._is_over:
                        self._talk(connection)
                except OSError as error:
                    log.debug("a client is gone: %s", error)
                finally:
                    self._connections.discard(connection)

    def _talk(self, connection: socket.socket) -> None:
        data = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
        )
        pid, uid, _ = _CREDENTIALS.unpack(data)
        try:
            if uid != os.geteuid():
                log.warning("refused uid %d, pid %d", uid, pid)
                raise Refused(f"expected user {os.geteuid()}, got {uid}")
            line = messages.receive(connection, MOST_S, MOST_BYTES)
            answer = self._commands.run(messages.parse(line), Client(pid, uid))
        except Exception as error:  # noqa: BLE001 (it is the client's)
            answer = failure(error)
        messages.send(connection, answer, MOST_S)


def failure(error: Exception) -> dict[str, Any]:
    """Return the answer that reports an error."""
    return {
        "error": name_of(error),
        "message": str(error),
        "log": str(getattr(error, "log", "")),
    }


def name_of(error: Exception) -> str:
    """Return the name of an error as a client knows it."""
    # NumPy's errors of a dtype and those of messages are the client's fault.
    if isinstance(error, TypeError | ValueError | Refused):
        return _core.InvalidArgument.__name__
    for kind in type(error).__mro__:
        if kind.__module__ == _core.Error.__module__:
            return kind.__name__
    return type(error).__name__


def _end_all() -> None:
    for server in [*_servers]:
        server._end()


def _leave_all_to_parent() -> None:
    for server in [*_servers]:
        server._leave_to_parent()
    _servers.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_leave_all_to_parent)
