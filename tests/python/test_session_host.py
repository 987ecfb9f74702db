"""Host code in the cells of a session: what a person types."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import gpuos

PRINT = "#include <iostream>\n"


def make_session(rt):
    try:
        session = rt.session()
        session.run("int compiler_is_there;")
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    session.undo()
    return session


@pytest.fixture
def session(host):
    return make_session(host)


@pytest.fixture(params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def either(request):
    return make_session(request.getfixturevalue(request.param))


def either_has_device(session) -> bool:
    session.run("int found = cudaDeviceSynchronize();")
    return session["found"] == 0


class Printed:
    """Runs cells and returns what they print to file descriptor 1."""

    def __init__(self, session: gpuos.Session, capfd: Any) -> None:
        self.session = session
        self.capfd = capfd

    def __call__(self, text: str) -> str:
        self.capfd.readouterr()
        self.session.run(PRINT + text)
        return self.capfd.readouterr().out

    def of(self, expression: str) -> str:
        return self(f"std::cout << ({expression});")


@pytest.fixture
def printed(session, capfd):
    return Printed(session, capfd)


# A declaration, a later use of it, and what that is.
DECLARATIONS = [
    ("int n = 3;", "n + 1", "4"),
    ("static int n(7);", "n", "7"),
    ("unsigned long long n{1ull << 40};", "n >> 38", "4"),
    ("int n = 1, *p = &n;", "*p + n", "2"),
    ("int n = 5; int& r = n;", "r", "5"),
    ("int a[] = {1, 2, 3};", "a[2] + int(sizeof a)", "15"),
    ("int a[2][2] = {{1, 2}, {3, 4}};", "a[1][0]", "3"),
    ("const char* text = \"hi\";", "text", "hi"),
    ("const int limit = 9;", "limit", "9"),
    ("constexpr int limit = 9;", "sizeof(int[limit])", "36"),
    ("thread_local int n = 6;", "n", "6"),
    ("auto x = 2.5;", "x * 2", "5"),
    ("auto f = [k = 4](int x) { return x + k; };", "f(1)", "5"),
    ("int (*f)(int) = [](int x) { return -x; };", "f(3)", "-3"),
    ("#include <string>\nstd::string s(2, 'a');", "s + s", "aaaa"),
    ("#include <vector>\nstd::vector<int> v{1, 2};", "v.size()", "2"),
    ("#include <utility>\nstd::pair p{1, 'b'};", "p.second", "b"),
    ("int f(int x) { return 2 * x; }", "f(4)", "8"),
    ("int f(int x = 4) { return 2 * x; }", "f()", "8"),
    ("auto f(int x) { return x / 2.0; }", "f(3)", "1.5"),
    ("int f(int); int g() { return f(1); } int f(int x) { return x; }", "g()",
     "1"),
    ("int f(int) { return 1; } int f(double) { return 2; }", "f(1) + f(.5)",
     "3"),
    ("int f(int n) { return n < 2 ? 1 : n * f(n - 1); }", "f(5)", "120"),
    ("template <class T> T half(T x) { return x / 2; }", "half(7.0)", "3.5"),
    ("struct P { int x = 3; int twice() { return 2 * x; } };", "P{}.twice()",
     "6"),
    ("struct P { int x; }; P p{4};", "p.x", "4"),
    ("struct P { P(int y); int x; }; P::P(int y) : x{y} {}", "P(2).x", "2"),
    ("struct P { static int n; }; int P::n = 8;", "P::n", "8"),
    ("struct P { static inline int n = 8; };", "++P::n", "9"),
    ("struct P; int f(P* p); struct P { int x; }; int f(P* p) { return p->x; }",
     "[] { P p{6}; return f(&p); }()", "6"),
    (("template <class T> struct B { T v; }; template <> struct B<int> { int w; "
     "};"), "B<int>{3}.w", "3"),
    ("enum Color { red, green }; Color c = green;", "c", "1"),
    ("enum class E { a = 4 };", "int(E::a)", "4"),
    ("using T = short; T t = 2;", "sizeof t + sizeof(T)", "4"),
    ("typedef struct { int x; } Pair; Pair q{5};", "q.x", "5"),
    ("namespace a { int n = 2; int f() { return n; } }", "a::f() + a::n", "4"),
    ("namespace a::b { struct S { int x; }; } namespace c = a::b;",
     "c::S{3}.x", "3"),
    ("namespace a { int n = 2; } using namespace a;", "n", "2"),
    ("#define TWICE(x) (2 * (x))", "TWICE(4)", "8"),
    ("extern int n; int f() { return n; } int n = 4;", "f()", "4"),
    ('extern "C" int abs(int);', "abs(-4)", "4"),
    ('extern "C" int read(int x) { return x + 1; }', "read(4)", "5"),
    ("__host__ __device__ int f(int x) { return x + 1; }", "f(1)", "2"),
    ("cudaError_t e = cudaSuccess; dim3 d(2, 3);", "e + d.y + d.z", "4"),
    ("struct P { int x; }; bool operator<(P a, P b) { return a.x < b.x; }",
     "P{1} < P{2}", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("declaration", "use", "value"), DECLARATIONS)
def test_later_cells_see_what_is_declared(printed, declaration, use, value):
    assert printed(f"{declaration}\nstd::cout << ({use});") == value
    if "++" in use:
        return
    later = printed(
        f"auto user() {{ return {use}; }}\n"
        f"std::cout << ({use}) << ' ' << user();"
    )
    assert later == f"{value} {value}"
    # The same once more, as in a notebook.
    printed.session.run(declaration)
    assert printed.of(f"{use}) << ' ' << (user()") == later


# What there is, what uses it, what it becomes, what its user gives then.
REDEFINITIONS = [
    ("int n = 1;", "n", "int n = 2;", "2"),
    ("int n = 1;", "n", "double n = 2.5;", "2.5"),
    ("int f() { return 1; }", "f()", "int f() { return 2; }", "2"),
    ("int f() { return 1; }", "f()", "double f() { return 2.5; }", "2.5"),
    ("constexpr int n = 1;", "n", "constexpr int n = 2;", "2"),
    ("template <class T> T f(T x) { return x; }", "f(3)",
     "template <class T> T f(T x) { return 2 * x; }", "6"),
    ("struct P { char x; };", "sizeof(P)", "struct P { double x; };", "8"),
    ("struct P { int f() { return 1; } };", "P{}.f()",
     "struct P { int f() { return 2; } };", "2"),
    ("struct P { int f(); }; int P::f() { return 1; }", "P{}.f()",
     "struct P { int f(); }; int P::f() { return 2; }", "2"),
    ("struct P { char x; }; struct Q { P p; };", "sizeof(Q)",
     "struct P { double x; };", "8"),
    
    ("enum E { a = 1 };", "int(a)", "enum E { a = 2 };", "2"),
    ("using T = char;", "sizeof(T)", "using T = int;", "4"),
    ("#define N 1", "N", "#define N 2", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "use", "new", "value"), REDEFINITIONS)
@pytest.mark.parametrize("distance", [1, 3])
def test_users_follow_a_new_definition(printed, old, use, new, value, distance):
    session = printed.session
    users = [f"double user1() {{ return {use}; }}"]
    for i in range(2, distance + 1):
        users.append(f"double user{i}() {{ return user{i - 1}(); }}")
    session.run(old)
    session.run("\n".join(users))
    before = printed.of(f"user{distance}()")
    session.run(new)
    assert printed.of(f"user{distance}()") == value
    session.undo()
    session.undo()
    assert printed.of(f"user{distance}()") == before


def test_a_variable_of_an_old_type_is_refused_until_it_is_defined_again(
    printed,
):
    session = printed.session
    session.run("struct P { int x; }; P p{1}; int f() { return p.x; }")
    session.run("struct P { double x; };")
    for text in ("p.x = 2;", "f();", "P q = p;"):
        with pytest.raises(gpuos.CompileError, match="define the variable aga"):
            session.run(text)
    session.run("P p{2.5};")
    assert printed.of("p.x") == "2.5"
    assert printed.of("f()") == "2"


def test_who_does_not_compile_any_more_says_why(session):
    session.run("struct P { int x; };\nint f() {\n  return P{}.x;\n}")
    session.run("struct P { int y; };")
    with pytest.raises(gpuos.CompileError) as caught:
        session.run("f();")
    text = str(caught.value)
    assert text.startswith(
        "f (cell 1) was compiled again (P was defined again in cell 2): "
        "cell 1:3: error: "
    )
    assert caught.value.file == "cell 1"


def test_a_member_comes_with_its_type(session):
    session.run("struct P { int f(); }; int P::f() { return 1; }")
    with pytest.raises(gpuos.CompileError, match="define that again too"):
        session.run("int P::f() { return 2; }")


def test_a_cell_that_does_not_compile_changes_nothing(printed):
    session = printed.session
    session.run("int n = 1; int f() { return n; }")
    for bad in (
        "int n = 2; int f() { return m; }",
        "n = 5; int g( {",
        "n = 5; undefined_function(3);",
        "int n = 7; missing<<<1, 1>>>();",
        'extern "C" int nowhere_at_all(int); n = nowhere_at_all(1);',
        "int later(int); n = later(1);",
        "#include <no/such/header>\nn = 5;",
    ):
        with pytest.raises((gpuos.CompileError, gpuos.InvalidArgument)):
            session.run(bad)
        assert printed.of("n + f()") == "2"
    assert session.names() == ["n"]


def test_errors_have_their_place(session):
    with pytest.raises(gpuos.CompileError) as caught:
        session.run("int n = 1;\n\n  n = undefined_name;", "In [3]")
    error = caught.value
    assert (error.file, error.line, error.column) == ("In [3]", 3, 7)
    assert error.excerpt == "  n = undefined_name;\n      ^"
    assert str(error).startswith("In [3]:3: error: ")


THROWN = [
    ("throw 5;", "int", "5"),
    ('throw "text";', "char const*", "text"),
    ("throw 2.5;", "double", "2.500000"),
    ("struct Mine {}; throw Mine{};", "Mine", ""),
    (
        '#include <stdexcept>\nthrow std::out_of_range("far");',
        "std::out_of_range",
        "far",
    ),
    (
        "#include <vector>\nstd::vector<int>(3).at(7);",
        "std::out_of_range",
        None,
    ),
]


@pytest.mark.parametrize(("text", "kind", "what"), THROWN)
def test_an_exception_is_a_host_error_and_definitions_stay(
    printed, text, kind, what
):
    session = printed.session
    with pytest.raises(gpuos.HostError) as caught:
        session.run(f"int before = 1;\n{text}\nint after = 2;")
    error = caught.value
    assert error.type == kind
    assert what is None or error.text == what
    line = 2 + text.count("\n")
    assert str(error).startswith(f"cell 1:{line}: {kind}")
    assert isinstance(error, gpuos.Error)
    # What comes behind it was never made.
    assert session.names() == ["before"]
    assert session["before"] == 1
    assert printed.of("before") == "1"


def test_what_ran_is_not_taken_back_nor_does_undo(session):
    session.run("int n = 1;")
    with pytest.raises(gpuos.HostError):
        session.run("n = 2; throw 1;")
    assert session["n"] == 2
    session.run("n = 3;")
    assert session.undo()
    assert session["n"] == 3


def test_python_reads_and_writes_variables(printed):
    session = printed.session
    session.run(
        "#include <string>\n"
        "bool yes = true; int n = 3; double x = 2.5; long long big = 1ll << 40;"
        'float a[2][3] = {{1, 2}}; std::string s = "abc"; int* p = &n;'
        "namespace m { int n = 9; } const int fixed = 4; int& r = n;"
        "struct P { int x; } ; P pair{1};"
    )
    values = {"yes": True, "n": 3, "x": 2.5, "big": 1 << 40, "s": "abc"}
    assert {name: session[name] for name in values} == values
    assert session["m::n"] == 9
    assert session["a"].tolist() == [[1, 2, 0], [0, 0, 0]]
    assert session["p"] == session.address("n")
    session["n"] = 7
    session["x"] = 1
    session["s"] = "new"
    session["a"] = np.arange(6, dtype="float32").reshape(2, 3)
    assert printed("std::cout << n << r << x << s << a[1][2];") == "771new5"
    for name, wrong in [
        ("n", 2.5),
        ("n", "text"),
        ("n", [1, 2]),
        ("a", [1.0]),
        ("s", 3),
        ("pair", 3),
    ]:
        with pytest.raises(gpuos.InvalidArgument):
            session[name] = wrong
    with pytest.raises(OverflowError):
        session["n"] = 1 << 40
    with pytest.raises(gpuos.InvalidArgument, match="variable of numbers"):
        session["pair"]
    # As those of the device.
    assert session.read("a", "float32").tolist() == [0, 1, 2, 3, 4, 5]
    session.write("n", np.int32(8))
    assert (session["n"], session.nbytes("a")) == (8, 24)
    with pytest.raises(gpuos.InvalidArgument, match="expected 4 bytes, got 8"):
        session.write("n", np.int64(8))


def test_bound_names_are_there_for_host_code(printed):
    session = printed.session
    session.bind(count=3, by=0.5)
    assert printed.of("count * by") == "1.5"
    session.run("int twice_count() { return 2 * count; }")
    session.bind(count=5)
    assert printed.of("twice_count()") == "10"
    session.run("int count = 100;")  # one of its own hides it
    assert printed.of("count") == "100"


def test_variables_are_destroyed_when_the_session_ends(host, capfd):
    session = make_session(host)
    session.run(
        PRINT + "struct Loud { int id; ~Loud() { std::cout << id; "
        "std::cout.flush(); } };\nLoud one{1}, two{2};"
    )
    session.run("Loud one{3};")
    assert capfd.readouterr().out == ""
    del session
    assert capfd.readouterr().out == "321"


def test_a_cell_prints_where_the_process_prints(printed):
    text = '#include <cstdio>\nstd::cout << 1 << "\\n"; printf("2\\n");'
    assert printed(text) == "1\n2\n"


class OutStream(io.StringIO):
    """What Jupyter has for sys.stdout."""


OutStream.__module__ = "ipykernel.iostream"


def test_a_notebook_shows_what_a_cell_prints(session, monkeypatch, capfd):
    out = OutStream()
    monkeypatch.setattr(sys, "stdout", out)
    lines = "for (int i = 0; i < 30000; ++i) std::cout << i << '\\n';"
    session.run(PRINT + lines)
    assert out.getvalue().split() == [str(i) for i in range(30000)]
    with pytest.raises(gpuos.HostError):
        session.run('#include <cstdio>\nprintf("then"); throw 1;')
    assert out.getvalue().endswith("then")
    monkeypatch.undo()
    assert capfd.readouterr().out == ""
    session.run('printf("to the process");')
    assert capfd.readouterr().out == "to the process"


# A name of CUDA, and what it gives where there is no device.
CALLS = [
    "cudaMalloc(&p, 4)",
    "cudaMalloc((void**)&p, 4)",
    "cudaFree(p)",
    "cudaMemcpy(p, &n, 4, cudaMemcpyHostToDevice)",
    "cudaMemcpy(&n, p, 4, cudaMemcpyDefault)",
    "cudaMemset(p, 0, 4)",
    "cudaDeviceSynchronize()",
    "cudaGetLastError()",
]


@pytest.mark.parametrize("call", CALLS)
def test_without_a_device_cuda_says_so(session, call):
    session.run(f"int n = 1; int* p = nullptr; int code = {call};")
    assert session["code"] == 100  # cudaErrorNoDevice
    session.run("bool same = code == cudaErrorNoDevice;")
    assert session["same"] is True


def test_what_a_session_has_not_of_cuda_is_refused(session):
    for text, why in [
        ("int* p; cudaMallocManaged(&p, 4);", "host must not touch"),
        ("#include <cuda_runtime.h>\n", "a session has no CUDA runtime"),
        ("cudaStreamCreate(nullptr);", "was not declared"),
    ]:
        with pytest.raises(gpuos.CompileError, match=why):
            session.run(text)


def test_without_a_compiler_device_cells_go_on(session, monkeypatch):
    monkeypatch.setenv("CXX", "/no/such/compiler")
    session.run("struct P { float x; }; constexpr int n = 4; void later();")
    session.run("__global__ void k(P* p) { p->x = n; }")
    session.run("void launch() { k<<<1, 1>>>(nullptr); }")
    assert session.link("k").startswith(b"\x7fELF")
    for text in ("int m = 3;", "#include <iostream>", "for (;;) break;"):
        with pytest.raises(gpuos.BackendUnavailable, match="C\\+\\+ compiler"):
            session.run(text)
    # What no compiler takes is told by the one that is there.
    with pytest.raises(gpuos.CompileError, match='"missing" is undefined'):
        session.run("struct Q { missing x; };")
    monkeypatch.delenv("CXX")
    session.run("int m = n;")
    assert session["m"] == 4


def test_a_header_of_the_device_alone_does_not_stop_host_code(host, tmp_path):
    (tmp_path / "mine.cuh").write_text(
        "__device__ int f() { return threadIdx.x; }\n"
        "__global__ void k(int* x) { *x = f(); }\n"
    )
    try:
        session = host.session(include_dirs=[str(tmp_path)])
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    session.run('#include "mine.cuh"')
    session.run("int n = 3;")
    session.run("n = 4;")
    assert session["n"] == 4


# https://reviews.llvm.org/D44435, as a file.
FOO_BAR = """\
#include "size.h"
__global__ void foo();
__global__ void bar();

// No kernel is there yet.
void launch() {
  foo<<<1, SIZE>>>();
  bar<<<1, SIZE>>>();
}

__global__ void foo() { calls(1); }
__global__ void bar() { calls(2); }
"""


def write_foo_bar(tmp_path):
    calls = "__device__ int order[2], count; __device__ inline void calls("
    (tmp_path / "size.h").write_text("#define SIZE 1\n")
    path = tmp_path / "foo_bar.cu"
    path.write_text(
        FOO_BAR.replace(
            "__global__ void foo();",
            calls + "int n) { order[count++] = n; }\n__global__ void foo();",
            1,
        )
    )
    return path


def test_a_file_is_one_cell(session, tmp_path):
    path = write_foo_bar(tmp_path)
    result = session.run_file(path)
    assert result.cell == str(path)
    assert "kernel foo" in result.defined
    for text in ("launch();", "for (int i = 0; i < 2; ++i) launch();"):
        with pytest.raises(gpuos.BackendUnavailable, match="backend cuda"):
            session.run(text)
    with pytest.raises(gpuos.InvalidArgument, match="file that can be read"):
        session.run_file(tmp_path / "none.cu")
    path.write_text("int n = 1;\nint m = nobody;\n")
    with pytest.raises(gpuos.CompileError) as caught:
        session.run_file(str(path))
    assert (caught.value.file, caught.value.line) == (str(path), 2)


@pytest.mark.gpu
def test_a_file_launches_its_kernels(cuda, tmp_path):
    session = make_session(cuda)
    session.run_file(write_foo_bar(tmp_path))
    assert session.run("launch();").launches == 2
    assert session.read("order", "int32").tolist() == [1, 2]
    session.write("count", np.int32(0))
    run = session.run("for (int i = 0; i < 1; ++i) launch();")
    assert run.launches == 2


LAUNCHES = [
    "k<<<1, 1>>>(p, 1);",
    "k<<<dim3(1, 2), {1, 1, 1}>>>(p, n + 1);",
    "k<<<n, n, 0>>>(p, twice(2));",
    "for (int i = 0; i < 3; ++i) k<<<1, 1>>>(p, i);",
    "if (n) k<<<1, 1>>>(p, 1); else k<<<1, 1>>>(p, 2);",
    "auto run = [] { k<<<1, 1>>>(p, 1); }; run();",
    "t<int><<<1, 1>>>(p);",
    "t<<<1, 1>>>(p);",
    "m::k<<<1, 1>>>();",
    "struct S { static void go() { k<<<1, 1>>>(p, 1); } }; S::go();",
]
KERNELS = (
    "__global__ void k(int* x, int y) { if (x) *x = y; }"
    "__global__ void k(int* x, float y) { if (x) *x = -1; }"
    "template <class T> __global__ void t(T* x) {}"
    "namespace m { __global__ void k() {} }"
)
VARIABLES = "int* p = nullptr; int n = 1; int twice(int x) { return 2 * x; }"


@pytest.mark.parametrize("text", LAUNCHES)
def test_launches_of_host_code_are_the_session_s(either, text):
    either.run(KERNELS)
    either.run(VARIABLES)
    if either_has_device(either):
        assert either.run(text).launches in (1, 3)
        return
    for launch in (text, "k<<<1, 1>>>(nullptr, 1);"):
        with pytest.raises(gpuos.BackendUnavailable, match="backend cuda"):
            either.run(launch)


def test_a_launch_that_is_wrong_is_refused_where_it_stands(session):
    session.run(KERNELS)
    session.run(VARIABLES)
    for text, why in [
        ("for (;;) k<<<1, 1>>>(p);", "error: "),
        ("for (;;) k<<<1>>>(p, 1);", "error: "),
        ("for (;;) nobody<<<1, 1>>>(p);", "was not declared"),
        ("n = 1; k<<<1, 1>>>(p, 1;", "expected"),
    ]:
        with pytest.raises(gpuos.CompileError, match=why):
            session.run(text)
    with pytest.raises(gpuos.InvalidArgument, match=r"k<<<grid, block>>>"):
        session.run("k(p, 1);")


def test_a_name_is_one_thing_on_both_sides(session):
    session.run("__device__ int d; int h = 1; __global__ void k() {}")
    for text in ("int d = 1;", "int k = 1;", "__device__ int h;"):
        with pytest.raises(gpuos.CompileError, match="expected a new name"):
            session.run(text)


# What clang's interpreter is tested with for CUDA, in words of our own: its
# tests of device functions, of functions of both sides, of launches and of
# memory, each with its host half.
CLANG = [
    (
        'extern "C" int printf(const char*, ...);',
        "int var; int* devptr = nullptr;",
        'printf("cudaMalloc: %d\\n", cudaMalloc((void**)&devptr, sizeof var));',
        (
            "__device__ inline void set(int* value) { *value = 42; }\n"
            "__global__ void kernel(int* value) { set(value); }"
        ),
        "kernel<<<1, 1>>>(devptr);",
        'printf("Error: %d\\n", cudaGetLastError());',
        (
            'printf("cudaMemcpy: %d\\n", cudaMemcpy(&var, devptr, sizeof var, '
            "cudaMemcpyDeviceToHost));"
        ),
        'printf("Value: %d\\n", var);',
        ["cudaMalloc: 0", "Error: 0", "cudaMemcpy: 0", "Value: 42"],
    ),
    (
        'extern "C" int printf(const char*, ...);',
        "__host__ __device__ inline int sum(int a, int b) { return a + b; }",
        "__global__ void kernel(int* out) { *out = sum(1, 2); }",
        'printf("Host sum: %d\\n", sum(41, 1));',
        "int var = 0; int* devptr = nullptr;",
        "cudaMalloc(&devptr, sizeof(int));",
        "kernel<<<1, 1>>>(devptr);",
        "cudaMemcpy(&var, devptr, sizeof(int), cudaMemcpyDeviceToHost);",
        'printf("Device sum: %d\\n", var);',
        ["Host sum: 42", "Device sum: 3"],
    ),
    (
        'extern "C" int printf(const char*, ...);',
        "template <typename T> __device__ T twice(T x) { return x + x; }",
        (
            "template <typename T> __global__ void kernel(T* x) "
            "{ *x = twice(*x); }"
        ),
        "float var = 21; float* devptr = nullptr;",
        "cudaMalloc(&devptr, sizeof var);",
        "cudaMemcpy(devptr, &var, sizeof var, cudaMemcpyHostToDevice);",
        "kernel<<<1, 1>>>(devptr);",
        "cudaMemcpy(&var, devptr, sizeof var, cudaMemcpyDeviceToHost);",
        'printf("Value: %g\\n", var);',
        ["Value: 42"],
    ),
    (
        'extern "C" int printf(const char*, ...);',
        "__global__ void kernel1() {}",
        "__global__ void kernel2() {}",
        "kernel1<<<1, 1>>>();",
        "kernel1<<<1, 1>>>(); kernel2<<<1, 1>>>();",
        'printf("Error: %d\\n", cudaGetLastError());',
        "int* d = nullptr; cudaMalloc(&d, 400); cudaMemset(d, 1, 400);",
        "int h[100]; cudaMemcpy(h, d, 400, cudaMemcpyDeviceToHost);",
        'printf("%x %x\\n", h[0], h[99]); cudaFree(d);',
        ["Error: 0", "1010101 1010101"],
    ),
]


@pytest.mark.parametrize("program", CLANG)
def test_what_clang_s_interpreter_is_tested_with(either, capfd, program):
    *cells, lines = program
    has_device = True
    for cell in cells:
        try:
            either.run(cell)
        except gpuos.BackendUnavailable:
            has_device = False
            assert "<<<" in cell
    printed = capfd.readouterr().out.split("\n")
    if has_device:
        assert printed == [*lines, ""]
    else:
        names = [line.split(":")[0] for line in lines if ":" in line]
        assert [line.split(":")[0] for line in printed if ":" in line] == names
        codes = [line for line in printed if "cuda" in line or "Err" in line]
        assert all(line.endswith(": 100") for line in codes)
        assert ("Host sum: 42" in lines) == ("Host sum: 42" in printed)


@pytest.mark.gpu
def test_memory_and_launches_keep_their_order(cuda):
    session = make_session(cuda)
    session.run(
        "__global__ void scale(float* x, float by, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) x[i] *= by;\n}\n"
        "constexpr int n = 1000; float host[n]; float* x = nullptr;"
    )
    result = session.run(
        "for (int i = 0; i < n; ++i) host[i] = i;\n"
        "cudaMalloc(&x, sizeof host);\n"
        "cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);\n"
        "for (int i = 0; i < 3; ++i)\n"
        "  scale<<<(n + 127) / 128, 128>>>(x, 2, n);\n"
        "cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);\n"
        "int code = cudaFree(x);"
    )
    assert result.launches == 3
    assert session["code"] == 0
    np.testing.assert_array_equal(session["host"], np.arange(1000) * 8)


@pytest.mark.gpu
def test_arrays_of_python_and_variables_of_the_device_are_arguments(cuda):
    session = make_session(cuda)
    session.run(
        "__device__ float by = 3, table[4];"
        "__global__ void mul(float* x, float y) { x[threadIdx.x] *= y; }"
    )
    x = cuda.array(np.arange(4, dtype="float32"))
    session.bind(x=x, n=4)
    session.run("for (int i = 0; i < 2; ++i) mul<<<1, n>>>(x, by);")
    np.testing.assert_array_equal(x.numpy(), np.arange(4) * 9)
    session.write("table", np.arange(4, dtype="float32"))
    session.run("int one = 1; mul<<<one, 4>>>(table, 2);")
    assert session.read("table", "float32").tolist() == [0, 2, 4, 6]


def test_threads_of_a_cell_end_before_it(session):
    session.run(
        "#include <atomic>\n#include <thread>\n#include <vector>\n"
        "std::atomic<int> sum{0};\n"
        "{ std::vector<std::thread> threads;\n"
        "  for (int i = 0; i < 4; ++i) threads.emplace_back([i] {\n"
        "    sum += i; cudaGetLastError(); });\n"
        "  for (auto& thread : threads) thread.join(); }\n"
        "int result = sum;"
    )
    assert session["result"] == 6
