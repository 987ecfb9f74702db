"""The declarations of a public header, each with the comment above it.

It leans on the form that clang-format gives: a declaration begins at the column
of its scope, and ends where its brackets are closed.
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
# What stands before a function's parameters, a value or a body.
HEAD = re.compile(r"^(.*?)(?:\(| =|[{;\[])", re.DOTALL)
TEMPLATE = re.compile(r"^template <.*?>\s+(?:requires.*?\n)?(?=\w)", re.DOTALL)
# Something made of a list by a macro.
MACRO = re.compile(r"^\s*([A-Z_]+)\(.*\)$")
# Text in which brackets mean nothing.
QUIET = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'")
FUNCTION = re.compile(r"^[^={]*?\(")
LIST = re.compile(r"\)(?:\s*(?:const|noexcept))*\s*(:\s[^:].*)$", re.DOTALL)


class Declaration(NamedTuple):
    """What a header declares."""

    doc: str
    code: str
    name: str
    follows: bool  # the one before it, without a line or comment between
    members: list[Declaration]


def quiet(text: str) -> str:
    """Return text of the same length without comments, texts and letters."""
    return QUIET.sub(lambda found: " " * len(found[0]), text)


def depth(text: str) -> int:
    return sum((c in "({[") - (c in ")}]") for c in quiet(text))


def without_body(code: str) -> str:
    """Return the declaration of a function that is defined."""
    plain = quiet(code)
    found = FUNCTION.match(plain)
    if not found or not plain.rstrip().endswith("}"):
        return code
    level = 0
    for place, letter in enumerate(plain):
        level += (letter == "(") - (letter == ")")
        if letter == "{" and level == 0:
            # A constructor's list may have braces: it is cut with the body.
            head = code[:place].rstrip()
            return (
                LIST.sub(
                    lambda x: x[0][: x.start(1) - x.start()].rstrip(), head
                )
                + ";"
            )
    return code


def name_of(code: str) -> str:
    """Return the name that a declaration declares; empty if it has none."""
    text = TEMPLATE.sub("", code)
    if found := TYPE.match(text):
        return found[1]
    found = HEAD.match(text)
    return found[1].split()[-1].lstrip("*&") if found and found[1] else ""


def dedented(lines: list[str], indent: int) -> str:
    return "\n".join(line[indent:] for line in lines)


def declaration(
    lines: list[str], indent: int, doc: str, follows: bool
) -> Declaration:
    code = dedented(lines, indent).rstrip()
    scope = SCOPE.match(code)
    if scope is None:
        code = without_body(code)
        return Declaration(doc, code, name_of(code), follows, [])
    # The first line that opens it, and what is inside.
    first = next(i for i, x in enumerate(lines) if "{" in quiet(x))
    members = declarations(lines[first + 1 : -1], indent + 2)
    head = code[: scope.end()].removesuffix("{").rstrip() + ";"
    return Declaration(doc, head, scope[1], follows, members)


def declarations(lines: list[str], indent: int = 0) -> list[Declaration]:
    """Return what lines of one scope declare to those outside."""
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
            or line == "}"  # of a namespace
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
