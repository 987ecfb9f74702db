from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from deadlines import WAIT_S
from program_support import python

START = """
import gpuos, numpy as np, os, sys, time, threading, signal
rt = gpuos.Runtime(backend={backend!r})
out = rt.zeros(1000)
one = rt.array(np.ones(1000, dtype='f4'))
"""


def test_exit_with_a_live_runtime(backend, printed_by):
    text = START.format(backend=backend) + (
        "for _ in range(1000): t = rt.submit('add', out, one, out=out)\n"
        "print('end')"
    )
    assert printed_by(text) == "end\n"


def test_exit_with_runtimes_in_a_cycle_and_threads(backend, printed_by):
    text = START.format(backend=backend) + (
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
    text = START.format(backend="host") + (
        "view = out.numpy(copy=False); other = np.from_dlpack(one)\n"
        "del rt, out, one; view[0] = other[0]; print(view[0])"
    )
    assert printed_by(text) == "1.0\n"


def test_import_is_quick_and_takes_no_numpy(printed_by):
    text = "import sys, gpuos; print('numpy' in sys.modules)"
    assert printed_by(text) == "False\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_gets_an_error_and_the_parent_goes_on(
    backend, printed_by
):
    text = START.format(backend=backend) + (
        "import warnings; warnings.simplefilter('ignore')\n"
        "rt.wait(rt.submit('add', out, one, out=out))\n"
        "sys.stdout.flush()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "  try: rt.submit('add', out, one, out=out)\n"
        "  except gpuos.Error as error: print('child:', error)\n"
        "  sys.exit(0)\n"
        "_, status = os.waitpid(child, 0)\n"
        "rt.wait(rt.submit('add', out, one, out=out), timeout=30)\n"
        "print(status, out.numpy()[0])"
    )
    first, second = printed_by(text).splitlines()
    assert first.startswith("child: ")
    assert "fork" in first
    assert second == "0 2.0"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("left_by", ["sys.exit(3)", "raise KeyError('own')"])
def test_a_forked_child_leaves_the_block_of_its_parent(
    backend, printed_by, left_by
):
    text = START.format(backend=backend) + (
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


def test_nothing_is_imported_behind_the_first_runtime(backend, printed_by):
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
    path, start = tmp_path / "file", START.format(backend="host")
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
    text = START.format(backend=backend) + (
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
    text = START.format(backend=backend) + (
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
