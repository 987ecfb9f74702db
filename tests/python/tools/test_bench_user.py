"""The output of `bench` for a user; a failing row does not affect others."""

import itertools
import json
import os
import pty
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from deadlines import WAIT_S
from program_support import gpuos_command

from gpuos.bench import plots, tables
from gpuos.bench.row import Row, Series

# A table of measurements that each end in another way. They are the text of a
# program, because they run in a separate process.
PROGRAM = """
import os, signal, sys, time
from types import ModuleType
from gpuos import bench
from gpuos.bench import command
from gpuos.bench.row import Table, Unavailable

def works(context, row):
    row.value = 2.0
    row.peers = {"peer": 6.0, "other": "is not installed"}

def kills(context, row): os.kill(os.getpid(), signal.SIGKILL)
def ends(context, row): os._exit(7)
def hangs(context, row): time.sleep(600)
def fails(context, row): raise KeyError("no such thing")
def lacks(context, row): raise Unavailable("no GPU")
def alone(context, row): row.value = os.getpid()

ways = dict(works=works, kills=kills, ends=ends, late=hangs, fails=fails,
            lacks=lacks, alone=alone)
TABLE = Table()
for index, way in enumerate(sys.argv[1].split(",")):
    line = f"{way}{index} is measured | us"
    limit_s = 0.3 if way == "late" else 60.0
    part = f"part-{index}" if way == "alone" else ""
    TABLE.rows(f"{way}{index}", line, limit_s=limit_s, part=part)(ways[way])
table = ModuleType("table")
table.TABLE = TABLE
command.COMMANDS = (command.Command("odd", "odd rows", (table,)),)
if __name__ == "__main__":
    sys.exit(bench.start(sys.argv[2:]))
"""
WORDS = {
    "works": "2 us         3 x",
    "kills": "its process was ended by SIGKILL",
    "ends": "its process ended with exit code 7",
    "late": "did not end within 0.3 s",
    "fails": "KeyError: 'no such thing'",
}


@pytest.fixture
def run_ways(tmp_path):
    """Run measurements that end in these ways; return the observations."""

    def run(ways, *arguments, stderr=subprocess.PIPE):
        program = tmp_path / "program.py"
        text = ",".join(ways)
        program.write_text(PROGRAM)
        path = tmp_path / "odd.json"
        command = [sys.executable, program, text, "odd", "--backend", "host"]
        done = subprocess.run(
            [*command, "--json", path, *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=False,
            text=True,
            timeout=WAIT_S,
        )
        return done, json.loads(path.read_text())

    return run


@pytest.mark.parametrize(
    "ways",
    [
        *itertools.permutations(["kills", "works"]),
        ("ends", "ends", "works"),
        ("works", "late", "fails", "kills", "lacks", "works"),
    ],
    ids="-".join,
)
def test_a_failing_row_does_not_stop_others(run_ways, ways):
    done, content = run_ways(ways)
    assert done.stderr == ""
    rows = content["rows"]
    keys = [f"{way}{i} is measured" for i, way in enumerate(ways)]
    assert [row["name"] for row in rows] == keys
    printed = done.stdout.splitlines()
    assert printed.count(printed[0]) == 1  # one header
    for way, row, key in zip(ways, rows, keys, strict=True):
        assert (row["value"] == 2.0) is (way == "works")
        if way == "lacks":
            assert key not in done.stdout
            continue
        [at] = [i for i, line in enumerate(printed) if line.startswith(key)]
        assert WORDS[way] in "\n".join(printed[at : at + 2])
    bad = len([way for way in ways if way not in ("works", "lacks")])
    assert f"{ways.count('works')} measured, {bad} failed" in printed[-1]
    assert ("1 left out" in printed[-1]) is ("lacks" in ways)
    assert done.returncode == 1


def test_each_row_of_a_part_runs_in_a_process_of_its_own(run_ways):
    ways = ["works", "alone", "alone"]
    done, content = run_ways(ways, "--only", "part", "works0")
    assert done.returncode == 0
    values = {row["name"][:6]: row["value"] for row in content["rows"]}
    assert [*values] == ["works0", "alone1", "alone2"]
    assert values["alone1"] != values["alone2"]


def test_a_bench_that_cannot_start_prints_the_reason():
    done = gpuos_command(
        *("bench", "queue", "--device", 99),
        variables={"GPUOS_BACKEND": "no_backend"},
        timeout=WAIT_S,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gpuos bench: ")
    assert "no_backend" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_keeps_the_measured_rows(tmp_path):
    path = tmp_path / "q.json"
    command = [sys.executable, "-m", "gpuos", "bench", "queue", "--json", path]
    with subprocess.Popen(
        [*command, "--backend", "host"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("independent adds, n=4096"):
                break
        # A terminal also sends the signal to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (130, "")
    assert " measured, 0 failed" in out.splitlines()[-1]
    rows = json.loads(path.read_text())["rows"]
    assert rows[0]["value"] > 0


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_measuring_process_ends_with_its_parent(tmp_path, name):
    """Also where only that one is told, as by `timeout` or a scheduler."""
    number = getattr(signal, name)
    command = [sys.executable, "-m", "gpuos", "bench", "queue", "--quick"]
    with subprocess.Popen(
        [*command, "--backend", "host"],
        env={**os.environ, "TMPDIR": str(tmp_path)},  # some of it stays
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(number)
        # Its output ends when all processes have ended.
        rest, _ = process.communicate(timeout=WAIT_S)
    ended_by = 128 + number if name == "SIGTERM" else -number
    assert process.returncode == ended_by
    assert "awaited adds beside" not in rest  # the last one's


def test_asked_shows_targets_and_missing_packages(run_ways):
    done, _ = run_ways(["works", "lacks"], "--asked")
    assert "other is not installed" in done.stdout
    assert "lacks1 is measured" in done.stdout
    assert "asked" in done.stdout
    plain, _ = run_ways(["works", "lacks"])
    assert "asked " not in plain.stdout.partition("--asked")[0]
    assert "not installed" not in plain.stdout
    assert max(map(len, plain.stdout.splitlines())) <= tables.WIDTH


def test_progress_and_the_time_left_are_for_a_terminal(run_ways):
    ours, theirs = pty.openpty()
    try:
        run_ways(["works", "kills", "works"], stderr=theirs)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "measurement 1 of 3: works0" in shown
    # It goes on counting where another process goes on.
    assert re.search(r"measurement 3 of 3: works2, about \d+ s left", shown)
    assert shown.endswith("\r")


@pytest.mark.parametrize(
    ("unit", "value", "more", "peers", "expected"),
    [
        ("us", 2.0, False, {"a": 6.0, "b": 4.0}, 2.0),
        ("ns", 500.0, False, {"a us": 1.0, "a first ms": 1e-9}, 2.0),
        ("us", 2.0, False, {"a": "is not installed"}, None),
        ("us", 0.0, False, {"a": 4.0}, None),
        ("us", 2.0, False, {"a": 0.0}, None),
        ("us", 8.0, False, {"a": 4.0}, 0.5),
        ("x", 3.0, True, {"eager us": 9.0}, 3.0),
        ("x", 1.2, False, {}, None),
        ("%", 30.0, True, {"a": 60.0, "copy GB/s": 4000.0}, 0.5),
        ("%", 30.0, True, {"copy GB/s": 4000.0}, None),
        ("tasks", 1.0, False, {"a": 2.0}, None),
        ("us", None, False, {"a": 2.0}, None),
    ],
)
def test_factor_is_over_the_best_peer(unit, value, more, peers, expected):
    row = Row("a", unit, None, more, value=value, peers=peers)
    found = tables.factor(row)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("view", [tables.SCREEN, tables.ASKED])
def test_names_of_any_length_leave_figures_in_their_columns(view):
    first, second, *_ = view.widths
    for length in (1, first, first + 1, tables.WIDTH):
        row = Row("n" * length, "us", value=2.0)
        row.peers = {"p" * 30: 4.0, "q" * 60: 6.0}
        lines = view.row(row).splitlines()
        assert max(map(len, lines)) <= tables.WIDTH
        [figures] = [line for line in lines if "2 us" in line]
        assert figures.index(" us") == first + second - len(" us")


def lines_of(**lines):
    return Series("operations", "us a call", [1, 10], lines)


@pytest.mark.parametrize(
    ("series", "title"),
    [
        (
            lines_of(compiled=[1, 2], burst=[2, 1], numpy=[4, 0.5], b=[9, 9]),
            "gpuos 0.5 to 4 x as fast as numpy\n",
        ),
        (
            lines_of(compiled=[1, 1], numpy=[4, 8], b=[5, 6]),
            "gpuos 4 to 6 x as fast as the best peer\n",
        ),
        (lines_of(compiled=[1, None], b=[3, 8]), "gpuos 3 x as fast as b\n"),
        (lines_of(compiled=[1, 1]), ""),
        (lines_of(compiled=[None, None], b=[1, 1]), ""),
    ],
)
def test_a_plots_title_says_what_it_shows(series, title):
    assert plots.title_of(series) == title + "us a call, over operations"


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_plot_is_of_the_kind_that_its_name_says(tmp_path, kind):
    pytest.importorskip("matplotlib")
    series = {
        "a": lines_of(compiled=[1, 2], numpy=[4, None]),
        "b": lines_of(compiled=[None, None]),
        "c": Series("cell", "ms", [*range(1, 99)], {"a": [1.0] * 98}),
    }
    path = tmp_path / f"plot.{kind}"
    where = {"device": "Some GPU", "date": "2026-11-26T10:00:00"}
    plots.write_plot(path, where, series)
    if kind == "svg":
        assert ET.fromstring(path.read_text()).tag.endswith("svg")
    else:
        assert path.read_bytes().startswith(b"\x89PNG")
