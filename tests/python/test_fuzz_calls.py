"""Some of the random calls of tests/fuzz, always the same ones."""

from __future__ import annotations

import datetime as dt

import calls
import children
import pytest
import wrong_objects

import gpuos

COUNT = 8000  # calls for each seed


@pytest.mark.parametrize("seed", [1, 2])
def test_calls_with_wrong_things(seed):
    found = children.first_finding(COUNT, seed, batch=300)
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


def test_everything_public_is_drawn():
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
def test_what_is_a_finding(text, said):
    failure = children.run(children.Wanted(0, 0, 0, text=text))
    assert (failure is None) == (said is None), failure
    assert said is None or said in failure.text


def test_a_case_that_does_not_end(monkeypatch):
    monkeypatch.setattr(children, "DEADLINE_S", 3.0)
    failure = children.run(children.Wanted(0, 0, 0, text="time.sleep(1000)"))
    assert "did not end" in failure.text
    assert "most recent call first" in failure.text


def test_a_message_without_what_came_is_listed():
    judge = wrong_objects.Judge()
    judge.look_at(gpuos.InvalidArgument("shape: expected 2 axes, got 3"))
    judge.look_at(gpuos.InvalidArgument("shape: this is wrong"))
    assert list(judge.without_got.values()) == ["shape: this is wrong"]
    assert not judge.finding
