"""Messages to a process that serves, wrong in every way that its table allows.

Each message is answered, and the process continues to compute.
"""

import json
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import gpuos
from gpuos.control import client
from gpuos.control.commands import TABLE
from gpuos.control.messages import MOST_BYTES

ANSWERED = {"none", "InvalidArgument", "CompileError", "BackendUnavailable"}
WAIT_S = 120.0

VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    -1e300,
    2**31,
    2**63,
    10**19,
    "",
    "text",
    "\0",
    "\ud800",
    "/etc/passwd",
    "%s%n",
    "x" * 5000,
    [],
    [1],
    ["a"],
    ["a", None],
    [["a"]],
    {},
    {"a": 1},
    {"a": "float32"},
    {"": ["b"]},
    {"\ud800": "float32"},
    ["\udfff"],
]

# A value of each kind that a field of it takes.
RIGHT = {
    "op": "spare",
    "name": "made",
    "expression": "o = x + 1",
    "source": "GPUOS_OPERATOR(spare) {}",
    "params": {"k": "float32"},
    "dtype": "float32",
    "inputs": 1,
    "elementwise": True,
    "checked": False,
    "runtime": 1,
    "expected": 1,
    "timeout": 0,
}


def right_messages():
    """Yield a message of each command with only the required fields."""
    for word, command in TABLE.items():
        needed = {n: RIGHT[n] for n, f in command.fields.items() if f[1]}
        yield {"command": word, **needed}


def wrong_fields():
    """Each field of each command with each value that is not of its kind."""
    for message in right_messages():
        fields = TABLE[message["command"]].fields
        for name, field in fields.items():
            for value in VALUES:
                if not field.kind.holds(value):
                    yield name, {**message, name: value}
        for name in message.keys() - {"command"}:
            yield name, {k: v for k, v in message.items() if k != name}
        yield "unknown", {**message, "unknown": 1}


def right_kinds():
    """Yield each field with each value of its kind; many are meaningless."""
    for message in right_messages():
        for name, field in TABLE[message["command"]].fields.items():
            for value in VALUES:
                if field.kind.holds(value):
                    yield {**message, name: value}


NO_MESSAGES = {
    "nothing": b"",
    "an empty line": b"\n",
    "no line": b'{"command":"list"}',
    "no JSON": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no object": b'["list"]\n',
    "a number": b"7\n",
    "null": b"null\n",
    "a text": b'"list"\n',
    "no command": b"{}\n",
    "a command that is none": b'{"command":"eval"}\n',
    "a command that is no text": b'{"command":["list"]}\n',
    "a method": b'{"command":"_one"}\n',
    "a field twice": b'{"command":"list","command":"list"}\n',
    "two lines": b'{"command":"list"}\n{"command":"list"}\n',
    "two objects": b'{"command":"list"}{}\n',
    "not a number": b'{"command":"wait","timeout":NaN}\n',
    "infinity": b'{"command":"wait","timeout":Infinity}\n',
    "a huge exponent": b'{"command":"wait","timeout":1e99999}\n',
    "a huge integer": b'{"command":"list","runtime":' + b"9" * 900_000 + b"}\n",
    "a huge real": b'{"command":"wait","timeout":0.' + b"9" * 900_000 + b"}\n",
    "a minus": b'{"command":"list","runtime":-}\n',
    "deep lists": b"[" * 500_000 + b"\n",
    "deep objects": b'{"a":' * 150_000 + b"\n",
    "deep in a field": b'{"command":"define","name":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}\n",
    "many fields": b"{"
    + b",".join(b'"f%d":1' % i for i in range(50_000))
    + b"}\n",
    "many lists": b"[" + b"[]," * 340_000 + b"[]]\n",
    "many texts": b"[" + b'"",' * 340_000 + b"1]\n",
    "a text without an end": b'{"command":"' + b"\\\\" * 400_000 + b"\n",
    "UTF-16": '{"command":"list"}\n'.encode("utf-16"),
    "a mark of order": b'\xef\xbb\xbf{"command":"list"}\n',
    "no UTF-8": b'{"command":"show","op":"\xff\xfe"}\n',
    "a zero byte": b'{"command":"list"\0}\n',
    "zeros": bytes(100_000),
    "one too long": b'"' + b"x" * MOST_BYTES + b'"\n',
    "far too long": b" " * (4 * MOST_BYTES),
    "a comment": b'{"command":"list"} // all\n',
    "single quotes": b"{'command':'list'}\n",
    "Python": b"__import__('os').abort()\n",
    "a pickle": b"cos\nabort\n(tR.\n",
}


def draw(dice: random.Random) -> bytes:
    """A right message, as a line, broken somewhere."""
    message = dice.choice([*right_messages()])
    fields = TABLE[message["command"]].fields
    for name in dice.sample([*fields], dice.randint(0, min(3, len(fields)))):
        message[name] = dice.choice([RIGHT[name], dice.choice(VALUES)])
    data = bytearray(json.dumps(message).encode() + b"\n")
    for _ in range(dice.choice([0, 1, 1, 2, 8])):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(5)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data[at:at] = bytes(dice.choices(range(256), k=dice.randint(1, 9)))
        elif kind == 2:
            data[at : at + 1] = bytes([dice.randrange(256)])
        elif kind == 3:
            data[at:at] = data[dice.randrange(len(data) + 1) :]
        else:
            del data[at : at + dice.randint(1, 9)]
    return bytes(data)


def text(case: bytes) -> str:
    return f"bytes to the socket of gpuos.serve(): {case!r}"


@cache
def _served() -> tuple[gpuos.Runtime, Path]:
    """Return a runtime and its socket, for all cases of a process."""
    rt = gpuos.Runtime("host", workers=1)
    rt.define("spare", "o = x + 1")
    rt.define("right", "o = 2 * x")
    return rt, gpuos.serve(Path(tempfile.mkdtemp(), "s"), runtime=rt).path


def raw(path: Path, data: bytes) -> dict | None:
    """Send bytes and an end; return the answer, None if there was none."""
    received = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(WAIT_S)
        client._connect(connection, path)
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                received += piece
        except (BrokenPipeError, ConnectionResetError):
            pass  # it had seen enough
    return json.loads(received) if received else None


def finding(case: bytes) -> str:
    """Return the finding, or an empty text."""
    rt, path = _served()
    answer = raw(path, case)
    if answer is None:
        return "there was no answer"
    if answer.get("error", "none") not in ANSWERED:
        return f"answered {answer}"
    x = np.arange(8, dtype=np.float32)
    out = np.empty_like(x)
    rt.wait(rt.submit("right", x, out=out), timeout=WAIT_S)
    return "" if np.array_equal(out, 2 * x) else f"2 * {x} is {out}"
