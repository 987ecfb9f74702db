"""For any input, the process that serves continues to compute."""

import json
import random

import alone
import control_messages
import pytest
from control_messages import ANSWERED, raw
from control_support import Load, connected

import gpuos
from gpuos.control import client

# NumPy's, of words that were dtypes once.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def server(host, tmp_path):
    """Serve a runtime that computes meanwhile, and does so to the end."""
    host.define("spare", "o = x + 1")
    with (
        Load(host) as load,
        gpuos.serve(tmp_path / "s", runtime=host) as made,
    ):
        made.load = load
        made.number = next(
            n for n, rt in gpuos._core._live_runtimes().items() if rt is host
        )
        yield made
        assert client.ask(made.path, {"command": "list"})["runtimes"]
        assert {t.is_alive() for t in made._threads} == {True}


def line_of(message):
    return json.dumps(message).encode() + b"\n"


def test_fields_of_another_kind_are_refused(server):
    count = 0
    for name, message in control_messages.wrong_fields():
        answer = raw(server.path, line_of(message))
        assert answer["error"] == "InvalidArgument", (message, answer)
        assert name in answer["message"], (message, answer)
        count += 1
    assert count > 100


def test_fields_of_their_kind_are_answered(server, monkeypatch):
    # Numbers of other runtimes, names of no operators, texts of no code.
    monkeypatch.setitem(control_messages.RIGHT, "runtime", server.number)
    refused = 0
    for message in control_messages.right_kinds():
        answer = raw(server.path, line_of(message))
        assert answer.get("error", "InvalidArgument") in ANSWERED, (
            message,
            answer,
        )
        refused += "error" in answer
    assert refused > 20


@pytest.mark.parametrize("name", control_messages.NO_MESSAGES)
def test_invalid_messages_are_refused(server, name):
    answer = raw(server.path, control_messages.NO_MESSAGES[name])
    # The answer may be lost if a client continues to send.
    is_long = len(control_messages.NO_MESSAGES[name]) > 1 << 20
    assert answer is not None or is_long
    if answer is not None:
        assert answer["error"] == "InvalidArgument", answer
        assert len(answer["message"]) < 1000, answer


def test_broken_messages_are_answered():
    found = alone.first_finding("control_messages", 400, seed=1, batch=200)
    assert found is None, found


def test_some_broken_messages_are_right(server):
    dice = random.Random(1)
    answers = [
        raw(server.path, control_messages.draw(dice)) for _ in range(100)
    ]
    right = ["error" not in answer for answer in answers]
    assert 3 < right.count(True) < 50


def test_no_answer_is_a_finding(monkeypatch):
    case = control_messages.draw(random.Random(1))
    assert control_messages.finding(case) == ""
    monkeypatch.setattr(control_messages, "raw", lambda *_: None)
    assert control_messages.finding(case) == "there was no answer"


def test_every_prefix_of_a_message_is_refused(server):
    line = line_of({"command": "replace", "op": "spare", "expression": "o = x"})
    for length in range(len(line)):
        answer = raw(server.path, line[:length])
        assert answer["error"] == "InvalidArgument"


def test_a_message_of_the_largest_size_is_taken(server):
    text = "o = x + 1" + " " * (1 << 20)
    message = {"command": "replace", "op": "spare", "expression": text}
    size = len(line_of(message))
    message["expression"] = text[: len(text) - (size - (1 << 20))]
    assert len(line_of(message)) == 1 << 20
    assert "operator" in raw(server.path, line_of(message))
    message["expression"] += " "
    answer = raw(server.path, line_of(message))
    assert answer is None or "at most 1048576 bytes" in answer["message"]


TURNS = """
import statistics, threading
from gpuos.control import messages
line = b"[" + b"[]," * 340_000 + b"[]]\\n"
turns = 0
is_over = threading.Event()
def count():
    global turns
    while not is_over.wait(0.0005):
        turns += 1
def turns_of_one():
    before = turns
    try: messages.parse(line)
    except messages.BadMessage: return turns - before
threading.Thread(target=count).start()
print(statistics.median(turns_of_one() for _ in range(9)) > 3)
is_over.set()
"""


def test_other_threads_run_while_a_message_is_read(printed_by):
    # In a process of its own: plugins of pytest have turns of their own.
    assert printed_by(TURNS) == "True\n"


def test_a_message_may_arrive_in_pieces(server):
    with connected(server.path) as connection:
        for byte in line_of({"command": "show", "op": "spare"}):
            connection.sendall(bytes([byte]))
        assert json.loads(connection.recv(1 << 16))["operator"] == "spare"


def test_a_closed_client_sends_no_sigpipe(printed_by):
    text = """
import gpuos, signal, socket, tempfile
from gpuos.control import client
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
rt = gpuos.Runtime("host")
with gpuos.serve(tempfile.mkdtemp() + "/s") as server:
    for _ in range(100):
        s = socket.socket(socket.AF_UNIX)
        s.connect(str(server.path))
        s.sendall(b'{"command":"list"}\\n')
        s.close()
    client.ask(server.path, {"command": "list"})  # after all of them
print("end")
"""
    assert printed_by(text) == "end\n"
