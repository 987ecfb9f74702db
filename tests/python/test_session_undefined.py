"""A declaration without a definition is refused at each use, however it is
reached. Other entities of the same name are not refused."""

from __future__ import annotations

import pytest
from session_support import make_session

import gpuos

pytestmark = pytest.mark.host

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


@pytest.fixture
def session(host):
    return make_session(host)


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
