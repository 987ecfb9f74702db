"""Some of the random cases of tests/fuzz, always the same ones."""

import datetime as dt
import random
from collections import Counter
from pathlib import Path

import alone
import arrays
import calls
import cells
import children
import corpora
import dlpack
import main
import npy
import numpy as np
import overlaps
import programs
import pytest
import readers
import small_worlds
import steps
import wrong_objects
from program_support import python_path
from session_support import make_session

import gpuos

COUNT = 1500  # programs, with three layouts each
ON_A_GPU = 500  # of them; scripts/gpu_check tries more for minutes
COMPILED = 3


@pytest.fixture
def exact(rt):
    """A runtime that promises the same bits."""
    if rt.backend == "host":
        yield rt
        return
    with gpuos.Runtime(rt.backend, deterministic=True) as runtime:
        yield runtime


def test_programs_are_numpys(exact):
    count = COUNT if exact.backend == "host" else ON_A_GPU
    found = main.first_finding(exact, count, seed=1)
    assert found is None, found


TWO = [f for f in steps.FUNCTIONS if f.inputs == 2]


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.name)
def test_a_function_of_a_value_and_a_number(exact, function):
    """Each dtype with each number, in both orders."""
    for dtype in steps.DTYPES:
        x = arrays.lay_out(random.Random(dtype.name), [40], dtype, "contiguous")
        for number in map(steps.Number, steps.numbers_for(dtype)):
            for operands in ((0, number), (number, 0)):
                step = steps.step_of(function, operands)
                case = programs.Case((x,), (step,), x)
                try:
                    last = programs.values_of(case)[-1]
                except programs.Invalid:
                    continue
                found = programs.finding(exact, programs.with_out(case, last))
                assert found is None, f"{found}\n\n{case.text(exact.backend)}"


def test_compiled_programs_are_numpys(exact):
    found = main.first_finding(exact, COMPILED, seed=2, is_compiled=True)
    assert found is None, found


def test_outputs_that_share_memory():
    with gpuos.Runtime("host") as rt:
        assert overlaps.first_finding(rt, seed=1) == ""


def test_all_programs_of_a_few_sums(rt):
    assert small_worlds.first_finding(rt) == ""


def test_all_programs_of_five_sums(host):
    assert small_worlds.finding(host, 5, (2, 2)) == ""


CALLS = 8000  # calls for each seed


@pytest.mark.parametrize("seed", [1, 2])
def test_calls_with_wrong_things(seed):
    found = children.first_finding(CALLS, seed, batch=300)
    assert found is None, found


def test_each_argument_of_each_function_as_a_share_of_wrong_things():
    """All shares come within 16 days."""
    table = children.Table()
    every = len(calls.SWEPT)
    first = dt.date.today().toordinal() % 16 * every
    found = children.first_finding(1, 0, table=table, batch=every, first=first)
    assert found is None, found
    assert table.cases == every
    assert table.calls > 10_000


def test_every_public_function_is_drawn():
    assert calls.missing() == []
    drawn = {
        line.function
        for index in range(6000)
        for line in children.case_of(3, index).lines
    }
    weights = zip(calls.OF_STUBS, calls.WEIGHT_OF, strict=True)
    often = {str(c) for c, weight in weights if weight > 0.02}
    often |= {str(c) for c in calls.OF_VALUES}
    assert len(often) > 300
    assert often <= drawn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("np.ctypeslib.ctypes.string_at(0)", "ended the process with -11"),
        ("__import__('os')._exit(3)", "ended the process with 3"),
        ("attempt(lambda: call({}.pop, 1))", "KeyError"),
        ("attempt(lambda: call(exec, 'raise SystemError'))", "SystemError"),
        ("attempt(lambda: call(exec, 'raise TypeError'))", None),
        ("attempt(lambda: call(odd(raise_own, 1).__index__))", None),
        ("rt.__init_subclass__() or rt.close()", None),
    ],
)
def test_only_unexpected_failures_are_findings(text, said):
    failure = children.run(children.Wanted(0, 0, 0, text=text))
    assert (failure is None) == (said is None), failure
    assert said is None or said in failure.text


def test_a_case_that_does_not_end(monkeypatch):
    monkeypatch.setattr(children, "DEADLINE_S", 3.0)
    failure = children.run(children.Wanted(0, 0, 0, text="time.sleep(1000)"))
    assert "did not end" in failure.text
    assert "most recent call first" in failure.text


def test_errors_without_the_given_value_are_listed():
    judge = wrong_objects.Judge()
    judge.look_at(gpuos.InvalidArgument("shape: expected 2 axes, got 3"))
    judge.look_at(gpuos.InvalidArgument("shape: this is wrong"))
    assert list(judge.without_got.values()) == ["shape: this is wrong"]
    assert not judge.finding


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


def test_accepted_wrong_metadata_is_a_finding():
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


def test_a_text_means_the_same_in_cells(host):
    make_session(host)  # or is skipped
    found = cells.first_finding(host, 3, 2, Counter())
    assert found is None, found


def test_each_kind_is_cut_often():
    cuts: Counter = Counter()
    for index in range(1000):
        case = cells.draw(1, index)
        case.cells()
        cuts.update(case.cuts)
    assert cuts.keys() == {**cells.HOST, **cells.DEVICE}.keys()
    assert min(cuts.values()) > 100


def test_a_value_that_differs_is_a_finding(host):
    make_session(host)
    kinds = [kind for kind in cells.draw(1, 0).kinds if not kind.is_device]
    case = cells.Case(kinds[:1], seed=1)
    assert "expected -1.0" in str(cells.finding(host, case, [0.0, -1.0]))


def test_a_kernel_that_differs_is_a_finding(host):
    session = make_session(host)
    session.run("__global__ void k(float* x) { *x = 1; }")
    for text, why in [
        ("__global__ void k(double* x) { *x = 1; }", "expected the kernels"),
        ("__global__ void k(unknown* x) { *x = 1; }", "expected an error"),
    ]:
        found = cells.device_cells.finding(host, session, text, ["k"])
        assert why in str(found)
