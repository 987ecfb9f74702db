"""Some of the random files and DLPack producers of tests/fuzz."""

from __future__ import annotations

import random
from pathlib import Path

import alone
import corpora
import dlpack
import npy
import numpy as np
import pytest
import readers
from program_support import python_path


@pytest.mark.parametrize("name", ["npy", "dlpack"])
def test_random_cases(name):
    found = alone.first_finding(name, 3000, seed=1, batch=1500)
    assert found is None, found


def test_about_half_of_the_producers_are_right():
    cases = [dlpack.draw(random.Random(f"2:{k}")) for k in range(1000)]
    reasons = [case.wrong for case in cases]
    assert 400 < reasons.count("") < 700
    assert len(set(reasons)) == 13


def test_many_files_are_right():
    cases = [npy.draw(random.Random(f"2:{k}")) for k in range(1000)]
    right = [npy.numpy_reads(case.data) is not None for case in cases]
    assert 100 < right.count(True) < 900


def test_a_lie_that_is_believed_is_a_finding():
    case = dlpack.Case(2, 32, (3,), None, 0)
    assert dlpack.finding(case) == ""
    told = dlpack.Case(2, 32, (3,), None, 0, wrong="size")
    assert dlpack.finding(told) == "size was taken"
    refused = dlpack.Case(2, 32, (-3,), None, 0)
    assert dlpack.finding(refused) == "a right one was refused"


def test_another_array_than_numpys_is_a_finding(monkeypatch):
    data = npy.draw(random.Random("2:1")).data
    monkeypatch.setattr(npy, "numpy_reads", lambda _: np.zeros(3))
    assert npy.finding(npy.Case(data)).startswith("NumPy reads")


def test_a_crash_is_a_finding(tmp_path, monkeypatch):
    (tmp_path / "crashing.py").write_text(
        "import os\n"
        "def draw(dice): return dice.random()\n"
        "def text(case): return f'case of {case}'\n"
        "def finding(case): return os.abort() if case > 0.9 else ''\n"
    )
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    found = alone.first_finding("crashing", 100, seed=1)
    assert "ended the process with -6" in found
    assert "case of 0.9" in found


def test_every_target_has_a_corpus():
    folder = Path(readers.ROOT) / "tests" / "fuzz" / "bytes"
    sources = {path.stem for path in folder.glob("*.cpp")} - {"replay"}
    assert readers.targets() == sorted(sources)
    assert {path.stem for path in folder.glob("words/*")} <= sources


@pytest.mark.parametrize("target", corpora.targets())
def test_a_corpus_is_an_archive_of_its_files(target, tmp_path):
    folder = tmp_path / target
    folder.mkdir()
    (folder / "of_another_time").touch()
    corpora.unpack(target, folder)
    assert not (folder / "of_another_time").exists()
    corpora.pack(target, folder, tmp_path)
    archive = f"{target}.zip"
    packed = (tmp_path / archive).read_bytes()
    assert packed == (corpora.CORPORA / archive).read_bytes()
    kept = [path.name for path in corpora.CORPORA.iterdir()]
    assert kept == [name for name in kept if name.endswith(".zip")]
