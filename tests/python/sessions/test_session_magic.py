"""The cell magics of notebooks."""

import json
from pathlib import Path

import numpy as np
import pytest
from session_support import FakeShell, make_session

import gpuos
from gpuos.magic import describe

ROOT = Path(__file__).parents[3]


@pytest.fixture
def shell(session):
    made = FakeShell()
    gpuos.load_ipython_extension(made)
    made.user_ns["s"] = session
    return made


@pytest.fixture
def on_gpu(cuda):
    return cuda, make_session(cuda)


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
    shell.user_ns["t"] = 3
    with pytest.raises(TypeError, match="Session in t, got int; name another"):
        shell.run("%%gpuos t\nk<<<1, 1>>>();")


def printed(cell):
    """Return the stored output of a notebook's cell."""
    return "".join(output.get("text", "") for output in cell["outputs"])


def test_the_example_notebook_runs(capfd):
    make_session(gpuos.Runtime("host"))  # or is skipped
    shell = FakeShell()
    path = ROOT / "examples" / "notebooks" / "session.ipynb"
    shown = stored = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            shell.run("".join(cell["source"]))
            shown += capfd.readouterr().out
            stored += printed(cell)
    launches = 3 if shell.user_ns["has_gpu"] else 0
    # The stored output comes from the host: scripts/notebooks.
    assert shell.user_ns["has_gpu"] or shown == stored
    for count in (0, launches, 10):
        assert f"3 values, {count} launches\n" in shown


def test_the_magic_shows_what_host_code_throws(session):
    shell = FakeShell()
    gpuos.load_ipython_extension(shell)
    shell.user_ns["s"] = session
    with pytest.raises(gpuos.HostError) as caught:
        shell.run("%%cuda s\nint n = 3;\nthrow n;")
    assert caught.value._render_traceback_() == ["In [7]:2: int: 3"]
    with pytest.raises(gpuos.CompileError) as wrong:
        shell.run("%%cuda s\nn = q;")
    assert wrong.value._render_traceback_()[0].endswith("n = q;\n    ^")


@pytest.mark.gpu
def test_the_magic_binds_variables_of_launches(on_gpu):
    rt, session = on_gpu
    shell = FakeShell()
    gpuos.load_ipython_extension(shell)
    shell.user_ns.update(s=session, a=rt.zeros(4), value=2.5)
    shell.run(
        "%%gpuos s\n__global__ void set(float* x, float v) "
        "{ x[threadIdx.x] = v; }\nset<<<1, 4>>>(a, value);"
    )
    assert shell.user_ns["a"].numpy().tolist() == [2.5] * 4


# Values of Python, and cells that have the name for something else.
NAMES = {"number": 3, "array": np.ones(4), "large": 1 << 70, "text": "x"}
CELLS = [
    "void go1(float* x, int y) { k<<<1, 1>>>(x, y); }",
    "float* x = nullptr; if (false) k<<<1, 1>>>(x, 1);",
    "struct S { float* x; } s3; if (false) k<<<1, 1>>>(s3.x, 1);",
    "for (int x = 0; x < 0; ++x) k<<<1, x>>>(nullptr, x);",
    "__device__ int x = 5;",
    "if (false) k<<<1, 1>>>(nullptr, 1 /* x */);",
]


@pytest.mark.parametrize("value", NAMES.values(), ids=NAMES)
def test_a_variable_of_python_never_breaks_a_cell(shell, session, value):
    session.run("__global__ void k(float* x, int y) {}")
    shell.user_ns["x"] = value
    for cell in CELLS:
        shell.run(f"%%cuda s\n{cell}")
        session.undo()


def test_a_cells_variable_replaces_a_bound_one(shell, session):
    shell.user_ns["n"] = 3
    session.run("int seen; __global__ void k() {}")
    shell.run("%%cuda s\nseen = n; if (seen > 3) k<<<1, n>>>();")
    assert session["seen"] == 3
    shell.run("%%cuda s\nint n = 5; seen = n; if (seen > 5) k<<<1, n>>>();")
    assert session["seen"] == 5


def test_unbindable_variables_are_named_in_the_error(shell):
    shell.user_ns["x"] = np.ones(4)
    with pytest.raises(gpuos.CompileError) as caught:
        shell.run(
            "%%cuda s\n__global__ void k(double*) {}\nif (true) k<<<1, 1>>>(x);"
        )
    assert "x: expected a number" in caught.value._render_traceback_()[0]


def test_the_magic_creates_a_missing_session(shell):
    shell.run("%%cuda fresh\n__device__ int n;")
    assert shell.user_ns["fresh"].names() == ["n"]
    with pytest.raises(TypeError, match="got no variable") as caught:
        shell.run("%%cuda fresh -v\n__device__ int n;")
    assert caught.value._render_traceback_() == [str(caught.value)]
    assert "%%cuda [SESSION]" in shell.magics["cuda"].__doc__


def test_an_uncalled_main_warns(shell, session):
    with pytest.warns(UserWarning, match=r"call it: main\(\);"):
        shell.run("%%cuda s\nint seen = 1;\nint main() { seen = 2; return 0; }")
    shell.run("%%cuda s\nmain();")
    assert session["seen"] == 2
    shell.run("%%cuda s\nint main() { seen = 4; return 0; }\nmain();")
    assert session["seen"] == 4


@pytest.mark.parametrize("has_store", [True, False])
def test_cells_have_the_numbers_that_ipython_shows(shell, has_store):
    """IPython 7 and 8 count a cell after it has run, 9 before."""
    shell.execution_count = 8 if has_store else 7
    if not has_store:
        del shell.user_ns["In"]
    with pytest.raises(gpuos.CompileError) as caught:
        shell.run("%%cuda s\nint a = zork;")
    lines = caught.value._render_traceback_()[0].splitlines()
    assert lines[0].startswith("In [7]:1: error: 'zork'")
    assert [line.strip() for line in lines[1:]] == ["int a = zork;", "^"]
