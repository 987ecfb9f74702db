"""Native code of the host backend that outlives its process."""

import shutil
import signal
import subprocess
import sys
import time

import pytest
from deadlines import COMPILE_S, until

# Prints 2 * 3 + HEADER's number, by an operator and by a compiled program.
PROGRAM = '''
import sys
import numpy as np
import gpuos

rt = gpuos.Runtime("host")
op = rt.define("kept", inputs=1, source="""
#include <cmath>
TEXT
GPUOS_OPERATOR(kept) {
  for (auto i = lane.index(); i < task.count; i += lane.count())
    task.pointer<float>(0)[i] = 2 * task.pointer<float>(1)[i] + MORE;
}
""")
out = rt.zeros(4)
rt.wait(rt.submit(op, np.full(4, 3, "f4"), out=out))
fused = rt.fuse(lambda x: x * 2 + 1)
fused.compile(out)
print(out.tolist()[0], fused(out).tolist()[0])
'''
# The first line of a source, and whether a second process takes its code.
TEXTS = {
    "plain": ("#define MORE 1", True),
    "a header": ('#include "HEADER"', True),
    "the time": ('#define MORE (__TIME__[0] ? 1 : 0)', False),
    "a question": ('#if __has_include("HEADER")\n#define MORE 1\n#endif', False),
}  # fmt: skip


class Machine:
    """A compiler that counts its runs, and a folder for the cache."""

    def __init__(self, folder, monkeypatch):
        self.runs = folder / "runs"
        self.cache = folder / "cache"
        self.header = folder / "more numbers.h"
        self.header.write_text("#define MORE 1\n")
        self.compiler = folder / "counted"
        self.compiler.write_text(
            f'#!/bin/sh\ncase "$*" in *--version) ;; *) echo >> {self.runs};; '
            f'esac\nexec {shutil.which("g++") or shutil.which("c++")} "$@"\n'
        )
        self.compiler.chmod(0o755)
        monkeypatch.setenv("CXX", str(self.compiler))
        monkeypatch.setenv("GPUOS_CACHE_DIR", str(self.cache))

    def start(self, text="plain"):
        source = PROGRAM.replace("TEXT", TEXTS[text][0])
        source = source.replace("HEADER", str(self.header))
        return subprocess.Popen(
            [sys.executable, "-c", source],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def end(process):
        out, err = process.communicate(timeout=COMPILE_S)
        assert (process.returncode, err) == (0, "")
        return [float(word) for word in out.split()]

    def run(self, text="plain"):
        """Returns the output of a process, and how often it compiled."""
        before = self.count()
        return self.end(self.start(text)), self.count() - before

    def count(self):
        return len(self.runs.read_text()) if self.runs.exists() else 0


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize("text", TEXTS)
def test_a_second_process_compiles_nothing(machine, text):
    assert machine.run(text) == ([7, 15], 2)
    assert machine.run(text) == ([7, 15], 0 if TEXTS[text][1] else 1)


def test_an_edited_header_is_seen(machine):
    machine.run("a header")
    machine.header.write_text("#define MORE 25\n")
    assert machine.run("a header") == ([31, 63], 1)
    machine.header.unlink()
    process = machine.start("a header")
    assert "CompileError" in process.communicate(timeout=COMPILE_S)[1]


def test_another_compiler_or_environment_recompiles(machine, monkeypatch):
    machine.run()
    monkeypatch.setenv("CXX", f"{machine.compiler} -g0")
    assert machine.run() == ([7, 15], 2)
    monkeypatch.setenv("CPATH", "/tmp")
    assert machine.run() == ([7, 15], 2)
    machine.compiler.write_text(machine.compiler.read_text() + "\n")
    assert machine.run() == ([7, 15], 2)
    assert machine.run() == ([7, 15], 0)


def test_no_cache_on_the_disk(machine, monkeypatch):
    monkeypatch.setenv("GPUOS_CACHE_DIR", "off")
    assert machine.run()[1] == 2
    assert machine.run()[1] == 2


def test_a_wait_for_another_process_can_be_interrupted(machine, tmp_path):
    asked = tmp_path / "asked"
    machine.compiler.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo >> {asked}; echo 1\n'
        f"else echo >> {machine.runs}; exec sleep 1000; fi\n"
    )
    first = machine.start()
    until(lambda: machine.count() == 1)
    second = machine.start()
    until(lambda: len(asked.read_text()) == 2)
    time.sleep(0.5)  # it waits; the test holds as well if it does not yet
    begin = time.monotonic()
    second.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in second.communicate(timeout=COMPILE_S)[1]
    assert time.monotonic() - begin < LOCKED_S
    assert machine.count() == 1
    first.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in first.communicate(timeout=COMPILE_S)[1]


LOCKED_S = 9  # shorter than the wait for the lock
