"""gpuos.typing, and the stubs, say what the module does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import gpuos
from gpuos.typing import Backend, Residency, Stats

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python/gpuos/typing.py"


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


def test_the_stubs_have_the_docstrings_of_the_module(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/stub_docs", "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
