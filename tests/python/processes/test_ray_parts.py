"""Parts of Ray pools, without Ray: versions in one runtime, names, the cancellation of
a member."""

import random
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from deadlines import WAIT_S

import gpuos
import gpuos.ray
from gpuos.ray import cancellation, changes, joining, latest, renaming, versions
from gpuos.ray.versions import Entry, Versions

ONES = np.ones(8, "float32")


@pytest.fixture
def rt():
    with gpuos.Runtime("host", workers=1) as runtime:
        yield runtime


class World:
    """A log in a dictionary, and the expected result of each version."""

    def __init__(self, rt):
        self.rt, self.tables, self.expected = rt, {0: {}}, {0: {}}
        self.latest = self.last = 0
        self.versions = Versions(rt, self.tables.__getitem__)

    def propose(self, *asked, commit=True):
        self.last += 1
        made = self.versions.prepare(self.last, self.latest, asked)
        if not commit:
            self.versions.drop(self.last)
            return
        table = dict(self.tables[self.latest])
        table |= {k: Entry(self.last, d) for k, d in made.items()}
        self.tables[self.last] = table
        expected = dict(self.expected[self.latest])
        for change in asked:
            text = change.definition.expression
            expected[change.definition.name] = float(text.split()[-1])
        self.expected[self.last] = expected
        self.latest = self.last

    def check(self, version):
        with self.versions.at(version) as names:
            assert {*names} == {*self.expected[version]}
            for name, op in names.items():
                out = self.rt.empty(8)
                self.rt.submit(op, ONES, out=out).wait(WAIT_S)
                assert out.numpy()[0] == self.expected[version][name]


def test_cleaning_after_close_is_silent(rt):
    world = World(rt)
    world.propose(changes.define("f", "o = x * 2", {}))
    clean = world.versions.cleaner()
    rt.close()
    clean()


@pytest.mark.parametrize("seed", range(6))
def test_old_versions_stay_unchanged(rt, seed, monkeypatch):
    monkeypatch.setattr(versions, "KEPT", 4)
    turn, world = random.Random(seed), World(rt)
    for step in range(150):
        text = f"o = x * {step}"
        known = world.expected[world.latest]
        match turn.choice(("define", "replace", "two", "drop", "refuse", "at")):
            case "define" if len(known) < 4:
                world.propose(changes.define(f"n{step}", text, {}))
            case "replace" if known:
                name = turn.choice([*known])
                world.propose(changes.replace(name, text, {}))
            case "two" if known:
                name = turn.choice([*known])
                world.propose(
                    changes.replace(name, "o = x * 7", {}),
                    changes.replace(name, text, {}),
                )
            case "drop" if known:
                name = turn.choice([*known])
                change = changes.replace(name, text, {})
                world.propose(change, commit=False)
            case "refuse" if known:
                name = turn.choice([*known])
                with pytest.raises(gpuos.InvalidArgument):
                    world.propose(
                        changes.replace(name, text, {}),
                        changes.define(name, "o = x * x", {}),
                    )
            case _:
                world.check(turn.choice([*world.tables]))
        world.check(world.latest)
    # Unused operators are gone: four versions of four names, in two copies.
    assert len(rt.operators()) < 6 + 32


def test_a_version_in_use_is_kept(rt, monkeypatch):
    monkeypatch.setattr(versions, "KEPT", 2)
    world = World(rt)
    world.propose(changes.define("f", "o = x * 3", {}))
    with world.versions.at(1) as names:
        for i in range(20):
            world.propose(changes.replace("f", f"o = x * {i}", {}))
        out = rt.empty(8)
        rt.submit(names["f"], ONES, out=out).wait(WAIT_S)
        assert out.numpy()[0] == 3
    world.propose(changes.replace("f", "o = x * 5", {}))
    assert len(rt.operators()) < 6 + 8


SOURCE = """
// GPUOS_OPERATOR(f) is below
GPUOS_OPERATOR( f ) { other_f(f(1)); }
"""
NAMED = {
    "expression": {"expression": "o = f + x"},
    "source": {"source": SOURCE, "inputs": 1},
    "ptx": {"ptx": b"ptx", "inputs": 1},
    "ltoir": {"ltoir": b"ltoir", "inputs": 1, "symbol": "g"},
    "params": {"expression": "o = a * x", "params": {"a": ("float32", 2.0)}},
}


@pytest.mark.parametrize("kind", NAMED)
def test_another_name_computes_the_same(kind):
    definition = gpuos.Definition("f", **NAMED[kind])
    other = renaming.renamed(definition, "f__12")
    assert other.name == "f__12"
    assert renaming.renamed(other, "f").source == (
        definition.source and definition.source.replace("( f )", "(f)")
    )
    if definition.source is None:
        named = gpuos.Definition("f", **{"symbol": other.symbol, **NAMED[kind]})
        assert other.digest == named.digest
    else:
        assert "other_f(f(1))" in other.source
        assert other.source.count("GPUOS_OPERATOR(f__12)") == 2
    assert other.symbol == {"ptx": "f", "ltoir": "g"}.get(kind)


def test_messages_have_the_names_of_the_pool():
    assert versions.outer("f__12: no f__1.cpp, b__2__3") == "f: no f.cpp, b__2"


def test_a_gate_limits_callers_in_order(monkeypatch):
    cancelled = set()
    monkeypatch.setattr(
        cancellation,
        "is_cancelled",
        lambda: threading.current_thread() in cancelled,
    )
    monkeypatch.setattr(cancellation, "_LOOK_S", 0.001)
    way, order, inside = cancellation.Gate(2), [], threading.Semaphore(0)
    go = threading.Semaphore(0)

    def call(number):
        try:
            with way.passed():
                order.append(number)
                inside.release()
                assert go.acquire(timeout=WAIT_S)
        except gpuos.Cancelled:
            order.append(f"not {number}")
            inside.release()

    threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    for count, thread in enumerate(threads):
        thread.start()
        if count < 2:
            assert inside.acquire(timeout=WAIT_S)
        else:
            while len(way._waiting) < count - 1:
                threading.Event().wait(0.001)
    cancelled.add(threads[3])
    assert inside.acquire(timeout=WAIT_S)
    for _ in threads:
        go.release()
    for thread in threads:
        thread.join(WAIT_S)
    assert order[:3] == [0, 1, "not 3"]
    assert sorted(order[3:]) == [2, 4, 5]
    assert way._free == 2


# ---- Followers of a log.


class SlowLog:
    """A log, and Ray: it answers late at each None, and at the end never."""

    class LateError(Exception):
        pass

    def __init__(self, *answers):
        self.exceptions = SimpleNamespace(GetTimeoutError=self.LateError)
        self.answers = iter(answers)
        self.asked = []
        self.ended = threading.Event()
        self.follow = self.attend = SimpleNamespace(remote=self._ask)

    def _ask(self, *question):
        self.asked.append(question)

    def get(self, _, timeout):  # noqa: ARG002 (its name is Ray's)
        try:
            answer = next(self.answers)
        except StopIteration:
            self.ended.set()
            raise ConnectionError from None
        if answer is None:
            raise self.LateError
        return answer


def test_a_late_answer_is_no_end_of_following(monkeypatch):
    log = SlowLog(1, None, 7)
    monkeypatch.setattr(latest, "ray", lambda: log)
    known = latest.Newest(log, 0, ())
    assert log.ended.wait(WAIT_S)
    assert known.version == 7


def test_a_follower_answers_a_late_log_again(monkeypatch):
    def do(request, answers):
        answers[request] = None

    log = SlowLog((1, [1]), None, (2, []))
    monkeypatch.setattr(joining, "ray", lambda: log)
    monkeypatch.setattr(joining, "_BUSY_S", WAIT_S)  # until it has done it
    follower = SimpleNamespace(version=0, do=do, is_over=False)
    joining._attend(lambda: follower, log, "who", lambda: None)
    assert follower.version == 2
    told = [question[1] for question in log.asked]
    assert told[:3] == [{}, {1: None}, {1: None}]
