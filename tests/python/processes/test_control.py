"""Requests of a client to a process that serves."""

import json
import logging
import os
import subprocess
import sys

import pytest
from control_support import Load, ctl
from deadlines import WAIT_S
from jit_support import or_skip

import gpuos
from gpuos.control import client
from gpuos.texts import digest

WHOLE = """
GPUOS_OPERATOR(twice) {
  float* out = task.pointer<float>(0);
  const float* in = task.pointer<const float>(1);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = 2 * in[i];
}
"""


@pytest.fixture
def server(rt, tmp_path):
    rt.define("wave", "o = x + 1")
    with gpuos.serve(tmp_path / "run" / "s", runtime=rt) as made:
        yield made


def ask(server, command, **fields):
    return client.ask(server.path, {"command": command, **fields})


def value_of(rt, op="wave"):
    out = rt.empty(1)
    rt.submit(op, rt.array([3.0], dtype="float32"), out=out)
    return float(out.numpy()[0])


def test_the_words_of_the_command(rt, server):
    def run(*words, **more):
        done = ctl(server.path, *words, **more)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert " wave" in run("list")
    assert run("show", "wave").splitlines()[:3] == [
        "name        wave",
        "expression  o = x + 1",
        "inputs      x",
    ]
    file = server.path.parent / "formula"
    file.write_text("o = x * 2\n")
    assert run("replace", "wave", file).startswith("wave")
    assert value_of(rt) == 6.0
    run("replace", "wave", "-", stdin="o = x * 3")
    assert value_of(rt) == 9.0
    run("define", "scaled", "-e", "o = k * x", "--param", "k=float32")
    assert rt.find("scaled").params == {"k": "float32"}
    shifted = ("--param", "k=float32", "--param", "b=float64=-2.5")
    run("replace", "scaled", "-e", "o = k * x + b", *shifted)
    assert rt.find("scaled").defaults == {"b": -2.5}
    assert "params      k=float32 b=float64=-2.5" in run("show", "scaled")
    run("define", "f", "-e", "o = p - q", "--inputs", "q,p", "--dtype", "f8")
    assert rt.find("f").inputs == ("q", "p")
    assert "tasks_submitted" in run("stats")
    assert run("wait", "--timeout", "60") == ""
    answer = json.loads(run("list", "--json"))
    assert "scaled" in answer["runtimes"][0]["operators"]


def test_a_whole_operator_is_sent_as_text(rt, server, tmp_path):
    file = tmp_path / "twice.cu"
    file.write_text(WHOLE)
    # FILE may come after the options.
    words = ("define", "twice", "--inputs", "1", "--checked", file)
    done = ctl(server.path, *words)
    if "no C++ compiler" in done.stderr or "NVRTC" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stderr) == (0, "")
    assert value_of(rt, "twice") == 6.0
    file.write_text(WHOLE.replace("2 *", "2 * nothing *"))
    done = ctl(server.path, "replace", "twice", file)
    assert done.returncode == 2
    assert "nothing" in done.stderr
    assert value_of(rt, "twice") == 6.0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("replace", "wave", "-e", "o = x +"), "column"),
        (("replace", "wave", "-e", "o = x + y"), "input"),
        (("replace", "nothing", "-e", "o = x"), "unknown operator 'nothing'"),
        (("replace", "wave"), "FILE or --expr"),
        (("replace", "wave", "f", "-e", "o = x"), "FILE or --expr"),
        (("define", "wave", "-e", "o = x"), "wave"),
        (("define", "f", "-e", "o = x", "--param", "k"), "NAME=DTYPE"),
        (("define", "f", "-e", "o = x", "--param", "k=f4=x"), "=DEFAULT"),
        (("define", "f", "-e", "o = x", "--param", "k=f4=1=1"), "=DEFAULT"),
        (("show", "nothing"), "unknown operator 'nothing'"),
        (("show", "wave", "--runtime", "99"), "runtime 99"),
        (("wait", "--timeout", "0"), "--timeout"),
    ],
)
def test_refused_requests_are_bad_input(rt, server, words, expected):
    done = ctl(server.path, *words)
    assert done.returncode == 2
    assert done.stderr.startswith("gpuos ctl: ")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert value_of(rt) == 4.0


@pytest.mark.parametrize("verb", ["define", "replace"])
def test_the_mark_of_an_editor_is_no_text(rt, server, tmp_path, verb):
    file = tmp_path / "wave.txt"
    file.write_text("o = x * 2", encoding="utf-8-sig")
    if verb == "define":
        rt.undefine("wave")
    done = ctl(server.path, verb, "wave", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert rt.find("wave").expression == "o = x * 2"
    assert value_of(rt) == 6.0


def test_a_missing_file_is_reported(server, tmp_path):
    done = ctl(server.path, "replace", "wave", tmp_path / "none")
    assert done.returncode == 1
    assert "No such file" in done.stderr
    (tmp_path / "long").write_bytes(b"x" * ((1 << 20) + 1))
    done = ctl(server.path, "replace", "wave", tmp_path / "long")
    assert (done.returncode, "1048576 bytes" in done.stderr) == (2, True)
    (tmp_path / "bytes").write_bytes(b"o = \xff")
    done = ctl(server.path, "replace", "wave", tmp_path / "bytes")
    assert (done.returncode, "UTF-8" in done.stderr) == (2, True)


def test_a_path_without_a_server_is_an_error(tmp_path):
    done = ctl(tmp_path / "none", "list")
    assert done.returncode == 1
    assert "expected a process that serves" in done.stderr


def test_a_path_may_be_longer_than_an_address(rt, tmp_path):
    folder = tmp_path / ("f" * 200)
    with gpuos.serve(folder / ("s" * 80), runtime=rt) as server:
        assert ask(server, "list")["runtimes"]


def test_a_text_that_is_a_path_is_not_opened(server, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("o = x * 7")
    for field in ("expression", "source"):
        with pytest.raises(gpuos.Error) as caught:
            ask(server, "replace", op="wave", **{field: str(secret)})
        assert "x * 7" not in str(caught.value)


def test_changes_are_logged(server, caplog):
    caplog.set_level(logging.INFO, "gpuos.control")
    ask(server, "list")
    ask(server, "replace", op="wave", expression="o = x * 2")
    (record,) = caplog.records
    assert record.getMessage() == (
        f"replace 'wave': digest {digest('o = x * 2')}, version 2, "
        f"by uid {os.getuid()}, pid {os.getpid()}"
    )


def test_readonly_changes_nothing(rt, tmp_path):
    rt.define("wave", "o = x + 1")
    with gpuos.serve(tmp_path / "s", runtime=rt, readonly=True) as server:
        for command, fields in {
            "define": {"name": "f", "expression": "o = x"},
            "replace": {"op": "wave", "expression": "o = x"},
            "rollback": {"op": "wave"},
        }.items():
            with pytest.raises(gpuos.InvalidArgument, match="read-only"):
                ask(server, command, **fields)
        assert ask(server, "show", op="wave")["expression"] == "o = x + 1"
        assert ask(server, "wait") == {"done": True}
        assert ask(server, "stats")["runtimes"]


@pytest.mark.parametrize("variables", [{"WORLD_SIZE": "2", "RANK": "1"}])
def test_one_of_several_ranks_is_not_changed(
    server, monkeypatch, variables, rt
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(gpuos.InvalidArgument, match="one of 2"):
        ask(server, "replace", op="wave", expression="o = x")
    assert value_of(rt) == 4.0
    assert ask(server, "show", op="wave")["operator"] == "wave"
    monkeypatch.setenv("WORLD_SIZE", "1")
    ask(server, "replace", op="wave", expression="o = x")


def test_versions(rt, server):
    def run(*words):
        done = ctl(server.path, *words)
        return done.returncode, done.stdout, done.stderr

    replace = ("replace", "wave", "-e")
    code, printed, error = run(*replace, "o = x * 2", "--expect", "1")
    assert (code, printed, error) == (0, "wave, version 2\n", "")
    code, _, error = run(*replace, "o = x * 9", "--expect", "1")
    assert code == 2
    assert "1" in error
    assert "2" in error
    assert value_of(rt) == 6.0
    assert run("rollback", "wave", "--expect", "1")[0] == 2
    assert value_of(rt) == 6.0
    assert run("rollback", "wave") == (0, "wave, version 3\n", "")
    assert value_of(rt) == 4.0
    _, shown, _ = run("show", "wave")
    assert "version     3" in shown
    assert f"         2  {digest('o = x * 2')}  o = x * 2\n" in shown
    # A second step back: there is nothing before the first.
    assert run("rollback", "wave")[0] == 2


def test_a_builtin_operator_is_replaced_and_taken_back(rt, server):
    one, out = rt.array([3.0], dtype="float32"), rt.empty(1)

    def added():
        rt.submit("add", one, one, out=out)
        return float(out.numpy()[0])

    assert added() == 6.0
    ask(server, "replace", op="add", expression="o = x * y")
    assert added() == 9.0
    ask(server, "rollback", op="add")
    assert added() == 6.0
    assert "built in" in ctl(server.path, "show", "add").stdout


def test_every_runtime_is_served_unless_one_is_given(tmp_path):
    with (
        gpuos.Runtime("host") as one,
        gpuos.Runtime("host") as two,
        gpuos.serve(tmp_path / "s") as server,
    ):
        one.define("wave", "o = x + 1")
        two.define("other", "o = x + 2")
        listed = ask(server, "list")["runtimes"]
        numbers = {
            name: entry["runtime"]
            for entry in listed
            for name in entry["operators"]
        }
        assert numbers["wave"] < numbers["other"]
        # One of them has it: no number is needed.
        ask(server, "replace", op="wave", expression="o = x * 2")
        assert value_of(one) == 6.0
        # Each of them has it, or could.
        with pytest.raises(gpuos.InvalidArgument, match="to be named"):
            ask(server, "show", op="add")
        with pytest.raises(gpuos.InvalidArgument, match="to be named"):
            ask(server, "define", name="f", expression="o = x")
        more = {"runtime": numbers["other"]}
        ask(server, "define", name="f", expression="o = x", **more)
        assert "f" in two.operators()
        assert "f" not in one.operators()
        two.close()
        assert numbers["other"] not in {
            entry["runtime"] for entry in ask(server, "list")["runtimes"]
        }


def test_wait_waits_and_leaves_errors_to_the_program(rt, server, gate):
    ticket = gate.submit(rt.empty(1))
    assert ask(server, "wait", timeout=0) == {"done": False}
    gate.open()
    assert ask(server, "wait") == {"done": True}
    assert ticket.done
    with Load(rt):
        assert ask(server, "wait") == {"done": True}


def test_an_error_is_still_reported_after_a_wait(host, tmp_path):
    bad = or_skip(
        host.define, "bad", source="GPUOS_OPERATOR(bad) { throw 1; }", inputs=0
    )
    with gpuos.serve(tmp_path / "s", runtime=host) as server:
        host.submit(bad, out=host.empty(1))
        assert ask(server, "wait") == {"done": True}
        assert ask(server, "stats")["runtimes"]
    with pytest.raises(gpuos.TaskError):
        host.synchronize()


def test_stats_leave_deferred_operations_alone(host, tmp_path):
    with gpuos.serve(tmp_path / "s", runtime=host) as server:
        x = host.array([1.0], dtype="float32")
        y = x + x
        (entry,) = ask(server, "stats")["runtimes"]
        assert entry["stats"]["tasks_submitted"] == 0
        assert y.numpy().tolist() == [2.0]
        (entry,) = ask(server, "stats")["runtimes"]
        assert entry["stats"]["tasks_submitted"] == 1


SERVED = """
import gpuos, os, sys
rt = gpuos.Runtime("host")
rt.define("wave", "o = x + 1")
print(os.getpid(), flush=True)
for line in sys.stdin:
    print(rt.find("wave").expression, flush=True)
"""


@pytest.fixture
def start():
    """Start a program that waits for lines, as GPUOS_CONTROL says."""
    started = []

    def run(text=SERVED, **variables):
        program = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        started.append(program)
        assert program.stdout.readline().strip() == str(program.pid)
        return program

    yield run
    for program in started:
        program.kill()
        program.communicate(timeout=WAIT_S)


def test_a_program_serves_as_the_environment_says(start, tmp_path):
    path = tmp_path / "run" / "job"
    program = start(GPUOS_CONTROL=str(path))
    assert ctl(path, "replace", "wave", "-e", "o = x * 2").returncode == 0
    out, _ = program.communicate("\n", timeout=WAIT_S)
    assert out == "o = x * 2\n"
    assert [*path.parent.iterdir()] == []


def test_the_first_process_of_a_launch_serves(start, tmp_path):
    path = tmp_path / "job"
    first = start(GPUOS_CONTROL=str(path))
    second = start(GPUOS_CONTROL=str(path))
    ctl(path, "replace", "wave", "-e", "o = x * 2")
    assert second.communicate("\n", timeout=WAIT_S)[0] == "o = x + 1\n"
    assert ctl(path, "show", "wave").returncode == 0
    assert first.communicate("\n", timeout=WAIT_S)[0] == "o = x * 2\n"


def test_the_first_rank_of_a_launch_serves(start, tmp_path):
    path = tmp_path / "job"
    start(GPUOS_CONTROL=str(path), LOCAL_RANK="1")
    assert not path.exists()
    start(GPUOS_CONTROL=str(path), LOCAL_RANK="0")
    assert ctl(path, "show", "wave").returncode == 0


def test_each_process_has_its_place_by_its_number(start, tmp_path):
    programs = [
        start(GPUOS_CONTROL=str(tmp_path / "job-%p"), LOCAL_RANK=str(rank))
        for rank in range(2)
    ]
    for program in programs:
        path = tmp_path / f"job-{program.pid}"
        assert ctl(path, "show", "wave").returncode == 0


def test_a_killed_process_frees_its_path(start, tmp_path):
    path = tmp_path / "job"
    first = start(GPUOS_CONTROL=str(path))
    first.kill()
    first.wait(WAIT_S)
    assert path.is_socket()
    start(GPUOS_CONTROL=str(path))
    assert ctl(path, "show", "wave").returncode == 0


def test_a_bad_path_in_the_environment_is_reported(printed_by, tmp_path):
    tmp_path.chmod(0o755)
    text = (
        "import gpuos\nfor _ in range(2):\n"
        "  try: gpuos.Runtime('host')\n"
        "  except gpuos.InvalidArgument as error: print(error)"
    )
    printed = printed_by(text, GPUOS_CONTROL=str(tmp_path / "s"))
    assert printed.count("expected mode 700") == 2


def test_nothing_is_served_unasked(printed_by):
    text = (
        "import gpuos, sys, threading\nrt = gpuos.Runtime('host')\n"
        "print([t.name for t in threading.enumerate()], "
        "'gpuos.control.server' in sys.modules)"
    )
    assert printed_by(text, GPUOS_CONTROL="") == "['MainThread'] False\n"
