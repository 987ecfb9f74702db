import argparse
import contextlib
import importlib
import io
import json
import re
import shlex
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from program_support import gpuos_command

import gpuos
from gpuos.cli import demo, main, make_parser, sides
from gpuos.cli.progress import ProgressLine, bar


def assert_bad_input(done, *words):
    assert done.returncode == 2
    assert done.stderr.startswith("gpuos ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.fixture
def save(tmp_path):
    def save_array(name, array):
        path = tmp_path / name
        np.save(path, array)
        return path

    return save_array


def files_of(save, dtype, shape):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(1, 50, shape).astype(dtype) for _ in range(3)]
    return arrays, [
        save(f"{n}.npy", x) for n, x in zip("abc", arrays, strict=True)
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_run_computes_as_numpy(backend, save, tmp_path, dtype):
    (a, b, c), files = files_of(save, dtype, (101, 1003))
    out = tmp_path / "out.npy"
    where = "-o", out, "--backend", backend, "--chunk-mib", 0.05
    done = gpuos_command("run", "--expr", "o = a * b + c", *files, *where)
    assert (done.returncode, done.stderr) == (0, "")
    assert "(101, 1003)" in done.stdout
    result = np.load(out)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result, a * b + c)
    assert not list(tmp_path.glob("*partial*"))
    assert not list(tmp_path.glob(".*"))


def test_run_takes_parameters(save, tmp_path):
    (a, b, _), files = files_of(save, "float64", (1000,))
    out = tmp_path / "out.npy"
    words = ["-o", out, "--backend", "host"]
    words += ["--param", "alpha=2.5", "--param", "beta=3"]
    expression = "o = alpha * x + y - beta"
    done = gpuos_command("run", "--expr", expression, *files[:2], *words)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(out), 2.5 * a + b - 3)


@pytest.mark.parametrize("shape", [(0, 3), (), (1,)])
def test_run_takes_small_files(save, tmp_path, shape):
    (a, b, c), files = files_of(save, "float32", shape)
    out = tmp_path / "out.npy"
    done = gpuos_command(
        "run", "--expr", "o = a * b + c", *files, "-o", out, "--backend", "host"
    )
    assert done.returncode == 0, done.stderr
    assert np.load(out).shape == shape
    np.testing.assert_array_equal(np.load(out), a * b + c)


REDUCTIONS = [
    f"o = {expression}"
    for expression in (
        "a / sum(a)",
        "a - mean(a, axis=-1, keepdims=True)",
        "max(a) - min(a, 1)",
        "count_nonzero(a) + 2 * a",
        "argmax(a, axis=0)",
    )
]


def test_run_refuses_wrong_arguments(save, tmp_path):
    a = save("a.npy", np.ones((4, 3), dtype="f4"))
    shape = save("shape.npy", np.ones((3, 4), dtype="f4"))
    dtype = save("dtype.npy", np.ones((4, 3)))
    half = save("half.npy", np.ones((4, 3), dtype="f2"))
    swapped = save("swapped.npy", np.ones((4, 3), dtype=">f4"))
    fortran = save("fortran.npy", np.asfortranarray(np.ones((4, 3), "f4")))
    text = tmp_path / "text.npy"
    text.write_text("no array")
    archive = tmp_path / "archive.npz"
    np.savez(archive, x=np.ones(3))
    out = tmp_path / "out.npy"

    def run(expr, *files, more=(), to=out):
        return gpuos_command(
            "run", "--expr", expr, *files, "-o", to, "--backend", "host", *more
        )

    assert_bad_input(run("o = a + b", a, shape), "(4, 3)", "(3, 4)")
    assert_bad_input(run("o = a + b", a, dtype), "float32", "float64")
    assert_bad_input(run("o = 2 * a", half), "float16")
    assert_bad_input(run("o = 2 * a", swapped), ">f4")
    assert_bad_input(run("o = 2 * a", fortran), "Fortran")
    assert_bad_input(run("o = 2 * a", text), ".npy")
    assert_bad_input(run("o = 2 * a", archive), ".npy")
    assert_bad_input(run("o = 2 * a", tmp_path / "none.npy"), "no such file")
    assert_bad_input(run("o = a + b", a), "2 inputs", "1")
    assert_bad_input(run("o = a +", a), "column")
    assert_bad_input(run("o = k * a", a, more=("--param", "k")), "NAME=VALUE")
    assert_bad_input(run("o = k * a", a, more=("--param", "k=x")), "number")
    for expr in REDUCTIONS:
        assert_bad_input(run(expr, a), "of each element, got a reduction")
    assert_bad_input(run("o = a", a, to=tmp_path / "no" / "o.npy"), "folder")
    assert not out.exists()
    assert sorted(p.name for p in tmp_path.iterdir() if "out" in p.name) == []


@pytest.mark.parametrize(
    ("expr", "files", "expected"),
    [
        ("o = b - a", ["a.npy", "b.npy"], -3.0),
        ("o = b - a", ["b.npy", "a.npy"], -3.0),
        ("o = b - a", ["a=b.npy", "b=a.npy"], 3.0),
        ("o = b - a", ["a=b.npy", "a.npy"], 3.0),
        ("o = x - y", ["a.npy", "b.npy"], 3.0),
        ("o = a - y", ["a.npy", "b.npy"], 3.0),
        ("o = a - b", ["a.npy", "a.npy"], 0.0),
        ("o = b - a", ["a.npy", "c.npy"], "expected NAME="),
        ("o = b - a", ["c=a.npy", "b.npy"], "expected one of b a"),
        ("o = b - a", ["a=a.npy", "a=b.npy"], "expected one file for it"),
        (
            "o = b - a",
            ["a.npy"],
            r"expected a file for each of its 2 inputs \(b a",
        ),
    ],
)
def test_files_are_bound_by_name(save, tmp_path, expr, files, expected):
    for name, value in {"a": 5.0, "b": 2.0, "c": 9.0}.items():
        save(f"{name}.npy", np.full(4, value, "f4"))
    given = [
        f"{name}{equals}{tmp_path / path}"
        for name, equals, path in (file.rpartition("=") for file in files)
    ]
    out = tmp_path / "out.npy"
    done = gpuos_command(
        "run", "--expr", expr, *given, "-o", out, "--backend", "host"
    )
    if isinstance(expected, str):
        assert done.returncode == 2
        assert re.search(expected, done.stderr)
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert np.load(out).tolist() == [expected] * 4


def test_demo_checks_everything(backend):
    done = gpuos_command("demo", "--backend", backend, "--seconds", "2")
    assert (done.returncode, done.stderr) == (0, "")
    table = dict(
        line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line
    )
    assert table["tasks lost"].strip() == "0"
    assert table["tasks wrong"].strip() == "0"
    assert int(table["elements checked"].replace(",", "")) > 100_000
    assert int(table["operators injected"]) >= 3
    lines = done.stdout.splitlines()
    assert any(line.startswith("right:") for line in lines)
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[3:5]] == ["NumPy", "gpuos"]
    assert ("torch.scheduler():" in done.stdout) is (
        "  PyTorch " in done.stdout
    )
    for change in (
        "mul is defined while add runs",
        "+ becomes - while it runs",
    ):
        assert re.fullmatch(
            r"in [\d,.]+ ms; the queue's pause: \d+ us", table[change].strip()
        )
    assert "    force = -4.0 * x - 0.1 * v" in done.stdout


def test_demo_has_pytorch_where_its_bridge_is():
    pytest.importorskip("torch")
    from gpuos.torch import building  # noqa: PLC0415 (needs PyTorch)

    building.build()
    found, is_same = sides.torch_sides(on_gpu=False, seconds=0.1)
    assert building.is_built()
    assert is_same
    assert [side.name for side in found] == ["PyTorch", "+ scheduler"]
    assert found[0].factor is None
    ratio = found[0].step_us / found[1].step_us
    assert found[1].factor == pytest.approx(ratio)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("refused", ["", "the compiler said\nno"])
def test_demo_compiles_the_bridge_and_shows_it(monkeypatch, capsys, refused):
    torch = pytest.importorskip("gpuos.torch")
    building = pytest.importorskip("gpuos.torch.building")
    terminal = Terminal()
    monkeypatch.setattr(demo, "ProgressLine", lambda: ProgressLine(terminal))
    monkeypatch.setattr(building.choosing, "find", lambda: None)
    end = [gpuos.CompileError(refused)] if refused else []
    answers = [*[gpuos.Timeout("not yet")] * 5, *end]

    def wait_ready(timeout):
        time.sleep(timeout)
        if answers:
            raise answers.pop(0)

    monkeypatch.setattr(torch, "wait_ready", wait_ready)
    demo.get_bridge()
    assert answers == []
    assert re.search(r" \d\.\d s of about \d+", terminal.getvalue())
    said = capsys.readouterr().out
    assert said.startswith("Compiling the bridge to PyTorch, once.\n")
    assert ("PyTorch is left out: the compiler said\n" in said) is bool(refused)
    # Without one nothing of PyTorch is run.
    assert sides.torch_sides(on_gpu=False, seconds=0.1) == ([], True)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_bars_are_as_long_as_times(monkeypatch, encoding):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(encoding=encoding))
    four = [*sides.pair("NumPy", "gpuos", (8.0, 2.0))]
    four += sides.pair("PyTorch", "+ scheduler", (16.0, 0.001))
    text = sides.lines_of(four)
    mark = "#" if encoding == "ascii" else "\u2588"
    assert [line.count(mark) for line in text[2:6]] == [16, 4, 32, 1]
    assert ["4.0 x" in line for line in text[2:5]] == [False, True, False]
    assert max(map(len, text)) <= 80


def test_suggestions_of_the_demo_are_commands():
    for command, _ in demo.NEXT:
        make_parser().parse_args(shlex.split(command))
    assert max(map(len, demo.next_lines(lacks_bridge=True))) <= 80


def test_bench_names_the_missing_build_option(monkeypatch, capsys):
    for name in [name for name in sys.modules if "gpuos.bench" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gpuos.bench._loops", None)
    assert main(["bench", "queue"]) == 1
    assert "GPUOS_BUILD_BENCHMARKS=ON" in capsys.readouterr().err


def test_the_bridge_is_not_next_where_it_is_there():
    lines = {x: demo.next_lines(lacks_bridge=x) for x in (True, False)}
    left_out = set(lines[True]) - set(lines[False])
    assert ["build-torch" in line for line in left_out] == [True]


def test_info_is_a_table():
    done = gpuos_command("info")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"gpuos {gpuos.__version__}\n")
    for word in (
        "driver",
        "nvrtc",
        "cuda headers",
        "cccl headers",
        "compiler",
        "backend 'auto' is",
    ):
        assert word in done.stdout


def test_info_as_json_has_what_a_report_needs(monkeypatch):
    monkeypatch.setenv("GPUOS_WORKERS", "1")
    done = gpuos_command("info", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["gpuos"] == gpuos.__version__
    assert found["python"] == sys.version
    assert found["packages"]["numpy"] == np.__version__
    assert found["environment"]["GPUOS_WORKERS"] == "1"
    assert [one["what"] for one in found["findings"]] == [
        one.what for one in gpuos.diagnose()
    ]
    assert found["runtime"]["workers"] >= 1
    # A runtime that cannot be is a part of the report, not its end.
    monkeypatch.setenv("GPUOS_BACKEND", "no_backend")
    found = json.loads(gpuos_command("info", "--json").stdout)
    assert "no_backend" in found["runtime"]["error"]


def test_info_fits_a_terminal_and_imports_no_pytorch(printed_by):
    lines = gpuos_command("info").stdout.splitlines()
    # A path is not broken.
    assert not [x for x in lines if len(x) > 80 and len(x.split()) > 1]
    printed_by(
        "import sys\nfrom gpuos.cli import main\n"
        "assert main(['info']) == 0 and 'torch' not in sys.modules"
    )


def parsers(parser):
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers(one)


def test_help_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    tops = [make_parser()]
    with contextlib.suppress(ImportError):  # a build without benchmarks
        tops.append(importlib.import_module("gpuos.bench").make_parser())
    texts = [one.format_help() for top in tops for one in parsers(top)]
    assert len(texts) > 10
    for line in "".join(texts).splitlines():
        assert len(line) <= 80, line
        # No line break is within quotes.
        assert line.count('"') % 2 == 0, line


def test_help_and_version():
    for command in ([], ["demo"], ["info"], ["run"]):
        done = gpuos_command(*command, "--help")
        assert done.returncode == 0
        assert "usage: python -m gpuos" in done.stdout
    assert gpuos_command("--version").stdout == f"gpuos {gpuos.__version__}\n"
    assert gpuos_command().stdout == gpuos_command("--help").stdout
    assert gpuos_command("dance").returncode == 2


def test_progress_is_shown_on_a_terminal_only(tmp_path):
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.show(bar(0.5))
    line.show("too soon")
    line.clear()
    assert terminal.getvalue().startswith("\r[###############---")
    assert " 50 %" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    with (tmp_path / "file").open("w") as file:
        ProgressLine(file).show("x")
    assert (tmp_path / "file").read_text() == ""
