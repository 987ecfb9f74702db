"""scripts/measurements_table: files of benchmarks become tables of a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from deadlines import WAIT_S

from gpuos.bench.row import Row
from gpuos.bench.tables import write_json

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "measurements_table"
PAGE = """# Page
<!-- bench queue -->
old
<!-- end -->

<!-- bench torch -->
older
<!-- end -->

<!-- bench torch-cpu -->
oldest
<!-- end -->
Last.
"""
NAMES = ("queue", "programs", "torch", "torch-cpu", "jit", "session", "host")
ENVIRONMENT = {
    "date": "2026-11-25T10:00:00+00:00",
    "device": "NVIDIA H200",
    "driver": "580.1",
    "versions": {"gpuos": "0.1.0", "numpy": "2.5.2"},
}


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


@pytest.fixture
def write(tmp_path):
    def write(name, *rows):
        write_json(tmp_path / name, ENVIRONMENT, rows, {})
        return tmp_path / name

    return write


def run(page, *arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, "--page", page, "--commit", "abc", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )


def table(page, name):
    text = page.read_text().partition(f"<!-- bench {name} -->\n")[2]
    return text.partition("<!-- end -->")[0].splitlines()


def test_rows_of_a_file_take_the_place_of_the_table(page, write):
    add = Row("adds", "ns", 8, value=5.53)
    add.peers = {"launch": 3572.0, "CUDA graph": 927.0, "cupy": "is missing"}
    copy = Row("a copy", "%", 90, more_is_better=True, value=54.3)
    copy.peers = {"copy GB/s": 4000.0, "eager": 24.0, "graph": 25.0}
    path = write("q.json", add, copy, Row("points", "", value=1.0))
    done = run(page, f"queue={path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert table(page, "queue") == [
        "NVIDIA H200, driver 580.1, 2026-11-25, commit abc.",
        "",
        "| figure | measured | asked | ok | best peer |",
        "|---|---:|---:|---|---|",
        "| adds | 5.53 ns | <= 8 | yes | CUDA graph 927 |",
        "| a copy | 54.3 % | >= 90 | NO | graph 25 |",
    ]
    assert table(page, "torch") == ["older"]
    assert page.read_text().endswith("<!-- end -->\nLast.\n")


def test_the_same_file_again_changes_nothing(page, write):
    path = write("q.json", Row("adds", "ns", 8, value=5.53))
    run(page, f"queue={path}")
    once = page.read_text()
    run(page, f"queue={path}")
    assert page.read_text() == once


def test_rows_of_torch_are_divided_and_gains_are_one_row(page, write):
    chain = Row("chain, eager", "x", 8, more_is_better=True, value=12.34)
    chain.peers = {"eager us": 900.0, "CUDA graph us": 185.0}
    chain.peers |= {"CUDA graph first ms": 7.0}
    chain.also = {"ours us": 68.4}
    gains = [
        Row(f"gain: {n}, over eager", "x", 3, more_is_better=True, value=n)
        for n in (18.25, 4.8)
    ]
    branch = Row("processors: a branch, over eager", "x", 1.1, value=1.37)
    path = write("t.json", chain, *gains, branch)
    run(page, f"torch={path}", f"torch-cpu={path}")
    assert table(page, "torch")[4:] == [
        "| chain, eager | 12.3 x, 68.4 us | >= 8 | yes | CUDA graph 185 us |",
        "| 2 programs that gain | 4.8 to 18.2 x |  | yes |  |",
    ]
    (row,) = table(page, "torch-cpu")[4:]
    assert row.startswith("| processors: a branch, over eager | 1.37 x |")


def test_what_was_not_measured_is_named(page, write):
    rows = [Row(f"row {i}", "us", error="needs a GPU") for i in range(4)]
    late = Row("late", "us", error="TimeoutError: over 90 s")
    path = write("q.json", Row("adds", "ns", 8, value=5.0), *rows, late)
    run(page, f"queue={path}")
    assert table(page, "queue")[5:] == [
        "",
        "Not measured: 4 rows (needs a GPU), late (TimeoutError: over 90 s).",
    ]


def test_a_name_that_comes_twice_has_two_tables(page, write):
    first = write("a.json", Row("first", "us", 2, value=1.0))
    second = write("b.json", Row("second", "us", 2, value=2.0))
    run(page, f"queue={first}", f"queue={second}")
    lines = table(page, "queue")
    assert lines.count("| figure | measured | asked | ok | best peer |") == 2
    assert [x for x in lines if x.startswith(("| first", "| second"))] == [
        "| first | 1 us | <= 2 | yes |  |",
        "| second | 2 us | <= 2 | yes |  |",
    ]


def test_rows_that_differ_behind_the_last_comma_are_one(page, write):
    rows = [
        Row("a task, late, median", "us", 4, value=5.0),
        Row("a task, late, p99", "us", 10, value=6.0),
        Row("a task, alone", "us", 1, value=0.5),
    ]
    run(page, f"queue={write('q.json', *rows)}")
    assert table(page, "queue")[4:] == [
        "| a task, late, median; p99 | 5 us; 6 us | <= 4; <= 10 | NO; yes |  |",
        "| a task, alone | 0.5 us | <= 1 | yes |  |",
    ]


@pytest.mark.parametrize("argument", ["nothing={}", "queue"])
def test_what_has_no_table_is_refused(page, write, argument):
    path = write("q.json", Row("adds", "ns", value=5.0))
    done = run(page, argument.format(path))
    assert done.returncode != 0
    assert "expected" in done.stderr
    assert page.read_text() == PAGE


def test_the_page_has_a_table_for_each_benchmark():
    text = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert text.count(f"<!-- bench {name} -->\n") == 1, name
    assert text.count("<!-- end -->") == len(NAMES)
