"""How a process ends while operators run and compilers work."""

from __future__ import annotations

import os
import stat
import time

import pytest
from deadlines import COMPILE_S, WAIT_S
from jit_support import or_skip

import gpuos

ENDLESS = """
GPUOS_OPERATOR(endless) {
  volatile float* out = task.pointer<volatile float>(0);
  for (;;) out[0] = out[0] + 1;
}
"""

# No test waits for as long as this watchdog does: run_python() would give up.
START = """
import gpuos, os, signal, sys, threading, time, weakref
import numpy as np
rt = gpuos.Runtime(backend={backend!r}, watchdog_s={watchdog})
op = rt.define('endless', source={endless!r}, inputs=0, elementwise=False)
out = rt.zeros(1)
def run():
    rt.submit(op, out=out)
    rt.flush()
"""


def start(backend, watchdog=10 * COMPILE_S):
    return START.format(backend=backend, watchdog=watchdog, endless=ENDLESS)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


TERMINATE = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
with rt:
    run()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(100)
"""
ENDS = {
    "exit": ("run()", 0),
    "exit with a code": ("run(); sys.exit(3)", 3),
    "an error in a with": ("with rt:\n  run()\n  sys.exit(4)", 4),
    "SIGTERM": (TERMINATE, 5),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_does_not_wait_for_an_endless_operator(
    backend, run_python, log, end
):
    text, code = ENDS[end]
    done = run_python(start(backend) + text, GPUOS_LOG=str(log))
    assert (done.returncode, done.stderr) == (code, "")
    assert "close: endless" in log.read_text()


def test_the_end_waits_for_what_is_short(backend, printed_by):
    # Functions registered before the import of gpuos are called after it closes.
    text = (
        "import atexit, numpy as np\n"
        "atexit.register(lambda: print(rt.stats()['tasks_completed']))\n"
        "import gpuos\n"
        f"rt = gpuos.Runtime(backend={backend!r})\n"
        "one = rt.array(np.ones(100_000, 'f4')); out = rt.zeros(100_000)\n"
        "for _ in range(2000): rt.submit('add', out, one, out=out)\n"
    )
    assert int(printed_by(text)) >= 2000


def test_a_block_that_ends_well_waits_for_the_watchdog(printed_by, backend):
    text = start(backend, watchdog=0.2) + (
        "try:\n"
        "  with rt: run()\n"
        "except gpuos.TaskError as error: print(error.operator)\n"
        "print(rt.stats()['is_dead'])"
    )
    assert printed_by(text) == "endless\nTrue\n"


def test_collecting_does_not_free_what_a_stuck_operator_writes(printed_by):
    text = start("host", watchdog=0.2) + (
        "import gc\n"
        "class Array(np.ndarray): pass\n"
        "mine = np.zeros(1000, 'f4').view(Array)\n"
        "seen = weakref.ref(mine)\n"
        "ticket = rt.submit(op, out=mine)\n"
        "del mine\n"
        "try: ticket.wait()\n"
        "except gpuos.TaskError as error: print(error.operator)\n"
        "gc.collect()\n"
        "print(seen() is not None)"
    )
    assert printed_by(text) == "endless\nTrue\n"


def test_output_of_a_stuck_operator_is_not_freed(printed_by):
    text = start("host", watchdog=0.2) + (
        "class Array(np.ndarray): pass\n"
        "mine = np.zeros(1000, 'f4').view(Array)\n"
        "seen = weakref.ref(mine)\n"
        "fine = np.zeros(1000, 'f4').view(Array)\n"
        "free = weakref.ref(fine)\n"
        "rt.wait(rt.submit('fill', out=fine, value=1))\n"
        "rt.submit(op, out=mine)\n"
        "del mine, fine\n"
        "try: rt.close()\n"
        "except gpuos.TaskError as error: print(error.operator)\n"
        "del rt, op, out\n"
        "print(seen() is not None, free() is None)"
    )
    assert printed_by(text) == "endless\nTrue True\n"


def test_a_program_that_only_submits_hears_of_a_stuck_operator(
    printed_by, backend
):
    text = start(backend, watchdog=0.2) + (
        "run()\n"
        "mine = rt.zeros(1) if rt.backend == 'cuda' else np.zeros(1, 'f4')\n"
        "try:\n"
        "  while True: rt.submit('fill', out=mine, value=1); time.sleep(.01)\n"
        "except gpuos.TaskError as error: print(error.operator)\n"
    )
    assert printed_by(text) == "endless\n"


def test_a_log_that_is_a_fifo_stops_nobody(printed_by, log):
    os.mkfifo(log)
    printed_by(start("host") + "run()", GPUOS_LOG=str(log))


def need_nvrtc():
    or_skip(gpuos.JitModule, "")


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# Its version is asked before it compiles.
@pytest.mark.parametrize("version", ["", "[ $1 = --version ] && exec echo 1"])
def test_the_end_kills_a_compiler(printed_by, tmp_path, version):
    compiler, pid = tmp_path / "c++", tmp_path / "pid"
    temp = tmp_path / "temp"
    temp.mkdir()
    compiler.write_text(
        f"#!/bin/sh\n{version}\necho $$ > {pid}\nexec sleep 1000\n"
    )
    compiler.chmod(stat.S_IRWXU)
    text = (
        "import gpuos, os, threading, time\n"
        "rt = gpuos.Runtime(backend='host')\n"
        "def define():\n"
        "  rt.define('op', source='GPUOS_OPERATOR(op) {}', inputs=0)\n"
        "threading.Thread(target=define, daemon=True).start()\n"
        f"while not os.path.exists({str(pid)!r}): time.sleep(0.01)\n"
        "time.sleep(0.1)"
    )
    printed_by(text, CXX=str(compiler), TMPDIR=str(temp))
    deadline = time.monotonic() + WAIT_S
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert list(temp.iterdir()) == []


ENDLESS_COMPILE = """
import gpuos, time
source = ['extern "C" __global__ void k(float* x) {']
source += [
    f'x[{i}] = sinf(x[{i}] * {i}.5f) + powf(x[{i}], {i}.25f);'
    for i in range(20_000)
]
future = gpuos.compile_async(chr(10).join([*source, '}']))
while not future.running(): time.sleep(0.01)
time.sleep(0.3)
print(future.done())
"""


def test_the_end_stops_a_compilation_in_the_background(printed_by):
    need_nvrtc()
    # It would take minutes. NVRTC is waited for, or the end would crash.
    assert (
        printed_by(ENDLESS_COMPILE, timeout=WAIT_S, GPUOS_CACHE_DIR="off")
        == "False\n"
    )


COMPILES = """
import gpuos, itertools, threading, time
numbers = itertools.count()
SOURCE = '''extern "C" __global__ void k(float* x) {{{{
  for (int i = 0; i < {{}}; ++i) x[i] = sinf(x[i]) + {{}};
}}}}'''
def work():
    while True:
        number = next(numbers)
        try:
            module = gpuos.JitModule(SOURCE.format(number % 7, number))
            if {has_gpu}:
                module['k'].launch(1, 1, [rt.zeros(8)])
        except gpuos.Error:
            return  # it is closed
rt = gpuos.Runtime(backend={backend!r})
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep({after})
"""


@pytest.mark.parametrize("after", [0.3, 0.5, 0.7, 0.9])
def test_threads_that_compile_and_launch_do_no_harm(printed_by, backend, after):
    need_nvrtc()
    text = COMPILES.format(
        backend=backend, after=after, has_gpu=backend == "cuda"
    )
    printed_by(text, GPUOS_CACHE_DIR="off")
