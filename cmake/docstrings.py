"""Writes the docstrings of a stub as the table of module/docstrings.h.

Use: python docstrings.py STUB OUTPUT.cpp
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

Documented = (ast.ClassDef, ast.FunctionDef)


def docstrings(node: ast.AST, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the qualified name and the docstring of a node and its members."""
    text = ast.get_docstring(node)
    if text:
        yield name, text.strip()
    for member in node.body:
        if isinstance(member, Documented):
            yield from docstrings(member, f"{name}.{member.name}".lstrip("."))


def main() -> None:
    stub, output = map(Path, sys.argv[1:])
    found = docstrings(ast.parse(stub.read_text(encoding="utf-8")))
    # A string of JSON is a string of C++ too.
    rows = "".join(
        f"    {{{json.dumps(name)}, {json.dumps(text)}}},\n"
        for name, text in found
    )
    output.write_text(
        '#include "module/docstrings.h"\n\n'
        "const gpuos::python::Docstring gpuos::python::kDocstrings[] = {\n"
        f"{rows}    {{nullptr, nullptr}}}};\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
