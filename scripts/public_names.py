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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts/site"))
from modules import Module, declared, decorators

TARGET = ROOT / "tests" / "python" / "public_names.txt"
# Modules whose `__all__` is for users.
MODULES = (
    *("gpuos", "gpuos.array_api", "gpuos.cache", "gpuos.ray", "gpuos.torch"),
)
SPECIAL = ("__init__", "__call__", "__getitem__", "__setitem__", "__len__")


def bare(function: ast.FunctionDef) -> str:
    """Return `(x, *, out=None)`: a signature without types."""
    arguments = ast.parse(ast.unparse(function)).body[0].args  # a copy
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one]
    for one in every:
        one.annotation = None
    return f"({ast.unparse(arguments)})"


def describe(name: str, nodes: list[Any]) -> Iterator[str]:
    """Yield a line for each signature of a name, and of what a class has."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            is_value = "property" in decorators(node)
            yield name + ("" if is_value else bare(node))
            continue
        yield name
        if isinstance(node, ast.ClassDef):
            for member, those in declared(node.body).items():
                if member in SPECIAL or not member.startswith("_"):
                    yield from describe(f"{name}.{member}", those)


def today() -> list[str]:
    """Return a line for each name, signature and overload."""
    lines: set[str] = set()
    for address in MODULES:
        module = Module(ROOT, address)
        for name in module.all():
            try:
                nodes = module.entry(name).nodes
            except KeyError:  # a module
                nodes = [None]
            lines.update(describe(f"{address}.{name}", nodes))
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
