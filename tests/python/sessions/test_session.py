import json

import numpy as np
import pytest
from jit_support import or_skip

import gpuos


def make_session(rt):
    return or_skip(rt.session)


@pytest.fixture
def session(host):
    return make_session(host)


@pytest.fixture
def on_gpu(cuda):
    return cuda, make_session(cuda)


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
    session = or_skip(
        host.session, gpuos.JitOptions(defines={"N": 4}), [str(tmp_path)]
    )
    session.run('#include "mine.h"\nstatic_assert(N + MINE == 9);')


def test_a_session_needs_no_runtime():
    session = or_skip(gpuos.Session, ["--use_fast_math"])
    session.run("__global__ void k(float* x) { x[0] = sinf(x[0]); }")
    assert session.link("k")
    with pytest.raises(gpuos.InvalidArgument, match="session of a Runtime"):
        session.operator("k")


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
