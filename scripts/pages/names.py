"""Write the public names and signatures, or report broken ones.

    scripts/figures names          writes tests/python/public_names.txt
    scripts/figures names --check  1 if a call that it allows is refused now

The file belongs to the last release, and `scripts/release` checks it. The
script reads the sources and the stub, so it needs no build. A new name breaks
nothing. A new parameter breaks nothing if it has a default value, and is the
last one or keyword-only. A name that only raises promises nothing. The stub
declares NumPy's array methods that gpuos lacks with `NoReturn`. A version of
NumPy with other methods therefore changes no line. docs/installing.md says what
a version number promises.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))
from modules import Module, declared, decorators, is_shown

TARGET = ROOT / "tests" / "python" / "public_names.txt"
# Modules whose `__all__` is for users.
MODULES = (
    *("gpuos", "gpuos.array_api", "gpuos.cache", "gpuos.ray", "gpuos.torch"),
)
SPECIAL = ("__len__",)
# Stands for a positional argument without a name.
NAMELESS = "/"


def bare(function: ast.FunctionDef) -> str:
    """Return a signature without types, such as `(x, *, out=None)`."""
    arguments = ast.parse(ast.unparse(function)).body[0].args  # copied
    for one in ast.walk(arguments):
        if isinstance(one, ast.arg):
            one.annotation = None
    return f"({ast.unparse(arguments)})"


def describe(name: str, nodes: list[Any]) -> Iterator[str]:
    """Yield a line for each signature of a name and of a class's members."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            is_value = "property" in decorators(node)
            yield name + ("" if is_value else bare(node))
            continue
        yield name
        if isinstance(node, ast.ClassDef):
            for member, those in declared(node.body).items():
                if member in SPECIAL or is_shown(member, those):
                    yield from describe(f"{name}.{member}", those)


def today() -> list[str]:
    """Return a line for each name, signature and overload."""
    lines: set[str] = set()
    for address in MODULES:
        module = Module(ROOT, address)
        for name in module.all():
            try:
                nodes = module.entry(name).nodes
            except KeyError:  # The name is a module.
                nodes = [None]
            lines.update(describe(f"{address}.{name}", nodes))
    return sorted(lines)


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(gpuos VERSION ([\d.]+)", text)
    assert found is not None
    return found[1]


def signature_of(text: str) -> inspect.Signature:
    """Return the signature of `(a, b=1)`. Make every default value None."""
    tree = ast.parse(f"def f{text}: ...")
    arguments = tree.body[0].args
    none = ast.copy_location(ast.Constant(None), tree.body[0])
    arguments.defaults = [none for _ in arguments.defaults]
    arguments.kw_defaults = [each and none for each in arguments.kw_defaults]
    space: dict[str, object] = {}
    exec(compile(tree, "<signature>", "exec"), space)  # noqa: S102 (own text)
    return inspect.signature(space["f"])


def calls_of(signature: inspect.Signature) -> Iterator[tuple[list, list]]:
    """Yield calls that fit: names of positional values, and keywords.

    A value without a name is NAMELESS.
    """
    kinds = [one.kind for one in signature.parameters.values()]
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    every = [p for p in signature.parameters.values() if p.kind not in several]
    places = [p for p in every if p.kind is not Parameter.KEYWORD_ONLY]
    for count in range(len(places) + 1):
        rest = every[count:]
        named = [p for p in rest if p.kind is not Parameter.POSITIONAL_ONLY]
        must = [p for p in rest if p.default is Parameter.empty]
        may = [p.name for p in named if p not in must]
        if any(p not in named for p in must):
            continue
        values = [
            NAMELESS if p.kind is Parameter.POSITIONAL_ONLY else p.name
            for p in places[:count]
        ]
        keywords = [p.name for p in must]
        if Parameter.VAR_KEYWORD in kinds:
            may.append("a_name_of_nothing")
        for some in ([], may, *([one] for one in may)):
            yield values, keywords + some
            if count == len(places) and Parameter.VAR_POSITIONAL in kinds:
                yield values + 9 * [NAMELESS], keywords + some


def allows(new: str, old: str) -> bool:
    """Return whether the new signature accepts every call of the old one."""
    now = signature_of(new)
    for values, keywords in calls_of(signature_of(old)):
        try:
            bound = now.bind(*values, **dict.fromkeys(keywords))
        except TypeError:
            return False
        # A different name at a position has a different meaning.
        for name, value in bound.arguments.items():
            if isinstance(value, str) and value not in (name, NAMELESS):
                return False
    return True


def broken(old: list[str], new: list[str]) -> list[str]:
    """Return the old lines with calls that the new lines refuse."""
    now: dict[str, list[str]] = {}
    for line in new:
        name, bracket, rest = line.partition("(")
        now.setdefault(name, []).append(bracket + rest)
    wrong = []
    for line in old:
        name, bracket, rest = line.partition("(")
        kinds = now.get(name, [])
        fits = any(k and allows(k, bracket + rest) for k in kinds)
        if not (fits if bracket else kinds):
            wrong.append(line)
    return wrong


def may_break(old: str, new: str) -> bool:
    """Return whether the version allows breaks: 0.1 to 0.2, 1.4 to 2.0."""
    before, after = old.split("."), new.split(".")
    parts = 2 if before[0] == "0" else 1
    return before[:parts] != after[:parts]


def check() -> list[str]:
    """Return the lines that break the version number's promise."""
    first, *old = TARGET.read_text(encoding="utf-8").splitlines()
    if may_break(first.split()[2], version()):
        return []
    return broken(old, today())


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        wrong = check()
        sys.stderr.writelines(
            f"no longer as it was: {line}\n" for line in wrong
        )
        return bool(wrong)
    if arguments:
        sys.stdout.write(str(__doc__))
        return 0 if arguments[0] in ("-h", "--help") else 2
    lines = [f"# gpuos {version()}; made by scripts/figures names", *today()]
    TARGET.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0
