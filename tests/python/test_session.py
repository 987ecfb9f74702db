from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuos
from gpuos.magic import describe

ROOT = Path(__file__).parents[2]


def make_session(rt):
    try:
        return rt.session()
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def session(host):
    return make_session(host)


@pytest.fixture
def on_gpu(cuda):
    return cuda, make_session(cuda)


class FakeShell:
    """What the magic uses of IPython."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.execution_count = 7
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, func, magic_kind, magic_name):
        assert magic_kind == "cell"
        self.magics[magic_name] = func

    def run(self, source: str) -> None:
        if source.startswith("%%"):
            line, cell = source.split("\n", 1)
            magic, _, rest = line.removeprefix("%%").partition(" ")
            self.magics[magic](rest, cell)
            return
        if source.startswith("%load_ext gpuos"):
            gpuos.load_ipython_extension(self)
            source = source.split("\n", 1)[1]
        exec(compile(source, "cell", "exec"), self.user_ns)  # noqa: S102


@pytest.mark.parametrize(
    "function",
    [
        "__device__ auto f(float x) { return 2 * x; }",
        "__device__ decltype(auto) f(float x) { return 2 * x; }",
        "__device__ auto f(auto x) { return 2 * x; }",
        (
            "namespace a { __device__ auto g(int n) { return n; } }\n"
            "__device__ auto f(float x) { return a::g(2) * x; }"
        ),
    ],
)
def test_functions_whose_result_is_deduced_are_called(session, function):
    kernels = "__global__ void {}(float* x) {{ *x = f(*x); }}"
    session.run(function)
    session.run(kernels.format("one"))
    session.run(kernels.format("two"))
    assert session.link("one").startswith(b"\x7fELF")
    before = session.link("two")
    session.run("__device__ auto f(float x) { return x; }")
    if "auto x" not in function:  # that is an overload
        assert session.link("two") != before
    assert session.export_cubin().startswith(b"\x7fELF")


def test_errors_in_a_function_whose_result_is_deduced_have_their_place(session):
    with pytest.raises(gpuos.CompileError, match="cell 1:2: error") as caught:
        session.run("\n  __device__ auto f(float x) { return y; }")
    assert (caught.value.line, caught.value.column) == (2, 39)


def test_cells_are_compiled_linked_and_exported_without_a_gpu(session):
    first = session.run("__device__ int n; __device__ int f() { return n; }")
    assert first.cell == "cell 1"
    assert first.defined == ["variable n", "function f"]
    session.run("__global__ void k(int* x) { x[0] = f(); }", "my cell")
    assert session.names() == ["f", "k", "n"]
    assert session.link("k").startswith(b"\x7fELF")
    assert session.export_cubin().startswith(b"\x7fELF")
    assert session.stats() == {
        "cells": 2,
        "compiled": 4,
        "linked": 2,
        "loaded": 0,
    }
    with pytest.raises(TypeError, match="got None"):
        gpuos.Session.undo(None)
    assert session.undo()
    assert session.names() == ["f", "n"]


def test_an_error_names_the_line_of_the_cell(session):
    with pytest.raises(gpuos.CompileError) as caught:
        session.run("__device__ int f() {\n  return missing;\n}", "In [3]")
    assert (caught.value.file, caught.value.line) == ("In [3]", 2)
    assert caught.value.column == len("  return m")
    assert caught.value.excerpt.startswith("  return missing;\n")
    assert session.names() == []


def test_a_launch_says_what_is_missing(session):
    session.run("__device__ int later(); __global__ void k() { later(); }")
    with pytest.raises(gpuos.CompileError, match=r"later\(\), which kernel k"):
        session.run("k<<<1, 1>>>();")
    with pytest.raises(gpuos.InvalidArgument, match="name of a kernel"):
        session.run("unknown<<<1, 1>>>();")
    session.run("__device__ int later() { return 1; }")
    with pytest.raises(gpuos.BackendUnavailable, match="backend cuda"):
        session.run("k<<<1, 1>>>();")


def test_host_arrays_cannot_be_bound(host, session):
    with pytest.raises(gpuos.InvalidArgument, match=r"x: expected an array"):
        session.bind(x=host.zeros(3))
    session.bind(n=3, by=0.5)
    session.unbind("n", "by")
    with pytest.raises(gpuos.InvalidArgument, match="bound name"):
        session.unbind("n")


def test_options_and_folders_reach_the_compiler(host, tmp_path):
    (tmp_path / "mine.h").write_text("#define MINE 5\n")
    try:
        session = host.session(
            gpuos.JitOptions(defines={"N": 4}), [str(tmp_path)]
        )
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    session.run('#include "mine.h"\nstatic_assert(N + MINE == 9);')


def test_a_session_needs_no_runtime():
    try:
        session = gpuos.Session(["--use_fast_math"])
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    session.run("__global__ void k(float* x) { x[0] = sinf(x[0]); }")
    assert session.link("k")
    with pytest.raises(gpuos.InvalidArgument, match="session of a Runtime"):
        session.operator("k")


def test_the_magic_runs_cells_and_shows_their_errors(session):
    shell = FakeShell()
    gpuos.load_ipython_extension(shell)
    shell.user_ns["s"] = session
    shell.run("%%gpuos s\n__global__ void k(int n, float by) {}")
    shell.user_ns.update(n=3, by=0.5)
    with pytest.raises(gpuos.BackendUnavailable):
        shell.run("%%gpuos s\nk<<<1, n>>>(n, by);")
    session.unbind("n", "by")
    with pytest.raises(gpuos.CompileError) as caught:
        shell.run("%%gpuos s\n\n__device__ int f() { return q; }")
    assert caught.value._render_traceback_() == [describe(caught.value)]
    assert describe(caught.value).splitlines() == [
        'In [7]:2: error: identifier "q" is undefined',
        "__device__ int f() { return q; }",
        "                            ^",
    ]
    with pytest.raises(TypeError, match="expected a Session in t, got nothing"):
        shell.run("%%gpuos t\nk<<<1, 1>>>();")


def printed(cell):
    """What a cell of a notebook has stored that was printed."""
    return "".join(output.get("text", "") for output in cell["outputs"])


def test_the_example_notebook_runs(capfd):
    session = make_session(gpuos.Runtime("host"))
    try:
        session.run("int there_is_a_compiler;")
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    shell = FakeShell()
    path = ROOT / "examples" / "notebooks" / "session.ipynb"
    shown = stored = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            shell.run("".join(cell["source"]))
            shown += capfd.readouterr().out
            stored += printed(cell)
    launches = 3 if shell.user_ns["has_gpu"] else 0
    # What is stored is of the host: scripts/notebooks.
    assert shell.user_ns["has_gpu"] or shown == stored
    for count in (0, launches, 10):
        assert f"3 values, {count} launches\n" in shown


def test_the_magic_shows_what_host_code_throws(session):
    shell = FakeShell()
    gpuos.load_ipython_extension(shell)
    shell.user_ns["s"] = session
    try:
        session.run("int there_is_a_compiler;")
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    with pytest.raises(gpuos.HostError) as caught:
        shell.run("%%cuda s\nint n = 3;\nthrow n;")
    assert caught.value._render_traceback_() == ["In [7]:2: int: 3"]
    with pytest.raises(gpuos.CompileError) as wrong:
        shell.run("%%cuda s\nn = q;")
    assert wrong.value._render_traceback_()[0].endswith("n = q;\n    ^")


def test_the_cost_of_a_cell_is_measured(session, capsys, tmp_path):
    bench = pytest.importorskip("gpuos.bench", exc_type=ImportError).main
    assert session.names() == []
    written = tmp_path / "cost.json"
    table = ["--json", str(written)]
    assert bench(["session", "--cells", "6", "--arch", "sm_90", *table]) == 0
    assert "last 3 of 6 cells over the first 3" in capsys.readouterr().out
    content = json.loads(written.read_text())
    ratio, cell, link, host, host_ratio = content["rows"]
    assert ratio["asked"] == 1.2
    assert cell["also"]["processor ms"] > 0
    assert link["name"] == "link of a kernel that reaches all 6 cells"
    assert host["asked"] == 700
    assert host["also"]["processor ms"] > 0
    assert host_ratio["value"] > 0
    lines = content["series"]["cells"]["lines"]
    assert all(ms > 0 for ms in lines["a cell of a session"])
    assert [i for i, ms in enumerate(lines["all cells anew"]) if ms] == [0, 5]


@pytest.mark.gpu
def test_arrays_numbers_and_variables_reach_kernels(on_gpu):
    rt, session = on_gpu
    session.run(
        "__device__ float offset = 1;\n"
        "__global__ void k(float* x, float by, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) x[i] = x[i] * by + offset;\n"
        "}"
    )
    x = rt.array(np.arange(1000, dtype="float32"))
    session.bind(x=x, n=1000)
    assert session.run("k<<<(n + 127) / 128, 128>>>(x, 2.0f, n);").launches == 1
    np.testing.assert_array_equal(x.numpy(), np.arange(1000) * 2 + 1)
    session.write("offset", np.float32(5))
    assert session.read("offset", "float32").tolist() == [5]
    assert session.nbytes("offset") == 4
    session["k"].launch(8, 128, (x, 0.0, 1000))
    assert session.address("offset") != 0
    rt.synchronize()
    session.run("k<<<8, 128>>>(x, 1, n);")
    np.testing.assert_array_equal(x.numpy(), np.full(1000, 10))


@pytest.mark.gpu
def test_a_function_becomes_an_operator(on_gpu):
    rt, session = on_gpu
    session.run("__device__ float f(float x, float by) { return x * by; }")
    op = session.operator("f", "scaled", ["by"])
    assert op.params == {"by": "float32"}
    x = rt.array(np.arange(10, dtype="float32"))
    rt.wait(rt.submit("scaled", x, out=x, by=3))
    np.testing.assert_array_equal(x.numpy(), np.arange(10) * 3)
    session.run("__device__ float f(float x, float by) { return x - by; }")
    session.operator("f", "scaled", ["by"])
    rt.wait(rt.submit("scaled", x, out=x, by=1))
    np.testing.assert_array_equal(x.numpy(), np.arange(10) * 3 - 1)


@pytest.mark.gpu
def test_the_magic_binds_what_launches_name(on_gpu):
    rt, session = on_gpu
    shell = FakeShell()
    gpuos.load_ipython_extension(shell)
    shell.user_ns.update(s=session, a=rt.zeros(4), value=2.5)
    shell.run(
        "%%gpuos s\n__global__ void set(float* x, float v) "
        "{ x[threadIdx.x] = v; }\nset<<<1, 4>>>(a, value);"
    )
    assert shell.user_ns["a"].numpy().tolist() == [2.5] * 4
