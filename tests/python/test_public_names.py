"""The names and signatures of the last release, compared with today's."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from pathlib import Path

import pytest

import gpuos

pytestmark = pytest.mark.host

ROOT = Path(__file__).resolve().parents[2]


def script(name):
    path = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


names = script("public_names")


def test_what_the_last_release_allowed_is_allowed():
    wrong = names.check()
    assert wrong == [], (
        "users of the last release call these; keep them, or raise the version "
        "in CMakeLists.txt, as docs/installing.md says. Before 0.1.0 is out: "
        "run scripts/public_names.py"
    )


def test_the_lines_are_names_that_there_are():
    seen = set()
    for line in names.today():
        name = line.partition("(")[0]
        if name.startswith("gpuos.torch"):
            continue  # needs PyTorch
        for module in ("gpuos.array_api", "gpuos.ray"):
            if name.startswith(module):
                importlib.import_module(module)
        found = gpuos
        for word in name.split(".")[1:]:
            # A field of a dataclass without a default is in no class.
            found = getattr(found, word, found)
            seen.add(word)
    assert set(gpuos.__all__) - seen == set()


SIGNATURES = [
    "()",
    "(a)",
    "(b)",
    "(a, b)",
    "(b, a)",
    "(a=1)",
    "(a, b=1)",
    "(a=1, b=1)",
    "(a, *, b)",
    "(a, *, b=1)",
    "(*, a=1, b=1)",
    "(*, a)",
    "(a, /)",
    "(a, /, b=1)",
    "(*a)",
    "(a, *c)",
    "(a, **c)",
    "(*c, b=1)",
    "(*c, a)",
    "(*c, **d)",
]
CALLS = [
    (count, frozenset(keywords))
    for count in range(4)
    for size in range(4)
    for keywords in itertools.combinations("abx", size)
]


def taken(signature):
    """The calls that Python takes."""
    function = eval(f"lambda {signature[1:-1]}: None")
    found = set()
    for count, keywords in CALLS:
        try:
            function(*range(count), **dict.fromkeys(keywords))
        except TypeError:
            continue
        found.add((count, keywords))
    return found


@pytest.mark.parametrize("old", SIGNATURES)
def test_a_signature_allows_another_if_python_takes_its_calls(old):
    for new in SIGNATURES:
        # The names of the places count too, where both take the same words.
        if names.allows(new, old):
            assert taken(old) <= taken(new), (new, old)
    assert names.allows(old, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("(a, b=1)", "(a)"),
        ("(a, *, b=1)", "(a)"),
        ("(a=1)", "(a)"),
        ("(a, b=1)", "(a, *, b=1)"),
        ("(*c, **d)", "(a, *, b)"),
        ("(b, /)", "(a, /)"),
    ],
)
def test_what_is_added_breaks_nothing(new, old):
    assert names.allows(new, old)


def test_what_is_missing_or_renamed_is_told():
    old = ["g.f(a)", "g.C", "g.C.x", "g.C.m(self, a, b=1)"]
    assert names.broken(old, old) == []
    for i, line in enumerate(old):
        rest = old[:i] + old[i + 1 :]
        assert names.broken(old, rest) == [line]
    assert names.broken(old, [*old[:3], "g.C.m(self, a)"]) == [old[3]]
    assert names.broken(["g.f(a)"], ["g.f(a, b)", "g.f(a)"]) == []
    assert names.broken([], old) == []


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "1.0.0", True),
        ("1.0.0", "1.1.0", False),
        ("1.1.0", "2.0.0", True),
    ],
)
def test_which_version_may_break_something(old, new, may):
    assert names.may_break(old, new) is may
