"""Test how a process ends while operators run and compilers work."""

import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from deadlines import COMPILE_S, WAIT_S, until
from jit_support import or_skip
from program_support import python

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


def test_process_exit_waits_for_short_tasks(backend, printed_by):
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


def test_a_submitting_program_gets_the_watchdogs_error(printed_by, backend):
    text = start(backend, watchdog=0.2) + (
        "run()\n"
        "mine = rt.zeros(1) if rt.backend == 'cuda' else np.zeros(1, 'f4')\n"
        "try:\n"
        "  while True: rt.submit('fill', out=mine, value=1); time.sleep(.01)\n"
        "except gpuos.TaskError as error: print(error.operator)\n"
    )
    assert printed_by(text) == "endless\n"


def test_a_log_to_a_fifo_does_not_block(printed_by, log):
    os.mkfifo(log)
    printed_by(start("host") + "run()", GPUOS_LOG=str(log))


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
    until(lambda: not is_running(int(pid.read_text())))
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
    or_skip(gpuos.JitModule, "")
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
    or_skip(gpuos.JitModule, "")
    text = COMPILES.format(
        backend=backend, after=after, has_gpu=backend == "cuda"
    )
    printed_by(text, GPUOS_CACHE_DIR="off")


PROCESS_START = """
import gpuos, numpy as np, os, sys, time, threading, signal
rt = gpuos.Runtime(backend={backend!r})
out = rt.zeros(1000)
one = rt.array(np.ones(1000, dtype='f4'))
"""


def test_exit_with_runtimes_in_a_cycle_and_threads(backend, printed_by):
    text = PROCESS_START.format(backend=backend) + (
        "class Holder: pass\n"
        "h = Holder(); h.self = h; h.rt = rt; h.out = out\n"
        "def work():\n"
        "  try:\n"
        "    while True: rt.submit('add', out, one, out=out)\n"
        "  except gpuos.QueueClosed: pass\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.1); print('end')"
    )
    assert printed_by(text) == "end\n"


def test_exit_with_a_numpy_view(printed_by):
    text = PROCESS_START.format(backend="host") + (
        "view = out.numpy(copy=False); other = np.from_dlpack(one)\n"
        "del rt, out, one; view[0] = other[0]; print(view[0])"
    )
    assert printed_by(text) == "1.0\n"


def test_import_is_quick_and_takes_no_numpy(printed_by):
    text = "import sys, gpuos; print('numpy' in sys.modules)"
    assert printed_by(text) == "False\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("left_by", ["sys.exit(3)", "raise KeyError('own')"])
def test_a_forked_child_leaves_the_block_of_its_parent(
    backend, printed_by, left_by
):
    text = PROCESS_START.format(backend=backend) + (
        "import warnings; warnings.simplefilter('ignore')\n"
        "try:\n"
        "  with gpuos.Runtime(rt.backend) as own:\n"
        "    lazy = own.array([1.0]) + 1\n"
        "    child = os.fork()\n"
        f"    if child == 0: {left_by}\n"
        "except KeyError: os._exit(3)\n"
        "_, status = os.waitpid(child, 0)\n"
        "print(os.waitstatus_to_exitcode(status), own.is_closed)"
    )
    assert printed_by(text) == "3 True\n"


def test_no_module_is_imported_after_the_first_runtime(backend, printed_by):
    """A fork in the middle of an import leaves its lock to the child."""
    text = (
        "import gpuos, numpy as np, sys\n"
        f"rt = gpuos.Runtime({backend!r})\n"
        "had = set(sys.modules)\n"
        "x = rt.ones((3, 4)); y = rt.array(np.arange(4.0))\n"
        "z = np.sqrt(x) * y[None] + x.sum(axis=0, keepdims=True); z += 1\n"
        "z[z > 2] = 0; z.numpy(); x.mean(); rt.zeros_like(x)\n"
        "rt.linspace(0, 1, 5); np.concatenate([x, x]); x.T[1:].copy()\n"
        "double = rt.fuse(lambda a: {'two': a * 2}); double(x)\n"
        "same = gpuos.fuse(lambda a: a + 1); same(x)\n"
        "op = rt.define('twice', 'o = 2 * x'); rt.replace(op, 'o = 3 * x')\n"
        "rt.submit(op, x, out=x).wait(60); rt.synchronize(60); rt.stats()\n"
        "print(sorted(set(sys.modules) - had))"
    )
    assert printed_by(text) == "[]\n"


# Seconds of work that is queued in milliseconds, and a mapped file that its
# last task writes. `left` exits without the end of the interpreter.
QUEUED = """
file = np.memmap(sys.argv[1], 'f4', 'w+', shape=1 << 20)
f = rt.fuse(lambda x: sum((np.sin(x + k) for k in range(40)), x))
def queue():
  global first, x
  first = rt.submit('add', out, one, out=out); first.wait()
  x = rt.ones(file.shape)
  for _ in range(10): x = f(x)
  return rt.submit('copy', x, out=file)
def left(ticket):
  first.wait(); print(out.numpy()[0])
  for use in (ticket.wait, x.numpy):
    try: use()
    except gpuos.QueueClosed as error: print(error)
"""


@pytest.mark.parametrize(
    ("text", "is_run"),
    [
        ("queue()\nraise KeyboardInterrupt", False),
        (
            """try:
  with rt: t = queue(); raise KeyboardInterrupt
except KeyboardInterrupt: left(t)""",
            False,
        ),
        # An interactive interpreter, where the last line was interrupted.
        ("sys.ps1 = '>'; sys.last_type = KeyboardInterrupt; queue()", True),
    ],
)
def test_an_interrupted_program_ends_without_what_is_queued(
    tmp_path, text, is_run
):
    path, start = tmp_path / "file", PROCESS_START.format(backend="host")
    done = python("-c", start + QUEUED + text, str(path), timeout=WAIT_S)
    assert any(path.read_bytes()) == is_run, done.stderr
    # A finished task keeps its result. A dropped task has none.
    has_left = "left" in text
    assert done.stdout.count("dropped") == (2 if has_left else 0)
    assert done.stdout.startswith("1.0\n" if has_left else "")
    assert ("KeyboardInterrupt" in done.stderr) == text.startswith("queue()")


@pytest.mark.parametrize("wait", ["rt.wait(t)", "rt.synchronize()", "t.wait()"])
def test_ctrl_c_ends_a_wait(backend, rt, nap, nap_source, wait):
    del rt, nap  # only to skip where it cannot be compiled
    text = PROCESS_START.format(backend=backend) + (
        "rt = gpuos.Runtime(backend=rt.backend, watchdog_s=1000)\n"
        # A job that a shell put into the background ignores it.
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"NAP = {nap_source!r}\n"
        "op = rt.define('nap', source=NAP, params={'ns': 'int64'},\n"
        "               inputs=0, elementwise=False)\n"
        "t = rt.submit(op, out=rt.zeros(1), ns=60_000_000_000)\n"
        "try:\n"
        "  print('go', flush=True)\n"
        f"  {wait}\n"
        "except KeyboardInterrupt:\n"
        "  print('ended', t.done, flush=True)\n"
        "  os._exit(0)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=WAIT_S)
    assert (process.returncode, error) == (0, "")
    assert out == "ended False\n"  # the task goes on


def test_no_threads_are_left(printed_by):
    text = (
        "import gpuos, numpy, os\n"
        "count = lambda: len(os.listdir('/proc/self/task'))\n"
        "before = count()\n"
        "rt = gpuos.Runtime(backend='host'); during = count(); rt.close()\n"
        # One that was joined is listed until the system has cleared it away.
        "while count() > before: pass\n"
        "print(during > before, count() - before)"
    )
    assert printed_by(text) == "True 0\n"


def test_signals_are_for_the_threads_of_the_program(backend, printed_by):
    text = PROCESS_START.format(backend=backend) + (
        "from pathlib import Path\n"
        "rt.define('f', source='GPUOS_OPERATOR(f) {}', inputs=1)\n"
        "for _ in range(9): rt.wait(rt.submit('f', one, out=out))\n"
        "time.sleep(0.2)  # each has begun, and has its name\n"
        "for task in Path('/proc/self/task').iterdir():\n"
        "  lines = (task / 'status').read_text().splitlines()\n"
        "  said = dict(line.split(':\\t', 1) for line in lines)\n"
        "  if not said['Name'].startswith('gpuos-'): continue\n"
        "  blocked = int(said['SigBlk'], 16)\n"
        "  ours = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}\n"
        "  takes = [int(s) for s in ours if not blocked >> s - 1 & 1]\n"
        "  print(said['Name'].rstrip('0123456789'), *takes)\n"
        "rt.close()"
    )
    lines = set(printed_by(text).splitlines())
    assert "gpuos-watchdog" in lines
    assert lines <= {
        "gpuos-",
        "gpuos-control",
        "gpuos-watchdog",
        "gpuos-compile",
    }
    assert ("gpuos-" in lines) == (backend == "host")
