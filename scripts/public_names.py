#!/usr/bin/env python3
"""Write down the public names and signatures, or say which of them broke.

    scripts/public_names.py          writes tests/python/public_names.txt
    scripts/public_names.py --check  1 if a call that it allows is refused now

The file is that of the last release; `scripts/release` writes it. Read are the
sources and the stub, so nothing has to be built. A new name, a parameter that
was added behind the others with a default value or by keyword only breaks
nothing; docs/installing.md says what a version number promises.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "gpuos"
TARGET = ROOT / "tests" / "python" / "public_names.txt"
# Modules whose `__all__`, or else whose public functions, are for users.
MODULES = (
    *("gpuos", "gpuos.array_api", "gpuos.cache", "gpuos.ray", "gpuos.torch"),
)
SPECIAL = ("__init__", "__call__", "__getitem__", "__setitem__", "__len__")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def file_of(module: str) -> Path:
    """Return where a module's names stand: a stub goes first."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    choices = [path.with_suffix(".pyi"), path.with_suffix(".py")]
    choices.append(path / "__init__.py")
    return next(choice for choice in choices if choice.exists())


def bare(function: Function) -> str:
    """Return `(x, *, out=None)`: a signature without types."""
    arguments = ast.parse(ast.unparse(function)).body[0].args  # a copy
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one]
    for one in every:
        one.annotation = None
    return f"({ast.unparse(arguments)})"


def exported(tree: ast.Module) -> list[str] | None:
    """Return `__all__`, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(
            node.value, ast.List | ast.Tuple
        ):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            if names == ["__all__"]:
                return [str(ast.literal_eval(one)) for one in node.value.elts]
    return None


def describe(module: str, name: str) -> list[str]:
    """Return the lines of a name of a module, behind its dot."""
    tree = ast.parse(file_of(module).read_text(encoding="utf-8"))
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {one.asname or one.name: one.name for one in node.names}
            inside = node.module.startswith("gpuos.")
            if name in names and inside and not node.level:
                return describe(node.module, names[name])
            if "*" in names and inside:
                lines = describe(node.module, name)
                found += lines if lines != [name] else []
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found.append(name + bare(node))
        if isinstance(node, ast.ClassDef) and node.name == name:
            found.append(name)
            found += [f"{name}.{line}" for line in members(node)]
    return found or [name]


def members(node: ast.ClassDef) -> list[str]:
    """Return methods with signatures, and attributes."""
    lines = []
    for one in node.body:
        if isinstance(one, ast.FunctionDef):
            if one.name.startswith("_") and one.name not in SPECIAL:
                continue
            words = [ast.unparse(word) for word in one.decorator_list]
            is_value = "property" in words or any(
                word.endswith(".setter") for word in words
            )
            lines.append(one.name + ("" if is_value else bare(one)))
        elif isinstance(one, ast.AnnAssign):
            name = ast.unparse(one.target)
            lines += [] if name.startswith("_") else [name]
    return lines


def today() -> list[str]:
    """Return a line for each name, signature and overload."""
    lines = set()
    for module in MODULES:
        tree = ast.parse(file_of(module).read_text(encoding="utf-8"))
        names = exported(tree)
        if names is None:
            names = [
                node.name
                for node in tree.body
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.name.startswith("_")
            ]
        for name in names:
            lines |= {f"{module}.{line}" for line in describe(module, name)}
    return sorted(lines)


def version() -> str:
    """Return what CMakeLists.txt says."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(gpuos VERSION ([\d.]+)", text)
    assert found is not None
    return found[1]


def parameters(signature: str) -> tuple[list, dict, bool, bool]:
    """Return (by place, by keyword alone, *args?, **kwargs?) of `(...)`."""
    function = ast.parse(f"def f{signature}: ...").body[0].args
    places = [*function.posonlyargs, *function.args]
    required = len(places) - len(function.defaults)
    by_place = [
        (one.arg, i < len(function.posonlyargs), i < required)
        for i, one in enumerate(places)
    ]
    by_keyword = {
        one.arg: default is None
        for one, default in zip(
            function.kwonlyargs, function.kw_defaults, strict=True
        )
    }
    return by_place, by_keyword, bool(function.vararg), bool(function.kwarg)


def allows(new: str, old: str) -> bool:
    """Whether every call that the old signature takes is one of the new."""
    places, keywords, more, others = parameters(new)
    old_places, old_keywords, old_more, old_others = parameters(old)
    if (old_more and not more) or (old_others and not others):
        return False
    for i, (name, is_nameless, is_needed) in enumerate(old_places):
        if i >= len(places):
            if not (more and (is_nameless or others or name in keywords)):
                return False
            continue
        now, now_nameless, now_needed = places[i]
        if not is_nameless and (now_nameless or now != name):
            return False
        if now_needed and not is_needed:
            return False
    # Behind *args, a keyword that is also a place would be given twice.
    by_name = {
        name: needed
        for name, nameless, needed in places
        if not nameless and not old_more
    } | keywords
    for name, is_needed in old_keywords.items():
        if name not in by_name:
            if not others:
                return False
        elif by_name[name] and not is_needed:
            return False
    named = {name for name, needed in old_keywords.items() if needed}
    added = [name for name, _, needed in places[len(old_places) :] if needed]
    added += [name for name, needed in keywords.items() if needed]
    return named.issuperset(added)


def broken(old: list[str], new: list[str]) -> list[str]:
    """Return the old lines whose uses the new lines do not allow."""
    now: dict[str, list[str]] = {}
    for line in new:
        name, bracket, rest = line.partition("(")
        now.setdefault(name, []).append(bracket + rest)
    wrong = []
    for line in old:
        name, bracket, rest = line.partition("(")
        kinds = now.get(name, [])
        if not bracket:
            fits = bool(kinds)
        else:
            fits = any(k and allows(k, bracket + rest) for k in kinds)
        if not fits:
            wrong.append(line)
    return wrong


def may_break(old: str, new: str) -> bool:
    """Whether the version numbers allow it: 0.1 to 0.2, 1.4 to 2.0."""
    before, after = old.split("."), new.split(".")
    parts = 2 if before[0] == "0" else 1
    return before[:parts] != after[:parts]


def check() -> list[str]:
    """Return what breaks a promise of the version number; empty: nothing."""
    first, *old = TARGET.read_text(encoding="utf-8").splitlines()
    if may_break(first.split()[2], version()):
        return []
    return broken(old, today())


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        wrong = check()
        sys.stderr.writelines(
            f"no longer as it was: {line}\n" for line in wrong
        )
        return bool(wrong)
    lines = [f"# gpuos {version()}; made by scripts/public_names.py", *today()]
    TARGET.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
