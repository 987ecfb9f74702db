"""gpuos.typing, and the stubs, say what the module does."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import gpuos
from gpuos import _core
from gpuos.typing import Backend, Residency, Stats

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python/gpuos/typing.py"
STUB = ROOT / "python/gpuos/_core.pyi"


def test_stats_has_what_a_runtime_tells(rt):
    told = rt.stats()
    hints = get_type_hints(Stats)
    assert set(told) == set(hints)
    wrong = {
        name: (type(told[name]), hint)
        for name, hint in hints.items()
        if type(told[name]) is not hint
    }
    assert not wrong


def test_each_number_is_explained():
    lines = SOURCE.read_text().splitlines()
    for name in get_type_hints(Stats):
        at = next(
            i for i, line in enumerate(lines) if line.startswith(f"    {name}:")
        )
        assert lines[at + 1].lstrip().startswith('"""'), name


@pytest.mark.parametrize("choices", [Backend, Residency])
def test_choices_are_all_that_are_taken(choices):
    name = "backend" if choices is Backend else "residency"
    with pytest.raises(gpuos.InvalidArgument) as refused:
        gpuos.Runtime(**{name: "nonsense"})
    for choice in get_args(choices):
        assert choice in str(refused.value)


def test_the_module_has_the_docstrings_of_its_stub():
    found = []

    def check(node, thing):
        doc = ast.get_docstring(node)
        if doc:
            found.append(type(thing).__name__)
            told = inspect.getdoc(getattr(thing, "__func__", thing))
            assert told.endswith(doc.strip()), node.name
        for member in node.body:
            if isinstance(member, (ast.ClassDef, ast.FunctionDef)):
                check(member, inspect.getattr_static(thing, member.name, None))

    check(ast.parse(STUB.read_text()), _core)
    assert {
        "builtin_function_or_method",
        "getset_descriptor",
        "instancemethod",
        "method_descriptor",
        "module",
        "property",
        "staticmethod",
        "type",
    } <= set(found)
