"""The other end of the socket."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from gpuos import _core
from gpuos.control import messages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A compilation may take a minute, and others may be queued before it.
ANSWER_S = 180.0
MOST_ANSWER = 256 << 20


def ask(path: Path, message: Mapping[str, Any]) -> dict[str, Any]:
    """Send a message to the process that serves at `path`; return its answer.

    Raises
    ------
    Error
        What the process raised, or that there is none.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        try:
            _connect(connection, path)
            answer = _talk(connection, message)
        except TimeoutError:
            text = f"{path}: expected an answer in {ANSWER_S:.0f} s, got none"
            raise _core.Timeout(text) from None
        except messages.BadMessage:
            text = f"{path}: expected an answer, but the process ended first"
            raise _core.Error(text) from None
        except OSError as error:
            text = f"{path}: expected a process that serves, got {error}"
            raise _core.Error(text) from None
    if "error" in answer:
        raise error_of(answer)
    return answer


def wait(path: Path, seconds: float, runtime: int | None = None) -> bool:
    """Wait for the submitted tasks; return whether they were done in time."""
    end = time.monotonic() + seconds
    more = {} if runtime is None else {"runtime": runtime}
    while True:
        left = max(0.0, end - time.monotonic())
        message = {"command": "wait", "timeout": min(left, messages.MOST_S)}
        if ask(path, message | more)["done"]:
            return True
        if time.monotonic() >= end:
            return False


def _connect(connection: socket.socket, path: Path) -> None:
    # A socket's address has room for 107 bytes; a path may be longer.
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _talk(
    connection: socket.socket, message: Mapping[str, Any]
) -> dict[str, Any]:
    # A server that closes the connection says why.
    with contextlib.suppress(BrokenPipeError):
        messages.send(connection, message, messages.MOST_S)
    line = messages.receive(connection, ANSWER_S, MOST_ANSWER)
    return messages.parse(line)


def error_of(answer: Mapping[str, Any]) -> _core.Error:
    """Return the error that an answer reports."""
    kind = getattr(_core, str(answer["error"]), None)
    text = str(answer.get("message", ""))
    if not (isinstance(kind, type) and issubclass(kind, _core.Error)):
        return _core.Error(f"{answer['error']}: {text}")
    error = kind(text)
    if answer.get("log"):
        error.log = str(answer["log"])  # type: ignore[attr-defined]
    return error
