"""Host code in the cells of a session: what a person types."""

import io
import os
import random
import shutil
import sys
import threading

import numpy as np
import pytest
from deadlines import WAIT_S, until
from session_support import PRINT, Printed, make_session

import gpuos

pytestmark = pytest.mark.host


@pytest.fixture(scope="module", autouse=True)
def headers():
    """A session that stays, so that later ones find its headers read."""
    with gpuos.Runtime(backend="host") as runtime:
        session = make_session(runtime)
        session.run(PRINT)
        yield session


@pytest.fixture
def printed(session, capfd):
    return Printed(session, capfd)


# A declaration, and a use of it; test_session_cells.py has all kinds, run once.
DECLARATIONS = [
    ("int n = 1, *p = &n;", "*p + n"),
    ("int a[2][2] = {{1, 2}, {3, 4}};", "a[1][0]"),
    ("auto f = [k = 4](int x) { return x + k; };", "f(1)"),
    ("#include <string>\nstd::string s(2, 'a');", "s + s"),
    ("int f(int); int g() { return f(1); } int f(int x) { return x; }", "g()"),
    ("int f(int) { return 1; } int f(double) { return 2; }", "f(1) + f(.5)"),
    ("template <class T> T half(T x) { return x / 2; }", "half(7.0)"),
    ("struct P { static int n; }; int P::n = 8;", "P::n"),
    ("struct P { P(int y); int x; }; P::P(int y) : x{y} {}", "P(2).x"),
    ("enum Color { red, green }; Color c = green;", "c"),
    ("typedef struct { int x; } Pair; Pair q{5};", "q.x"),
    (
        "namespace a::b { struct S { int x; }; } namespace c = a::b;",
        "c::S{3}.x",
    ),
    ("#define TWICE(x) (2 * (x))", "TWICE(4)"),
    ("extern int n; int f() { return n; } int n = 4;", "f()"),
    ("static int n(7);", "n"),
    ("int n = 5; int& r = n;", "r"),
    ("namespace a { int n = 2; } using namespace a;", "n"),
    (
        "struct P { int x; }; bool operator<(P a, P b) { return a.x < b.x; }",
        "P{1} < P{2}",
    ),
    (
        """template <class T> struct B { T v; };
        template <> struct B<int> { int w; };""",
        "B<int>{3}.w",
    ),
]


@pytest.mark.parametrize(("declaration", "use"), DECLARATIONS)
def test_a_declaration_may_run_again(printed, declaration, use):
    printed.session.run(declaration)
    value = printed(f"auto user() {{ return {use}; }}\nstd::cout << ({use});")
    printed.session.run(declaration)
    assert printed.of(f"{use}) << ' ' << (user()") == f"{value} {value}"


# The first definition, its user, the new definition, and the user's result.
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


def test_a_recompiled_function_names_the_change_that_broke_it(session):
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


def test_redefining_a_member_requires_its_type(session):
    session.run("struct P { int f(); }; int P::f() { return 1; }")
    with pytest.raises(gpuos.CompileError, match="define the rest too"):
        session.run("int P::f() { return 2; }")


def test_a_changed_member_leaves_other_friends_alone(session):
    session.run("class F { int x = 2; friend class L; };")
    session.run("struct L { int at(const F& f) { return f.x; } };\nint i;")
    session.run("template <class T> struct K { static int f() { return 1; } };")
    session.run("template <> int K<char>::f() { return 3; }\nF v;")
    session.run("int n = L().at(v) + K<char>::f();")
    assert session["n"] == 5


def test_members_of_one_name_come_after_their_classes(session):
    session.run("template <class T> struct K { static int f() { return 1; } };")
    session.run("template <class T> int h(T) { return 5; }")
    session.run("template <> int K<char>::f() { return 3; }")
    session.run("template <class T> struct P { T x; T f(T y); };")
    session.run("template <class T> T P<T>::f(T y) { return x + y; }")
    session.run("template <> int h<double>(double) { return 6; }")
    session.run("int m = h(1.) * 100 + P<int>{1}.f(1) * 10 + K<char>::f();")
    assert session["m"] == 623


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
        "struct M { int f(); }; n = M{}.f();",
        "struct V { virtual int f(); }; V v;",
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
    # Later variables were never created.
    assert session.names() == ["before"]
    assert session["before"] == 1
    assert printed.of("before") == "1"


def test_side_effects_survive_errors_and_undo(session):
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
        ("n", 1 << 40),
        ("n", np.int64(1 << 40)),
        ("n", 1 << 80),
        ("a", [1.0]),
        ("s", 3),
        ("pair", 3),
    ]:
        with pytest.raises(gpuos.InvalidArgument):
            session[name] = wrong
    with pytest.raises(gpuos.InvalidArgument, match="variable of numbers"):
        session["pair"]
    # Host variables are read like device variables.
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
    session.run("int count = 100;")  # the cell's own variable hides it
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
    """Jupyter's replacement of sys.stdout."""


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


# A compiler that reads its header only after permission.
SLOW_READER = """#!/bin/sh
case "$*" in *c++-header*)
  touch {folder}/begun
  while [ ! -e {folder}/go ]; do sleep 0.1; done
  touch {folder}/read
esac
exec {compiler} "$@"
"""


def test_cells_do_not_wait_for_unused_headers(host, monkeypatch, tmp_path):
    compiler = tmp_path / "c++"
    before = shutil.which(os.environ.get("CXX", "c++"))
    compiler.write_text(SLOW_READER.format(folder=tmp_path, compiler=before))
    compiler.chmod(0o700)
    monkeypatch.setenv("CXX", str(compiler))
    session = make_session(host)
    session.run("#include <vector>\nint a;")
    assert until((tmp_path / "begun").exists)
    # Without it the next cell would wait until the compiler's time is over.
    late = threading.Timer(WAIT_S, (tmp_path / "go").touch)
    late.start()
    session.run("#include <string>\nint b = 2;")
    late.cancel()
    assert session["b"] == 2
    assert not (tmp_path / "read").exists()


class Model:
    """Predicts the values of a session's variables and functions."""

    def __init__(self) -> None:
        self.variables: dict[str, list] = {}  # of one value each
        self.functions: dict[str, tuple] = {}
        self.before: list[tuple] = []

    def begin_cell(self) -> None:
        self.before.append((dict(self.variables), dict(self.functions)))

    def undo(self) -> None:
        self.variables, self.functions = self.before.pop()

    def value(self, function: str, x: float) -> float:
        factor, variable, called = self.functions[function]
        value = factor * x + self.variables[variable][0]
        return value + (self.value(called, x) if called else 0)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_match_a_model(printed, seed):
    session, model = printed.session, Model()
    draw = random.Random(seed)
    variables = ["v0", "v1", "v2"]
    functions = ["f0", "f1", "f2", "f3"]

    def define_variable() -> str:
        name = draw.choice(variables)
        value = draw.randrange(100)
        kind = draw.choice(["int", "double", "short"])
        model.variables[name] = [value]
        return f"{kind} {name} = {value};"

    def define_function() -> str:
        index = draw.randrange(len(functions))
        known = [f for f in functions[:index] if f in model.functions]
        called = draw.choice([*known, None])
        variable = draw.choice(list(model.variables))
        factor = draw.randrange(10)
        model.functions[functions[index]] = (factor, variable, called)
        call = f" + {called}(x)" if called else ""
        return (
            f"double {functions[index]}(double x) "
            f"{{ return {factor} * x + {variable}{call}; }}"
        )

    def assign() -> str:
        name = draw.choice(list(model.variables))
        model.variables[name][0] = value = draw.randrange(100)
        return f"{name} = {value};"

    model.begin_cell()
    session.run(define_variable())
    for _ in range(25):
        step = draw.choice("vvfffaaput")
        if step == "u" and len(model.before) > 1:
            session.undo()
            model.undo()
        elif step == "p":
            name = draw.choice(list(model.variables))
            session[name] = model.variables[name][0] = draw.randrange(100)
        elif step == "t":
            with pytest.raises(gpuos.CompileError):
                session.run(f"{draw.choice(variables)} = no_such_name;")
        else:
            model.begin_cell()
            makers = {"v": define_variable, "a": assign, "u": assign}
            session.run(makers.get(step, define_function)())
    model.begin_cell()
    names = sorted(model.functions)
    text = "".join(f"std::cout << {name}(2) << ' ';" for name in names)
    wanted = "".join(f"{model.value(name, 2):g} " for name in names)
    assert printed(text) == wanted
    for name, value in model.variables.items():
        assert session[name] == value[0]
