"""The public functions of gpuos, as its stubs and its Python files name them."""

import ast
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gpuos

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/gpuos"

# Functions that are never called with wrong arguments, and why.
EXCLUDED = {
    "gpuos.load_ipython_extension": "IPython calls it with its shell",
    "gpuos.serve": "its other end takes wrong things: test_control_input.py",
}
# Arguments that are never passed, and why.
TRUSTED = {
    "addresses beside sizes=": "submit_many checks and holds nothing there",
    "arrays of other memory than they say": "nobody can check that",
    "lists that change while NumPy reads them": "np.asarray() crashes alone",
    "strides beyond all addresses that NumPy reads": "it crashes alone",
    "another self for methods in Python": "Python passes it on as it is",
    "sources that crash": "SECURITY.md: never define what you would not run",
}


@dataclass(frozen=True)
class Parameter:
    name: str
    annotation: str
    kind: str  # "positional", "keyword", "*" or "**"
    is_needed: bool


@dataclass(frozen=True)
class Callable:
    """A function, or what a class has by that name."""

    owner: str  # a class, as a program names it; "" for a function
    name: str
    is_property: bool
    parameters: tuple[Parameter, ...]
    returns: str

    def __str__(self) -> str:
        return f"{self.owner or 'gpuos'}.{self.name}"


def aliases() -> dict[str, str]:
    """Annotations that stand for others."""
    return {
        node.target.id: ast.unparse(node.value)
        for node in _stub().body
        if isinstance(node, ast.AnnAssign)
        and ast.unparse(node.annotation) == "TypeAlias"
    }


def error_attributes() -> dict[str, tuple[str, ...]]:
    """Return the attributes of each class of errors, except the message."""
    return {
        node.name: names
        for node in _stub().body
        if isinstance(node, ast.ClassDef)
        and (
            names := tuple(
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign)
            )
        )
    }


def callables() -> list[Callable]:
    """Return all public callables, except the excluded ones."""
    return [one for one in _all() if str(one) not in EXCLUDED]


def typed() -> dict[tuple[str, str], list[tuple[int, str, str]]]:
    """Return the arguments that are of a class of gpuos and nothing else.

    By class and name of a function: place, name and class of each.
    """
    found: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    for one in callables():
        owner = one.owner.rpartition(".")[2]
        for place, p in enumerate(one.parameters):
            if p.annotation in gpuos.__all__ and p.kind == "positional":
                known = found.setdefault((owner, one.name), [])
                known.append((place, p.name, p.annotation))
    return found


def _stub() -> ast.Module:
    return _parse(PACKAGE / "_core.pyi")


@functools.cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _all() -> Iterator[Callable]:
    for name in gpuos.__all__:
        member = getattr(gpuos, name)
        if hasattr(member, "__path__") or hasattr(member, "__file__"):
            for inner in member.__all__:
                yield from _named(f"gpuos.{name}", member, inner)
        else:
            yield from _named("gpuos", gpuos, name)


def _named(place: str, module: object, name: str) -> Iterator[Callable]:
    """A function or a class, wherever it is defined."""
    member = getattr(module, name)
    if isinstance(member, str):
        return
    own = getattr(member, "__name__", name)
    defined = sys.modules.get(getattr(member, "__module__", ""), module)
    body = [*_stub().body]
    if defined.__file__.endswith(".py"):
        body += _parse(Path(defined.__file__)).body
    for node in body:
        if getattr(node, "name", None) != own:
            continue
        if isinstance(node, ast.ClassDef):
            yield from _members(f"{place}.{name}", node)
        elif isinstance(node, ast.FunctionDef) and not _has(node, "overload"):
            owner = "" if place == "gpuos" else place
            yield _callable(owner, node, is_method=False)


def _members(owner: str, node: ast.ClassDef) -> Iterator[Callable]:
    for part in node.body:
        if not isinstance(part, ast.FunctionDef):
            continue
        is_special = part.name.startswith("__") and part.name.endswith("__")
        if part.name.startswith("_") and not is_special:
            continue  # private: nothing is promised
        yield _callable(owner, part, is_method=True)


def _has(node: ast.FunctionDef, decorator: str) -> bool:
    return any(ast.unparse(d) == decorator for d in node.decorator_list)


def _callable(owner: str, node: ast.FunctionDef, *, is_method: bool):
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    needed = len(plain) - len(given.defaults)
    parameters = [
        _parameter(arg, "positional", place < needed)
        for place, arg in enumerate(plain)
    ][1 if is_method else 0 :]
    if given.vararg:
        parameters.append(_parameter(given.vararg, "*", is_needed=False))
    parameters += [
        _parameter(arg, "keyword", default is None)
        for arg, default in zip(
            given.kwonlyargs, given.kw_defaults, strict=True
        )
    ]
    if given.kwarg:
        parameters.append(_parameter(given.kwarg, "**", is_needed=False))
    returns = ast.unparse(node.returns) if node.returns else "Any"
    is_property = _has(node, "property")
    return Callable(owner, node.name, is_property, tuple(parameters), returns)


def _parameter(arg: ast.arg, kind: str, is_needed: bool) -> Parameter:
    annotation = ast.unparse(arg.annotation) if arg.annotation else "Any"
    return Parameter(arg.arg, annotation, kind, is_needed)
