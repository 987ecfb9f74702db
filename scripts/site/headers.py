"""Read the declarations of a public header with the comments above them.

The parser relies on clang-format. A declaration begins at the column of its
scope, and ends after its last closing bracket.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DOC = re.compile(r"^\s*///\s?(.*)$")
NAMESPACE = re.compile(r"^(?:inline )?namespace\b|^\}\s*// namespace")
ACCESS = re.compile(r"^ *(public|protected|private):$")
SCOPE = re.compile(
    r"^(?:template <.*>\s+)?(?:class|struct|union) (\w+)[^;(]*?\{", re.DOTALL
)
AHEAD = re.compile(r"^(?:class|struct|enum class) \w+[^{]*;$", re.DOTALL)
HIDDEN = re.compile(r"^(?:static_assert|friend|~)|= (?:delete|default);$")
TYPE = re.compile(r"^(?:enum class|enum|class|struct|union|using) (\w+)")
# The text before a function's parameters, a value or a body.
HEAD = re.compile(r"^(.*?)(?:\(| =|[{;\[])", re.DOTALL)
TEMPLATE = re.compile(r"^template <.*?>\s+(?:requires.*?\n)?(?=\w)", re.DOTALL)
# A macro call, which declares names from a list.
MACRO = re.compile(r"^\s*([A-Z_]+)\(.*\)$")
# Comments and literals, whose brackets do not count.
QUIET = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'")
FUNCTION = re.compile(r"^[^={]*?\(")
# The linker's marks, which say nothing to a reader.
MARKS = re.compile(r"\bGPUOS_(?:API|PRIVATE) ")
LIST = re.compile(r"\)(?:\s*(?:const|noexcept))*\s*(:\s[^:].*)$", re.DOTALL)


class Declaration(NamedTuple):
    """A declaration of a header."""

    doc: str
    code: str
    name: str
    follows: bool  # no line or comment before it
    members: list[Declaration]


def quiet(text: str) -> str:
    """Blank comments and literals. Keep the length of the text."""
    return QUIET.sub(lambda found: " " * len(found[0]), text)


def depth(text: str) -> int:
    return sum((c in "({[") - (c in ")}]") for c in quiet(text))


def without_body(code: str) -> str:
    """Return the declaration of a function from its definition."""
    plain = quiet(code)
    found = FUNCTION.match(plain)
    if not found or not plain.rstrip().endswith("}"):
        return code
    level = 0
    for place, letter in enumerate(plain):
        level += (letter == "(") - (letter == ")")
        if letter == "{" and level == 0:
            # A constructor's list may have braces. Remove it with the body.
            head = code[:place].rstrip()
            return (
                LIST.sub(
                    lambda x: x[0][: x.start(1) - x.start()].rstrip(), head
                )
                + ";"
            )
    return code


def name_of(code: str) -> str:
    """Return the name that a declaration declares, or ""."""
    text = TEMPLATE.sub("", code)
    if found := TYPE.match(text):
        return found[1]
    found = HEAD.match(text)
    return found[1].split()[-1].lstrip("*&") if found and found[1] else ""


def dedented(lines: list[str], indent: int) -> str:
    return MARKS.sub("", "\n".join(line[indent:] for line in lines))


def declaration(
    lines: list[str], indent: int, doc: str, follows: bool
) -> Declaration:
    code = dedented(lines, indent).rstrip()
    scope = SCOPE.match(code)
    if scope is None:
        code = without_body(code)
        return Declaration(doc, code, name_of(code), follows, [])
    # Find the first line that opens the scope, and read its inside.
    first = next(i for i, x in enumerate(lines) if "{" in quiet(x))
    members = declarations(lines[first + 1 : -1], indent + 2)
    head = code[: scope.end()].removesuffix("{").rstrip() + ";"
    return Declaration(doc, head, scope[1], follows, members)


def declarations(lines: list[str], indent: int = 0) -> list[Declaration]:
    """Return the public declarations in the lines of one scope."""
    found: list[Declaration] = []
    doc: list[str] = []
    is_open, follows, i = True, False, 0
    while i < len(lines):
        line, begin = lines[i], i
        i += 1
        access = ACCESS.match(line)
        if access:
            is_open = access[1] == "public"
        if not line.strip():
            doc, follows = [], False
        elif comment := DOC.match(line):
            doc.append(comment[1])
        elif line.lstrip().startswith("#"):
            while lines[i - 1].endswith("\\"):
                i += 1
            follows = False
        elif macro := MACRO.match(line):
            if doc and is_open:
                code, text = line.strip(), "\n".join(doc)
                found.append(Declaration(text, code, macro[1], False, []))
            doc, follows = [], False
        elif not (
            access
            or line == "}"  # end of a namespace
            or NAMESPACE.match(line)
            or line.lstrip().startswith("//")
        ):
            text = line
            while i < len(lines) and (
                depth(text) or not re.search(r"[;}]$", quiet(text).rstrip())
            ):
                text += "\n" + lines[i]
                i += 1
            code = dedented(lines[begin:i], indent)
            if is_open and not (
                HIDDEN.search(code) or AHEAD.match(quiet(code).rstrip())
            ):
                found.append(
                    declaration(
                        lines[begin:i],
                        indent,
                        "\n".join(doc),
                        follows and not doc,
                    )
                )
                follows = True
            doc = []
    return found
