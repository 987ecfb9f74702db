"""Test which tests are made, which of them run, and how long they take."""

import argparse
import itertools
import json
from types import SimpleNamespace

import conftest
import pytest
import tiers

pytest_plugins = ["pytester"]

CYCLE = range(tiers.CYCLE)
SLOW = {
    "a.py::test_slow": (9.0, 90.0),
    "a.py::test_slow_product": (0.6, 30.0),
    "b.py::test_slow": (2.0, 2.0),
}


def item(nodeid, *marks):
    found = {mark.name: mark for mark in marks}
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=found.get)


def product(function, *counts, marks=()):
    """Return all combinations of the given numbers of parameter values."""
    combinations = itertools.product(*map(range, counts))
    return [
        item(f"{function}[{'-'.join(map(str, numbers))}]", *marks)
        for numbers in combinations
    ]


TOGETHER = pytest.mark.together.mark
LAST = pytest.mark.together(quick=False).mark
ITEMS = [
    item("a.py::test_slow"),
    item("a.py::test_small"),
    *product("a.py::test_slow_product", 10, 10),
    item("b.py::test_slow"),
    *product("b.py::test_product", 20, 30),
    *product("b.py::test_small_product", tiers.LARGE),
    *product("c.py::test_seen", 30, 10, marks=[TOGETHER]),
    item("c.py::test_all_were_seen", LAST),
]


def names_of(share):
    kept = tiers.chosen(ITEMS, SLOW, share)
    return {
        one.nodeid for one, is_kept in zip(ITEMS, kept, strict=True) if is_kept
    }


def test_host_items_are_recognized():
    assert tiers.is_of_host(item("a.py::test_slow[cpu-rows]"))
    assert tiers.is_of_host(item("a.py::test_slow[1-host]"))
    assert tiers.is_of_host(item("a.py::test_slow", pytest.mark.host.mark))
    for name in ("a.py::test_slow[cuda-1]", "a.py::test_cpu", "a.py::t[cpus]"):
        assert not tiers.is_of_host(item(name))


def test_a_cycle_of_dates_covers_all_tests():
    quick = names_of(None)
    others = [names_of(share) - quick for share in CYCLE]
    assert all(quick <= names_of(share) for share in CYCLE)
    assert set().union(quick, *others) == {one.nodeid for one in ITEMS}
    assert sum(map(len, others)) + len(quick) == len(ITEMS)  # each once
    assert all(names_of(share) == names_of(share) for share in CYCLE)


def test_tests_marked_always_run_on_each_date():
    items = [item("b.py::test_slow", pytest.mark.always.mark)]  # 2 s
    kept = [tiers.chosen(items, SLOW, share) for share in (None, *CYCLE)]
    assert kept == [[False], *[[True]] * len(CYCLE)]


def test_slow_tests_are_not_quick():
    quick = {tiers.function_of(name) for name in names_of(None)}
    assert not quick & {*SLOW, "c.py::test_all_were_seen"}
    assert "a.py::test_small" in quick
    small = [n for n in names_of(None) if "small_product" in n]
    assert len(small) == tiers.LARGE


def test_each_module_has_a_quick_test():
    slow = {
        "a.py::test_dear": (2.0, 2.0),
        "a.py::test_cheap": (1.0, 1.0),
        "b.py::test_cheap": (1.0, 1.0),
        "c.py::test_dear": (2.0, 2.0),
    }
    items = [item(name) for name in (*slow, "b.py::test_quick")]
    kept = tiers.chosen(items, slow, None)
    assert kept == [False, True, False, False, True]


def test_a_module_runs_on_one_date():
    quick = names_of(None)
    for module, which in [("a.py", "slow"), ("b.py", "slow"), ("c.py", "test")]:
        dates = [
            share
            for share in CYCLE
            for name in names_of(share) - quick
            if name.startswith(module) and which in name
        ]
        assert len(set(dates)) == 1, module


@pytest.mark.parametrize("counts", [(61,), (8, 9), (25, 20), (12, 10, 25)])
def test_a_sampled_product_has_every_value(counts):
    items = product("t.py::test_f", *counts)
    kept = tiers.chosen(items, {}, None)
    names = [
        i.nodeid for i, is_kept in zip(items, kept, strict=True) if is_kept
    ]
    assert tiers.LARGE / 2 < len(names) < 1.5 * tiers.LARGE
    if len(counts) > 1:
        numbers = [name.partition("[")[2][:-1].split("-") for name in names]
        came = [len(set(values)) for values in zip(*numbers, strict=True)]
        assert sum(came) > 0.8 * sum(counts)


def test_modules_are_spread_by_their_seconds():
    slow = {f"m{k}.py::test_f": (1.0, 1.0 + k) for k in range(30)}
    loads = [0.0] * tiers.CYCLE
    for module, share in tiers.module_shares(slow).items():
        loads[share] += slow[f"{module}::test_f"][1]
    assert max(loads) - min(loads) < 3
    assert tiers.module_shares(dict(reversed(slow.items()))) == (
        tiers.module_shares(slow)
    )


def test_a_date_is_a_number():
    days = ["2031-12-31", "20320101", "2032-01-02"]
    numbers = [tiers.number_of(day) for day in days]
    assert numbers == [*range(numbers[0], numbers[0] + 3)]
    assert tiers.number_of("12") == 12
    for wrong in ("-1", "x", "2032-01-40", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="expected a date"):
            tiers.number_of(wrong)


def test_durations_name_tests_that_are_there():
    durations = tiers.read(tiers.DURATIONS)
    unknown = [name for name in durations if not tiers.is_there(name)]
    assert unknown == [], "durations.json names tests that do not exist"
    assert [*durations] == sorted(durations)
    assert all(spent[0] > tiers.SLOW_S for spent in durations.values())


FILE = """
import pytest
import tiers

def burn(seconds):
    tiers.CLOCK[0] += seconds

@pytest.fixture(scope="module")
def dear():
    burn(4)

@pytest.fixture(scope="session")
def of_all():
    burn(8)

def test_first(dear): pass
def test_second(dear): pass
def test_with_a_general_one(of_all): pass
def test_quick(): pass
@pytest.mark.parametrize("seconds", [0, 2, 1])
def test_dear(seconds): burn(seconds)
def test_skipped(): pytest.skip()
"""


# The options of pyproject.toml have this, too.
NO_BENCHMARK = "[pytest]\naddopts = -p no:benchmark"


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setattr(tiers, "ROOT", pytester.path)
    monkeypatch.setattr(tiers, "DURATIONS", pytester.path / "durations.json")
    monkeypatch.setattr(tiers, "CLOCK", [0.0], raising=False)
    monkeypatch.setattr(tiers, "cpu_s", lambda: tiers.CLOCK[0])
    pytester.makepyfile(test_it=FILE)
    pytester.makeini(NO_BENCHMARK)
    return lambda *words: pytester.runpytest_inprocess("-p", "tiers", *words)


def test_durations_are_recorded(run):
    old = {
        "test_it.py::test_gone": [5.0, 5.0],
        "test_it.py::test_quick": [5, 5],
    }
    old |= {"test_it.py::test_skipped": [7.0, 7.0]}
    tiers.DURATIONS.write_text(json.dumps(old))
    run("--record-durations", tiers.DURATIONS).assert_outcomes(
        passed=7, skipped=1
    )
    assert tiers.read(tiers.DURATIONS) == {
        "test_it.py::test_dear": [2, 3],
        "test_it.py::test_first": [4, 4],
        "test_it.py::test_second": [4, 0],  # it was made for another test
        "test_it.py::test_skipped": [7, 7],
    }


def test_deselected_tests_are_reported(run):
    tiers.DURATIONS.write_text('{"test_it.py::test_dear": [1.0, 1.0]}')
    words = "--quick", "-k", "dear or quick"
    run(*words).assert_outcomes(passed=1, deselected=7)
    done = run(*words, "--seed", "7")
    done.assert_outcomes(passed=4, deselected=4)
    done.stdout.fnmatch_lines("seed: 7, share 1 of 7; repeat it with --seed=7")
    assert "expected --quick" in str(run("--seed", "7").stderr)
    assert "got 'x'" in str(run("--quick", "--seed", "x").stderr)


MADE = """
import pytest

@pytest.mark.gpu
def test_marked(): pass
def test_of_cuda(cuda): pass
@pytest.mark.parametrize("of", ["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_of_both(of): pass
@pytest.mark.skipif(True, reason="it is so")
def test_skipped(): pass

pair = pytest.mark.never(lambda x, y: x + y == 2, reason="too much")

@pair
@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize("y", [0, 1])
def test_pair(x, y): pass
@pair
@pytest.mark.parametrize("x", [1])
def test_one(x): pass
"""


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.filterwarnings("ignore:Unknown pytest.mark")
def test_tests_that_would_skip_are_not_generated(
    pytester, monkeypatch, is_there
):
    monkeypatch.setattr(conftest, "has_cuda", lambda: is_there)
    pytester.makeini(NO_BENCHMARK)
    made = [i.name for i in pytester.getitems(MADE) if conftest.can_pass(i)]
    assert made == [
        *(["test_marked", "test_of_cuda"] if is_there else []),
        "test_of_both[host]",
        *(["test_of_both[cuda]"] if is_there else []),
        *("test_pair[0-0]", "test_pair[0-1]", "test_pair[1-0]", "test_one[1]"),
    ]
