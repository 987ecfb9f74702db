from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from deadlines import WAIT_S

from gpuos.bench import _loops, context, main, report, timing
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


@pytest.fixture
def run_tiny(monkeypatch, tmp_path):
    monkeypatch.setattr("gpuos.bench.runner.host_sizes", lambda: TINY)

    def run(*arguments):
        path = tmp_path / "bench.json"
        code = main(
            ["queue", "--backend", "host", "--json", str(path), *arguments]
        )
        return code, json.loads(path.read_text())

    return run


def test_every_row_is_measured_or_says_why_not(run_tiny, capsys):
    code, content = run_tiny("--asked")
    printed = capsys.readouterr().out
    names = [row.name for m in QUEUE.measures() for row in m.rows]
    assert [row["name"] for row in content["rows"]] == names
    for row in content["rows"]:
        assert row["name"] in printed
        if row["value"] is None:
            assert row["error"] == "needs the cuda backend"
        else:
            assert math.isfinite(row["value"])
            assert not row["error"]
    assert code == 0


def test_json_says_where_and_how(run_tiny):
    _, content = run_tiny("--only", "host")
    for key in ("date", "command", "device", "driver", "versions"):
        assert content[key]
    assert content["backend"] == "host"
    assert content["command"].endswith("--only host")


def test_markdown_has_a_line_for_each_row(run_tiny, tmp_path):
    path = tmp_path / "table.md"
    for asked, columns in (((), 4), (("--asked",), 5)):
        run_tiny("--only", "host", "define", "--markdown", str(path), *asked)
        lines = [x for x in path.read_text().splitlines() if x.startswith("|")]
        assert len(lines) == 2 + 4
        assert {line.count("|") for line in lines} == {columns + 1}


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_plot_is_optional(run_tiny, tmp_path, capsys, kind):
    path = tmp_path / f"plot.{kind}"
    code, content = run_tiny("--only", "scaling", "--plot", str(path))
    assert content["series"]["elems"]["x"] == [64, 256]
    assert path.exists() or "no plot: matplotlib" in capsys.readouterr().out
    assert code == 0


def test_no_task_is_lost_while_an_operator_is_replaced(run_tiny):
    _, content = run_tiny("--only", "swaps")
    lost = content["rows"][2]
    assert lost["value"] == 0
    assert "2 swaps" in lost["note"]


def test_failed_measurement_is_written_down():
    def fail(_context, first, _second):
        first.value = 1.0
        message = "broken\nbadly"
        raise RuntimeError(message)

    rows = [Row("first", "us"), Row("second", "us")]
    run_measure(None, Measure("both", rows, fail))
    assert [row.error for row in rows] == ["", "RuntimeError: broken badly"]


def test_peer_that_is_missing_leaves_a_reason():
    def absent():
        message = "cupy is not installed"
        raise Unavailable(message)

    row = Row("add", "ns")
    row.peer("cupy", absent)
    assert row.peers == {"cupy": "cupy is not installed"}


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
    assert report.number(value) == text


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
