import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bench_support import check_rows, tiny_run
from deadlines import WAIT_S

import gpuos
from gpuos.bench import _loops, context, tables, timing
from gpuos.bench.command import QUEUE
from gpuos.bench.row import Measure, Row, Unavailable, run_measure

TINY = context.Sizes(
    bulk_tasks=600,
    burst_tasks=300,
    reps=2,
    round_trips=20,
    swaps=2,
    swapped_tasks=20_000,
    defines=2,
    idle_s=0.01,
    large_elems=100_000,
    submits=50,
    pairs=3,
    pauses=2,
    scaling_elems=(64, 256),
    scaling_tasks=(1, 16),
)


run_tiny = tiny_run(QUEUE, TINY)


def test_every_row_is_measured_or_says_why_not(run_tiny, capsys, tmp_path):
    path = tmp_path / "plot.svg"
    content = run_tiny("--asked", "--plot", path)
    printed = capsys.readouterr().out
    rows = check_rows(QUEUE, content, printed, "^needs the cuda backend$")
    for key in ("date", "command", "device", "driver", "versions"):
        assert content[key]
    assert content["backend"] == "host"
    assert content["command"].endswith(f"--plot {path}")
    assert content["series"]["elems"]["x"] == [64, 256]
    assert path.exists() or "no plot: matplotlib" in printed
    lost = rows["tasks lost in swaps under load"]
    assert lost["value"] == 0
    assert "2 swaps" in lost["note"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("an add, n=1 | ns <= 8", Row("an add, n=1", "ns", 8.0)),
        ("a copy | % >= 0.5", Row("a copy", "%", 0.5, True)),
        ("a [x | y] | x >= 2 on host", Row("a [x | y]", "x", 2.0, True, True)),
        ("a < b on host | us", Row("a < b on host", "us")),
        ("a | us on host", Row("a", "us", on_host=True)),
        ("points |", Row("points", "")),
    ],
)
def test_a_line_declares_a_row(line, expected):
    assert Row.declared(line) == expected


@pytest.mark.parametrize(
    ("only", "is_asked"),
    [
        (None, False),
        (["a"], True),
        (["whole"], True),
        (["whole-2"], True),
        (["b", "whole-1"], False),
    ],
)
def test_a_part_is_measured_if_it_is_asked_for(only, is_asked):
    measure = Measure("a", [], lambda: None, part="whole-2")
    assert measure.is_asked(only) is is_asked


def test_rows_with_a_figure_keep_it_where_another_fails():
    def fail(_context, first, _second):
        first.value = 1.0
        raise gpuos.BackendUnavailable("no\ncompiler")

    rows = [Row("first", "us"), Row("second", "us")]
    run_measure(None, Measure("both", rows, fail))
    assert [row.error for row in rows] == ["", "no\ncompiler"]
    assert [row.is_unavailable for row in rows] == [False, True]


@pytest.mark.parametrize(
    ("row", "ok"),
    [
        (Row("a", "us", 4.5, value=4.4), True),
        (Row("a", "us", 4.5, value=4.6), False),
        (Row("a", "%", 90, more_is_better=True, value=95), True),
        (Row("a", "us", value=4.6), None),
        (Row("a", "us", 4.5), None),
        (Row("a", "us", 4.5, value=4.4, is_judged=False), None),
    ],
)
def test_judgement(row, ok):
    assert row.ok is ok


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.8123, "5.81"),
        (3180.4, "3,180"),
        (0.03124, "0.0312"),
        (0.0, "0"),
        (90, "90"),
        (None, "-"),
        ("no GPU", "no GPU"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert tables.number(value) == text


def test_settled_threads_may_run_everywhere_afterwards(monkeypatch):
    def allowed():
        return {
            task.name: os.sched_getaffinity(int(task.name))
            for task in Path("/proc/self/task").iterdir()
        }

    quiet, done = threading.Event(), threading.Event()

    def beside():
        quiet.set()
        done.wait(WAIT_S)

    thread = threading.Thread(target=beside)
    thread.start()
    quiet.wait(WAIT_S)
    before = allowed()
    inside = set()
    one = max(os.sched_getaffinity(0))
    monkeypatch.setattr(_loops, "quick_processors", lambda _at_least: [one])

    def fail():
        with timing.settled():
            inside.update(map(frozenset, allowed().values()))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    after = allowed()
    done.set()
    thread.join()
    assert inside == {frozenset({one})}
    assert after == before


def test_a_block_ends_at_its_time_limit():
    def compile_slowly():
        with timing.time_limit(0.01):
            try:
                time.sleep(WAIT_S)
            except RuntimeError as error:
                raise ValueError("as a compiler wraps it") from error

    with pytest.raises(Unavailable, match=r"takes over 0\.01 s"):
        compile_slowly()
    with pytest.raises(KeyError), timing.time_limit(WAIT_S):
        raise KeyError
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_settle_leaves_the_thread_its_processors():
    before = os.sched_getaffinity(0)
    assert isinstance(_loops.settle(), bool)
    assert os.sched_getaffinity(0) == before
    one = min(before)
    try:
        os.sched_setaffinity(0, {one})
        assert _loops.settle() is False
        assert _loops.quick_processors(2) == [one]
        assert os.sched_getaffinity(0) == {one}
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL", "SIGTERM"])
def test_busy_processes_end_with_their_parent(name):
    text = (
        "from gpuos.bench.timing import busy_processors\n"
        "with busy_processors(2):\n"
        "  print('go', flush=True)\n"
        "  input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "go\n"
        os.kill(parent.pid, getattr(signal, name))
        try:
            # The output reaches its end when all processes have ended.
            out, _ = parent.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(parent.pid, signal.SIGKILL)
            raise
    assert out == ""
