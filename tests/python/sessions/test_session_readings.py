"""Cells are read as C++ reads them: nothing that they declare is lost."""

import re

import pytest
from session_readings import HEADERS, OWN, READINGS
from session_support import make_session

import gpuos

pytestmark = pytest.mark.host


@pytest.mark.parametrize("cells", [2, 1])
def test_nothing_that_is_declared_is_lost(host, tmp_path, cells):
    for name, text in OWN.items():
        (tmp_path / name).write_text(text)
    try:
        session = host.session(include_dirs=[tmp_path])
        session.bind(bound=12)
        session.run("\ufeff" + HEADERS)
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    halves = [[row[half] for row in READINGS] for half in (0, 1)]
    texts = ["\n".join(half) for half in halves]
    for text in texts if cells == 2 else ["\n".join(texts)]:
        session.run(text)
    values = ", ".join(f"double({value})" for _, _, (value, _) in READINGS)
    session.run(f"double values[] = {{{values}}};")
    wanted = [value for _, _, (_, value) in READINGS]
    assert session["values"].tolist() == wanted


# Kernels of the last cell, and cells before it.
DEVICE = {
    "f": [
        "#define DEVICE __device__ __forceinline__",
        "DEVICE float f(float x) { return x; }",
        "__global__ void k(float* x) { *x = f(*x); }",
    ],
    "kernel": [
        '#define KERNEL extern "C" __global__ void\n#define CONST __constant__',
        (
            "CONST float c[3] = {1, 2, 3};\n#define BOUNDS __launch_bounds__(64)\n"
            "#define FUNCTION(name) __device__ float name"
        ),
        "FUNCTION(g)(float x) { return x; }",
        "KERNEL BOUNDS k(float* x) { *x = g(c[1]); }",
    ],
    "shared": [
        "extern __shared__ int smem[];",
        "namespace n { extern __shared__ float other[]; }",
        "__global__ void k(int* x) { smem[1] = *x; n::other[0] = 1; }",
    ],
    "declared": [
        "__device__ float f(size_t, float);",
        "__global__ void k(float* x) { *x = f(1, 2); }",
        "__device__ float f(size_t a, float b) { return a + b; }",
    ],
    "text that is declared": [
        (
            "constexpr __host__ __device__ int odd(int n);\n"
            "constexpr __host__ __device__ int even(int n)"
            " { return n == 0 ? 1 : odd(n - 1); }\n"
            "constexpr __host__ __device__ int odd(int n)"
            " { return n == 0 ? 0 : even(n - 1); }"
        ),
        "__global__ void k(int* x) { *x = even(*x); }",
    ],
    "constexpr that is declared": [
        "__host__ __device__ constexpr int f(int);",
        "__global__ void k(int* x) { *x = f(*x); }",
        "__host__ __device__ constexpr int f(int x) { return x * 2; }",
    ],
    "other spellings": [
        "typedef struct __align__(16) { float x; } T; __device__ T (t), u<:2:>;",
        "__device__ float (f)(float x) <% return not x ? t.x : u<:1:>.x; %>",
        "__global__ void (k)(float* x) { *x = f(*x); }",
    ],
    "memory without content": [
        (
            "__device__ float field[4096][4096]; __constant__ float c[3];"
            " __device__ float one = 1;"
        ),
        (
            "__global__ void k(float* x) { __shared__ float s[48 * 256]; float l[9];"
            " for (int i = 0; i < 9; ++i) s[i] = l[i] = x[i]; __syncthreads();"
            " *x = l[int(*x)] + s[threadIdx.x] + c[1] + one + field[1][1]; }"
        ),
    ],
    "spellings": [
        (
            "struct P { int x; };\n"
            "__device__ int f(const int, float const*, unsigned, int[], float (*)[4],"
            " struct P, long int, char const* const);"
        ),
        (
            "__global__ void k(int*, const P);\n__global__ void k(int* x, P p) {"
            " float m[2][4]; *x = f(1, nullptr, 2, x, m, p, 3, nullptr); }"
        ),
        (
            "__device__ int f(int a, const float* b, unsigned int c, int* d,"
            " float m[2][4], const P p, long e, const char* g) { return a; }"
        ),
    ],
    "specialisations": [
        (
            "template <class T> struct S { static int f() { return 1; } };\n"
            "template <class T> __device__ int g(T) { return 2; }"
        ),
        (
            "template <> int S<char>::f() { return 3; }\n"
            "template <> __device__ int g<char>(char) { return 4; }"
        ),
        "__device__ int h(S<char>) { return g('a'); }",
        "__global__ void k(int* x, S<char> s) { *x = h(s) + g('b'); }",
    ],
    "members of the host": [
        (
            "#include <string>\nstruct A { int x; A() : x{1} {}\n"
            "explicit A(int a) noexcept : x(a) { x += 1; } std::string s() const;\n"
            "bool operator<(const A& o) const { return x < o.x; }\n"
            "friend bool operator==(const A& a, const A& b) { return a.x == b.x; }\n"
            "template <class T> T as() const { return T(x); }\n"
            "static int count; auto twice() const -> int { return 2 * x; }\n"
            "struct In { int y = 2; In() {} } in; int (*p)(int) = nullptr;\n"
            "__device__ int g() const { return x + in.y; } };"
        ),
        (
            "int A::count = 3;\n"
            "std::string A::s() const { return std::to_string(x); }\nA a(7);"
        ),
        "struct B { A a; B(A b) : a(b) {} };\nB b(a); std::string text = b.a.s();",
        "__global__ void k(int* x, B b) { *x = b.a.g() + sizeof(B); }",
    ],
    "comment": [
        (
            "#define LIMIT 3 // for src/*.cu\n__device__ int n = 1;\n/* a */\n"
            "__global__ void k() { ++n; }"
        ),
    ],
    "launch": [
        "#define LAUNCH(f, n, ...) f<<<1, n>>>(__VA_ARGS__)",
        "__global__ void k(int* x) { *x = 1; }",
        "void go(int* x) { LAUNCH(k, 32, x); }",
    ],
}


@pytest.mark.parametrize("name", DEVICE)
@pytest.mark.parametrize("is_whole", [False, True])
def test_device_code_is_not_lost_either(host, capfd, name, is_whole):
    session = make_session(host)
    cells = DEVICE[name]
    for cell in ["\n".join(cells)] if is_whole else cells:
        session.run(cell)
    assert session.link("k")
    assert capfd.readouterr().err == ""  # the linker finds nothing twice


def test_a_member_of_the_host_is_no_function_of_the_device(host):
    session = make_session(host)
    session.run(
        "struct A { int x; int f() const { return x; } };\nint n = A{3}.f();"
    )
    session.run("__global__ void k(int* x, A a) { *x = a.f(); }")
    assert session["n"] == 3
    with pytest.raises(gpuos.Error, match="A::f"):
        session.link("k")


def test_a_member_of_both_sides_waits_for_its_class(host):
    session = make_session(host)
    both = "__host__ __device__ int"
    session.run(f"struct A {{ int x; {both} at(int k) const; }};")
    session.run(f"{both} A::at(int k) const {{ return x * k; }}")
    session.run("int n = A{3}.at(4);")
    assert session["n"] == 12


def test_a_declaration_read_as_a_statement_fails(host):
    """A declaration that is read as a statement must not compile."""
    session = make_session(host)
    session.run("struct A { int x; };")
    with pytest.raises(gpuos.CompileError, match="cell 2:1: error"):
        session.run("A ((a));")


FRIEND = (
    "class P { int x = 1; friend int get(const P&); };\n"
    "int get(const P& p) { return p.x; }"
)
SUM = "template <class T, class... A> T sum(T a, A... b) { return a + sum(b...); }"
MODES = "int f() { return K; } template <class T> T g() { return K; }"

# Cells, some with what a value is after them.
AGAIN = {
    "friend": [
        (FRIEND, "get(P())", 1),
        (FRIEND, "get(P())", 1),
        (FRIEND.replace("p.x;", "p.x + 4;"), "get(P())", 5),
        (
            "class P { int y = 0, x = 7; friend int get(const P&); };",
            "get(P())",
            11,
        ),
    ],
    "overload": [
        ("int f(double) { return 1; }", "f(1)", 1),
        ("int f(int x) { return f(x + 0.5) + 10; }", "f(1)", 11),
        ("int f(double) { return 2; }", "f(1)", 12),
    ],
    "template": [
        ("template <class T> T sum(T a) { return a; }", "sum(3)", 3),
        (SUM, "sum(1, 2, 3)", 6),
        (
            "template <class T> T sum(T a) { return a * 10; }",
            "sum(1, 2, 3)",
            33,
        ),
    ],
    "macro": [
        (f"#define K 1\n{MODES}", "f() * 10 + g<int>()", 11),
        ("#undef K\n#define K 2\n", "f() * 10 + g<int>()", 11),
        (MODES, "f() * 10 + g<int>()", 22),
    ],
    "typedef": [
        ("typedef struct { int x; } T;", "sizeof(T)", 4),
        ("struct T { char x; };", "sizeof(T)", 1),
        ("typedef struct S { short x; } T, *U;", "sizeof(T) + sizeof(*U())", 4),
    ],
}


@pytest.mark.parametrize("name", AGAIN)
def test_users_of_a_definition_follow_a_new_one(host, name):
    session = make_session(host)
    for cell, value, wanted in AGAIN[name]:
        session.run(cell)
        session.run(f"int got = {value};")
        assert session["got"] == wanted, cell


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["static union { int a; };"], "cell 1:1:8: expected a name for"),
        (["friend int f();"], "cell 1:1:1: expected friend in a class"),
        (["inline virtual int f();"], "cell 1:1:8: expected virtual in"),
        (
            ["int a;\n#include <no_such.h>\nint b;"],
            "cell 1:2: error: no_such.h",
        ),
        (
            ["#include <no_such.h>\n__global__ void k(foo_t* s) {}"],
            "cell 1:1: ",
        ),
        (
            [*FRIEND.split("\n"), "int get(const P&) { return 2; }"],
            "of get alone",
        ),
    ],
)
def test_impossible_cells_name_the_place(host, cells, message):
    session = make_session(host)
    for cell in cells[:-1]:
        session.run(cell)
    with pytest.raises(gpuos.CompileError, match=re.escape(message)):
        session.run(cells[-1])


def test_headers_of_the_user_are_parts_of_a_cell(host, tmp_path):
    """Declarations of a header are those that other cells define."""
    (tmp_path / "lib.h").write_text(
        "#pragma once\nint count(int x);\nextern int total;\n"
        "struct P { int x; int f() const; };\n"
        "__global__ void k(float* x, int n);\n"
    )
    (tmp_path / "lib.cpp").write_text(
        '#include "lib.h"\nint total = 4;\n'
        "int count(int x) { return x + total; }\n"
        "int P::f() const { return count(x); }\n"
        "__global__ void k(float* x, int n) { x[0] = n; }\n"
    )
    session = make_session(host)
    session.run_file(tmp_path / "lib.cpp")
    session.run('#include "lib.h"\nint a = count(2) + P{3}.f();')
    session.run("total = 0; int b = count(2);")
    assert (session["a"], session["b"]) == (13, 2)
    assert session.link("k")
    (tmp_path / "lib.h").write_text("int count(int x);\nint broken = ;\n")
    with pytest.raises(gpuos.CompileError, match=re.escape("lib.h:2")):
        session.run('#include "lib.h"\n')


# A declaration, how it is used, its definition, which is 5.
DECLARATIONS = [
    ("extern int a;", "a", "int a = 5;"),
    ("int a();", "a()", "int a() { return 5; }"),
    ("namespace n { extern int a; }", "n::a", "int n::a = 5;"),
    (
        "namespace n { int a(); }",
        "n::a()",
        "namespace n { int a() { return 5; } }",
    ),
    (
        "namespace n::m { int a(int); }",
        "n::m::a(1)",
        "int n::m::a(int) { return 5; }",
    ),
    (
        "int a(int, int = 2);",
        "a(1)",
        "int a(int x, int y) { return x * y + 3; }",
    ),
    (
        "int a(int x, int y = 0);",
        "[] { static int (*p)(int, int) = a; return p(2, 3); }()",
        "int a(int x, int y) { return x + y; }",
    ),
]
# Other entities with this name, and their values.
NAMESAKES = [
    ("struct P { int a = 7; } p;", "p.a", 7),
    ("struct P { int a() { return 7; } } p;", "p.a()", 7),
    ("struct P { int a = 7; } p, *q = &p;", "q->a", 7),
    ("int f(int a) { return a + 1; }", "f(6)", 7),
    ("int f() { int a = 7; return a; }", "f()", 7),
    ("int f() { auto a = [](int a) { return a; }; return a(7); }", "f()", 7),
    ("namespace other { int a = 7; }", "other::a", 7),
    ("namespace other { int a() { return 7; } }", "other::a()", 7),
    ("enum class E { a = 7 };", "int(E::a)", 7),
    ("struct S { static int a() { return 7; } };", "S::a()", 7),
]
# The way to a use: the cells before, and the cell that needs the definition.
REACHES = [
    ([], "int r = {use};"),
    (["int r;"], "r = {use};"),
    (["int g() {{ return {use}; }}", "int r;"], "r = g();"),
    (
        ["int g() {{ return {use}; }}", "int h() {{ return g(); }}"],
        "int r = h();",
    ),
    (
        ["struct P {{ int a = 0; }} p; int r;", "int g() {{ return {use}; }}"],
        "r = p.a + g();",
    ),
    (["struct T {{ int b() {{ return {use}; }} }};"], "int r = T().b();"),
]
KINDS = range(len(DECLARATIONS))


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_other_things_are_no_uses(session, kind):
    declaration, use, definition = DECLARATIONS[kind]
    session.run(declaration)
    with pytest.raises(gpuos.CompileError, match="expected a definition of a,"):
        session.run(f"int r = {use};")  # the failed cell leaves no trace
    # Another symbol is missing here, not this one.
    session.run("int missing(); int somebody() { return missing(); }")
    for index, (text, namesake, value) in enumerate(NAMESAKES):
        session.run(text)
        session.run(f"int r{index} = {namesake};")
        session.run(f"r{index} += {namesake};")
        assert session[f"r{index}"] == 2 * value, text
        for _ in range(3):
            session.undo()
    session.run(definition)
    session.run(f"int r = {use};")
    assert session["r"] == 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_use_is_refused_until_there_is_a_definition(session, kind):
    declaration, use, definition = DECLARATIONS[kind]
    for before, last in REACHES:
        cells = [cell.format(use=use) for cell in before]
        for cell in [declaration, *cells]:
            session.run(cell)
        with pytest.raises(
            gpuos.CompileError, match="expected a definition of a,"
        ):
            session.run(last.format(use=use))
        session.run(definition)
        session.run(last.format(use=use))
        assert session["r"] == 5, last
        while session.undo():
            pass
