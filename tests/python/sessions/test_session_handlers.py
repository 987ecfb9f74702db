"""Signal handlers and finalizers that ask a session amid one of its cells."""

import os
import signal

from session_support import make_session

import gpuos

# LOOKS work inside of a cell of the same thread, CHANGES are refused.
LOOKS = {
    "names": lambda s: s.names(),
    "stats": lambda s: s.stats()["cells"],
    "item": lambda s: s["n"],
    "repr": repr,
}
CHANGES = {
    "run": lambda s: s.run("int other;"),
    "run_file": lambda s: s.run_file(__file__),
    "undo": lambda s: s.undo(),
    "bind": lambda s: s.bind(other=1),
    "unbind": lambda s: s.unbind("other"),
    "kernel": lambda s: s.kernel("k"),
    "follow": lambda s: s.kernel("k", follow=True),
    "link": lambda s: s.link("k"),
    "read": lambda s: s.read("n", "i4"),
    "write": lambda s: s.write("n", b"1234"),
    "address": lambda s: s.address("n"),
    "operator": lambda s: s.operator("f"),
    "export_cubin": lambda s: s.export_cubin(),
}


def test_a_signal_handler_may_read_a_busy_session(host, tmp_path, monkeypatch):
    # A compiler that continues after the handler has ended.
    compiler, waiting = tmp_path / "compiler", tmp_path / "waiting"
    compiler.write_text(
        f"#!/bin/sh\n[ ! -e {waiting} ] || kill -USR1 {os.getpid()}\n"
        f"while [ -e {waiting} ]; do sleep 0.01; done\n"
        f'exec {os.environ.get("CXX", "c++")} "$@"\n'
    )
    compiler.chmod(0o755)
    answers: dict[str, object] = {}

    def handle(*_: object) -> None:
        for name, ask in {**LOOKS, **CHANGES}.items():
            try:
                answers[name] = ask(session)
            except gpuos.InvalidArgument as error:
                answers[name] = str(error)
        waiting.unlink()

    session = make_session(host)
    session.run("int n = 1;\n__global__ void k(int* x) { *x = 1; }")
    monkeypatch.setenv("CXX", str(compiler))
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        waiting.touch()
        session.run("n = n + 2;")
    finally:
        signal.signal(signal.SIGUSR1, before)
    looks = {name: answers.pop(name) for name in LOOKS}
    assert looks["names"] == ["k", "n"]
    assert looks["item"] == looks["stats"] == 1
    assert all("runs a cell" in str(answers[name]) for name in CHANGES)
    assert session["n"] == 3
