"""The messages of the socket: a line of JSON to the server, and one back."""

from __future__ import annotations

import json
import json.scanner
import socket
import time
from typing import Any, NoReturn

MOST_BYTES = 1 << 20
MOST_S = 5.0
_PIECE = 64 << 10
_LONGEST_NUMBER = 20  # digits; Python's own conversion may be slow


class BadMessage(ValueError):
    """Reports that a line is no message."""


def receive(connection: socket.socket, seconds: float, most: int) -> bytes:
    """Return a line; the whole of it must come in time.

    Raises
    ------
    BadMessage
        If it is too long, or the other one ended before its end.
    TimeoutError
        If it did not come in time.
    """
    end = time.monotonic() + seconds
    line = bytearray()
    while not line.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0:
            got = f"got {len(line)} bytes of one"
            raise TimeoutError(f"expected a line within {seconds:g} s, {got}")
        connection.settimeout(left)
        try:
            piece = connection.recv(_PIECE)
        except TimeoutError:
            continue
        if not piece:
            raise BadMessage("expected a line of JSON, got its beginning")
        line += piece
        if len(line) > most:
            raise BadMessage(f"expected at most {most} bytes, got more")
        if b"\n" in piece[:-1]:
            raise BadMessage("expected one line, got two")
    return bytes(line)


def send(connection: socket.socket, message: object, seconds: float) -> None:
    """Send a message as a line."""
    data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    connection.settimeout(seconds)
    # A client that is gone must not end a process that minds SIGPIPE.
    connection.sendall(data, socket.MSG_NOSIGNAL)


def parse(line: bytes) -> dict[str, Any]:
    """Return the object that a line holds.

    Raises
    ------
    BadMessage
        If it holds something else, or JSON that is not strict.
    """
    try:
        found = _READER.decode(line.decode())
    except RecursionError:
        raise BadMessage("expected few levels of JSON, got many") from None
    except BadMessage:
        raise
    except ValueError as error:  # UTF-8's and JSON's
        raise BadMessage(f"expected JSON, got {error}") from None
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise BadMessage(f"expected a JSON object, got {kind}")
    return found


def _refuse(text: str) -> NoReturn:
    raise BadMessage(f"expected numbers of JSON, got {text}")


def _integer(text: str) -> int:
    return int(text) if len(text) <= _LONGEST_NUMBER else _refuse(text[:40])


def _real(text: str) -> float:
    return float(text) if len(text) <= 2 * _LONGEST_NUMBER else _refuse("more")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadMessage("expected each name once, got one twice")
    return found


class _Reader(json.JSONDecoder):
    """Python's own JSON decoder, without its C part.

    The C decoder keeps all other threads waiting until it has read the whole
    message. This may take 0.2 s for a MiB of small values.
    """

    def __init__(self) -> None:
        super().__init__(
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_real,
            object_pairs_hook=_object,
        )
        scanner: Any = json.scanner
        self.scan_once = scanner.py_make_scanner(self)


_READER = _Reader()
