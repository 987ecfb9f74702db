"""Read a module's names, signatures and docstrings.

The reader parses sources without an import. It parses the stub of the extension
module.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 80
CORE = "gpuos._core"
SHOWN = ("__init__", "__call__", "__getitem__", "__setitem__")


class Entry(NamedTuple):
    """A name with its declarations, its docstring, and a class's members."""

    name: str
    nodes: list[Any]  # several for overloads
    doc: str | None
    members: list[Entry]


def split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def signature(node: ast.FunctionDef) -> str:
    """Return the signature of a function in lines of at most 80 columns."""
    parts = split(ast.unparse(node.args))
    # A parameter with an underscore is not for callers.
    parts = [x for x in parts if x != "self" and not x.startswith("_")]
    if parts[:1] == ["/"]:
        parts.pop(0)
    parts = [x.replace("=", " = ", 1) if ": " in x else x for x in parts]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({', '.join(parts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return "\n".join(
        [f"{node.name}(", *(f"    {part}," for part in parts), f"){returns}"]
    )


def decorators(node: Any) -> list[str]:
    return [ast.unparse(x) for x in getattr(node, "decorator_list", [])]


def alias(node: ast.AnnAssign) -> str:
    line = ast.unparse(node)
    name, _, what = line.replace(": TypeAlias", "", 1).partition(" = ")
    if len(f"{name} = {what}") <= WIDTH:
        return f"{name} = {what}"
    return f"{name} = (\n    " + what.replace(" | ", "\n    | ") + "\n)"


def declaration(nodes: list[Any]) -> str:
    """Return the code that declares a name."""
    node = nodes[0]
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}" + (f"({bases})" if bases else "")
    if isinstance(node, ast.AnnAssign):
        if node.value and ast.unparse(node.annotation) == "TypeAlias":
            return alias(node)
        return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
    if "property" in decorators(node):
        return f"{node.name}: {ast.unparse(node.returns)}"
    overloads = [x for x in nodes if "overload" in decorators(x)]
    return "\n".join(map(signature, overloads or nodes[:1]))


def declared(body: list[ast.stmt]) -> dict[str, list[Any]]:
    """Return the declarations of a module or class by name."""
    found: dict[str, list[Any]] = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.If):  # if TYPE_CHECKING
            found = {**declared(node.body), **found}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not any(x.endswith(".setter") for x in decorators(node)):
                found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            if isinstance(after, ast.Expr):  # its docstring
                node.doc = ast.literal_eval(after.value)  # type: ignore[attr-defined]
            found.setdefault(ast.unparse(node.target), []).append(node)
    return found


def is_shown(name: str, nodes: list[Any]) -> bool:
    returns = getattr(nodes[-1], "returns", None)
    if returns is not None and ast.unparse(returns) == "NoReturn":
        return False  # It always raises.
    return name in SHOWN or not name.startswith("_")


def written_doc(nodes: list[Any]) -> str | None:
    """Return the docstring in a source. The last overload has it."""
    node = nodes[-1]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return ast.get_docstring(node)
    return getattr(node, "doc", None)


def members(node: Any) -> list[Entry]:
    if not isinstance(node, ast.ClassDef):
        return []
    return [
        Entry(name, nodes, written_doc(nodes), [])
        for name, nodes in declared(node.body).items()
        if is_shown(name, nodes)
    ]


class Module:
    """A module of the package, from its source or its stub."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        stem = root.joinpath("python", *name.split("."))
        paths = [stem.with_suffix(x) for x in (".py", ".pyi")]
        path = next(x for x in [stem / "__init__.py", *paths] if x.exists())
        self.body = ast.parse(path.read_text(encoding="utf-8")).body
        self.own = declared(self.body)
        self.aliases = {
            ast.unparse(node.targets[0]): node.value.id
            for node in self.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        }

    def all(self) -> list[str]:
        """Return the names of `__all__`, or all public ones without a list."""
        for node in self.body:
            if not isinstance(node, ast.Assign):
                continue
            is_all = ast.unparse(node.targets[0]) == "__all__"
            if is_all and isinstance(node.value, ast.List):
                return list(ast.literal_eval(node.value))
        return sorted(name for name in self.own if not name.startswith("_"))

    def origin(self, name: str) -> str:
        """Return the module that this one imports a name from, or this one."""
        for node in self.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [alias.asname or alias.name for alias in node.names]
                if names == ["*"] and node.module.startswith("gpuos."):
                    module = Module(self.root, node.module)
                    names = [*module.own, *module.aliases]
                if name in names:
                    return node.module
        return self.name

    def entry(self, name: str) -> Entry:
        """Return a name's entry in any module. Raise KeyError if missing."""
        if name in self.own:
            return self.own_entry(name)
        origin = self.origin(name)
        if name in self.aliases:
            return self.entry(self.aliases[name])._replace(name=name)
        if origin != self.name:
            return Module(self.root, origin).entry(name)
        raise KeyError(name)

    def own_entry(self, name: str) -> Entry:
        nodes = self.own[name]
        return Entry(name, nodes, written_doc(nodes), members(nodes[0]))
