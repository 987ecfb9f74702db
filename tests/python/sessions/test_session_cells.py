"""A declaration means the same in another cell as in one file.

Tests each kind of declaration with each kind of use, in one cell or in two,
with #if around them or not.
"""

import itertools
import os
import re

import pytest
from cell_cases import CONDITIONS, INCLUDES, THINGS, USERS
from session_support import make_session, words_of_one_file

import gpuos

pytestmark = pytest.mark.host

# By default each thing has one or two users, and each user some things.
EVERY = 1 if os.environ.get("GPUOS_TEST_EVERY_CELL") else 37
# This number of cases shares one #if: the compiler is asked about each.
TOGETHER = 1 if EVERY == 1 else 12


class Pair:
    """A thing and its user, under separate names."""

    def __init__(self, i: int, j: int) -> None:
        self.name = f"{i}_{j}"
        y = f"y{self.name}"
        texts = [text.replace("@", f"x{self.name}") for text in THINGS[i]]
        self.thing, use, *change = texts
        self.change = "".join(change)
        self.user, worth = (
            text.replace("@", use).replace("$", y) for text in USERS[j]
        )
        self.worth = f'std::cout << "{self.name} " << ({worth}) << "\\n";'
        self.first = f"int {y} = 0;"

    def user_in_a_file(self) -> str:
        """Return it with its statements where a file may have them."""
        if not self.user.startswith(self.first + " "):
            return self.user
        statements = self.user.removeprefix(self.first)
        return self.first + in_a_file(statements)


names_of_statements = (f"statement{i}" for i in itertools.count())


def in_a_file(statements: str) -> str:
    name = next(names_of_statements)
    return f" static int {name} = [] {{ {statements} return 0; }}();"


PAIRS = [
    Pair(i, j)
    for i in range(len(THINGS))
    for j in range(len(USERS))
    if (i + j) % EVERY == 0
]


@pytest.fixture(scope="module")
def of_one_file(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("cells")
    text = INCLUDES
    for pair in PAIRS:
        text += f"{pair.thing}\n{pair.user_in_a_file()}\n"
    for change in (True, False):
        text += "".join(f"{in_a_file(pair.worth)}\n" for pair in PAIRS)
        if change:
            text += "".join(f"{in_a_file(pair.change)}\n" for pair in PAIRS)
    return words_of_one_file(folder, text + "int main() {}\n")


def split(condition: str) -> list[list[str]]:
    """Return ways to divide the declarations into cells."""

    def around(texts: list[str]) -> str:
        return CONDITIONS[condition].format(text="\n".join(texts))

    groups = [PAIRS[i : i + TOGETHER] for i in range(0, len(PAIRS), TOGETHER)]
    things = [around([pair.thing for pair in group]) for group in groups]
    users = ["\n".join(pair.user for pair in group) for group in groups]
    mixed = itertools.chain(*zip(things, users, strict=True))
    # The first piece of each thing, the second of each, and so on.
    turns = itertools.zip_longest(
        *(
            [*itertools.zip_longest(*(pieces_of(p.thing) for p in group))]
            for group in groups
        ),
        fillvalue=(),
    )
    apart = [
        "\n".join(around([p for p in group if p]) for group in turn if group)
        for turn in turns
    ]
    return [
        ["\n".join(mixed)],
        ["\n".join(things), "\n".join(users)],
        [*apart, "\n".join(users)],
    ]


def pieces_of(thing: str) -> list[str]:
    """Cut `thing` where one of its declarations ends and another begins."""
    if any(mark in thing for mark in ("#", '"', "/*", "requires(")):
        return [thing]
    pieces, depth, begin = [], 0, 0
    for at, character in enumerate(thing):
        depth += character in "{(["
        depth -= character in "})]"
        rest = thing[at + 1 :]
        starts = rest.startswith(" ") and (
            character == ";" or (character == "}" and BEGINS.match(rest))
        )
        if depth == 0 and starts:
            pieces.append(thing[begin : at + 1])
            begin = at + 1
    return [*pieces, thing[begin:]]


BEGINS = re.compile(r" (int|template|struct|namespace|bool|using)\b")

WAYS = [*itertools.product(CONDITIONS, [1, 2, 3])]
if EVERY > 1:
    WAYS = [("alone", 1), ("alone", 3), ("else", 2), ("elif", 1)]


@pytest.mark.parametrize(("condition", "cells"), WAYS)
def test_cells_mean_the_same_as_one_file(
    host, capfd, of_one_file, condition, cells
):
    session = make_session(host)
    session.run(INCLUDES)
    for cell in split(condition)[cells - 1]:
        session.run(cell)
    capfd.readouterr()
    worths = "\n".join(pair.worth for pair in PAIRS)
    session.run(worths)
    session.run("\n".join(pair.change for pair in PAIRS))
    session.run(worths)
    assert capfd.readouterr().out.split() == of_one_file


def test_conditionals_are_evaluated_on_every_run(host):
    session = make_session(host)
    cell = "#ifdef TWICE\nint n = 2;\n#else\nint n = 1;\nn += 10;\n#endif\n"
    session.run(cell)
    assert session["n"] == 11
    session.run("#define TWICE\n" + cell)
    assert session["n"] == 2
    session.undo()
    session.run(cell)
    assert session["n"] == 11


TYPES = {
    "forward": "struct y; struct z;",
    "x": "struct x { int a; y* p; };",
    "y": "struct y { int a; z* q; const x& r; };",
    "z": "struct z { x* s; y* t; x u; int f(); }; int z::f() { return u.a; }",
}


@pytest.mark.parametrize("changed", [None, "x", "y", "z"])
@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("is_whole", [False, True])
def test_types_that_need_each_other(host, changed, is_used, is_whole):
    session = make_session(host)

    def run(types):
        cells = [" ".join(types.values())] if is_whole else types.values()
        for cell in cells:
            session.run(cell)

    run(TYPES)
    use = "int use() { x v{3}; return y{4, nullptr, v}.a + z{}.f() + v.a; }"
    if is_used:
        session.run(use + " x g; z h; int n = use();")
        assert session["n"] == 7
    if changed is not None:
        new = TYPES[changed].replace("int a", "long a").replace("x u", "x v, u")
        run({**TYPES, changed: new} if is_whole else {changed: new})
    session.run(use + " int m = use(); int size = sizeof(z);")
    assert session["m"] == 7


# Something of a namespace, and something else of that name outside.
NAMESAKES = [
    ("struct P { int a = 1; };", "struct P : n::P {};", "P{}.a"),
    ("struct P { int a = 1; };", "using P = n::P;", "P{}.a"),
    ("struct P { int a = 1; };", "using n::P;", "P{}.a"),
    (
        "template <class T> struct P { T a = 1; };",
        "template <class T> struct P : n::P<T> {};",
        "P<int>{}.a",
    ),
    ("int P() { return 1; }", "int P() { return n::P(); }", "P()"),
    ("int P() { return 1; }", "auto P() { return n::P(); }", "P()"),
    ("int P() { return 1; }", "using n::P;", "P()"),
    ("int P = 1;", "int P = n::P;", "P"),
    ("int P = 1;", "struct P { int a = n::P; };", "P{}.a"),
]


@pytest.mark.parametrize(("inner", "outer", "use"), NAMESAKES)
def test_one_name_in_two_namespaces(host, inner, outer, use):
    session = make_session(host)
    session.run(f"namespace n {{ {inner} }}")
    session.run(outer)
    session.run(f"int one = {use};")
    session.run(f"namespace n {{ {inner.replace('1', '2')} }}")
    if "int P = n::P" not in outer:
        session.run(f"int two = {use};")
        assert session["two"] == 2
    assert session["one"] == 1


# Definitions of a name that exclude each other in two cells.
KINDS = {
    "a variable": "int a = 1;",
    "a function": "int a() { return std::string().size(); }",
    "a type": "struct a { std::string s; };",
    "a concept": "template <class T> concept a = std::string().empty();",
    "a namespace": "namespace a { int f() { return std::string().size(); } }",
}


# A variable may hide a type, as in "struct s s;".
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pair
        for pair in itertools.permutations(KINDS, 2)
        if pair != ("a type", "a variable")
    ],
)
def test_a_name_has_one_kind(host, old, new):
    session = make_session(host)
    session.run("#include <string>\nint first;")
    session.run(KINDS[old])
    with pytest.raises(
        gpuos.CompileError,
        match=f"expected a new name, got a, which is {old}",
    ):
        session.run(KINDS[new])
    session.undo()
    session.run(KINDS[new])


def test_a_local_name_may_be_that_of_an_outdated_variable(host):
    session = make_session(host)
    session.run("struct P { int x; }; P p{1};")
    session.run("struct P { double x; };")
    session.run("int f(int p) { return p + 1; } int n = f(2);")
    assert session["n"] == 3
    with pytest.raises(gpuos.CompileError, match="define the variable again"):
        session.run("p.x = 2;")


def test_letters_of_other_languages(host):
    session = make_session(host)
    session.run("int gr\N{LATIN SMALL LETTER O WITH DIAERESIS}\u00dfe = 3;")
    session.run("int n = gr\u00f6\u00dfe + 1;")
    assert session["n"] == 4


def test_a_file_with_a_byte_order_mark(host, tmp_path):
    session = make_session(host)
    path = tmp_path / "cell.cu"
    path.write_text("#define N 3\nint n = N;", encoding="utf-8-sig")
    session.run_file(path)
    assert session["n"] == 3
    with pytest.raises(gpuos.InvalidArgument, match="a file that can be read"):
        session.run_file(tmp_path)
