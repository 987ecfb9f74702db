"""Structured bindings at the top of a cell behave for later cells as in
braces."""

import pytest
from session_support import make_session

import gpuos

# The code that makes x, and the types of its parts.
SOURCES = {
    "pair": "auto {x} = std::pair{{1, 2.5}};",
    "tuple": "auto {x} = std::tuple{{1, 2.5}};",
    "class": "struct {x}_t {{ int a; double b; }}; {x}_t {x}{{1, 2.5}};",
    "std::array": "auto {x} = std::array{{1.0, 2.5}};",
    "array": "double {x}[2] = {{1.0, 2.5}};",
    "tuple of references": (
        "int {x}_1 = 1; double {x}_2 = 2.5; auto {x} = std::tie({x}_1, {x}_2);"
    ),
}
FORMS = ["auto", "auto&", "auto&&", "const auto", "const auto&", "auto const&"]
WAYS = [(form, "= {x}") for form in FORMS]
WAYS += [("auto", "{{{x}}}"), ("auto", "({x})")]
# The part that has changed when the first name has.
FIRST = "std::get<0>({x})"
PARTS = {"class": "{x}.a", "array": "{x}[0]"}


@pytest.fixture
def session(rt):
    made = make_session(rt)
    made.run(
        "#include <array>\n#include <string>\n#include <tuple>\n#include <map>"
    )
    return made


@pytest.mark.parametrize(("form", "initializer"), WAYS)
def test_every_form_of_every_source(session, form, initializer):
    """Compare values and their changes with the same code in braces."""
    sources = dict(SOURCES)
    if not form.endswith("&"):
        del sources["array"]  # refused, below
    top, later, inside, fixed = [], [], [], []
    for index, (source, start) in enumerate(sources.items()):
        x = f"x{index}"
        a, b = f"a{index}", f"b{index}"
        if "const" in form and source != "tuple of references":
            fixed.append(index)
        change = "" if index in fixed else f"{a} = 7;"
        bind = f"{form} [{a}, {b}] {initializer.format(x=x)};"
        text = f"{start.format(x=x)} {bind} {change}"
        part = PARTS.get(source, FIRST).format(x=x)
        top.append(text)
        later.append(f"double of_{x}[] = {{double({part}), double({a}), {b}}};")
        inside.append(f"double in_{x}[3]; {{ {text} in_{x}[0] = {part};")
        inside[-1] += f" in_{x}[1] = {a}; in_{x}[2] = {b}; }}"
    session.run("\n".join(top))
    session.run("\n".join(later))
    for index in range(len(sources)):
        if index not in fixed:
            session[f"a{index}"] = 3
    session.run(
        "\n".join(f"double now{i} = a{i};" for i in range(len(sources)))
    )
    session.run("\n".join(inside))
    for index, source in enumerate(sources):
        seen = list(session[f"of_x{index}"])
        assert seen == list(session[f"in_x{index}"]), source
        now = seen[1] if index in fixed else 3
        assert session[f"a{index}"] == session[f"now{index}"] == now, source
    for index in fixed:
        with pytest.raises(gpuos.CompileError, match=r"read-only|const"):
            session.run(f"a{index} = 7;")
        with pytest.raises(gpuos.InvalidArgument, match="constant"):
            session[f"a{index}"] = 7


def test_later_cells_use_define_again_and_take_back(session):
    session.run("std::map<std::string, int> m;")
    result = session.run('auto [at, is_new] = m.insert({"k", 5});')
    assert sorted(result.defined) == [
        "host variable at",
        "host variable is_new",
    ]
    session.run("int value() { return is_new ? at->second : 0; }")
    session.run('int n = value(); at->second = 6; int k = m["k"];')
    assert (session["n"], session["k"], session["is_new"]) == (5, 6, True)
    session.run('auto [n, text] = std::pair{8, std::string("new")};')
    assert (session["n"], session["text"]) == (8, "new")
    session.undo()
    assert session["n"] == 5
    with pytest.raises(gpuos.InvalidArgument, match=r"\(at, is_new, k, m, n\)"):
        session["text"]
    session.run("namespace s { auto [n, o] = std::pair{1, 2}; }")
    session.run("int sum = s::n + s::o + n;")
    assert session["sum"] == 8


def test_a_structured_binding_may_hold_a_lambda(session):
    session.run(
        "auto [twice, two] = std::pair{[](int x) { return 2 * x; }, 2};"
    )
    session.run("int four = twice(two);")
    assert session["four"] == 4


def test_a_refused_binding_changes_nothing(session):
    session.run("int a = 1, array[2] = {1, 2};")
    for text, message in {
        "auto [a, b] = array;": "cannot decompose|cannot be decomposed",
        "auto [a, b, c] = std::pair{1, 2};": "3 names|3 elements",
        "__device__ auto [a, b] = 3;": "got a structured binding",
        "auto [a, b] =\n  std::pair{1,\n  nothing};": r"cell \d+:3",
        "int b; auto [a, b] = std::pair{1, 2};": "one definition of b",
    }.items():
        with pytest.raises(gpuos.CompileError, match=message):
            session.run(text)
        assert session["a"] == 1
    for text, place in {
        "  auto [a, b] = nothing();": "                ^",
        "  auto [c, d] = a;": "       ^",
    }.items():
        with pytest.raises(gpuos.CompileError) as caught:
            session.run(text)
        assert f"\n{text}\n{place}" in str(caught.value)
    with pytest.raises(gpuos.HostError):
        session.run("throw 3; auto [y, z] = std::pair{1, 2};")
    with pytest.raises(gpuos.InvalidArgument):
        session["y"]
