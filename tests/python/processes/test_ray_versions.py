"""A pool's operators are replaced in all members or in none, and no step sees
two versions."""

import gc
import pickle
import random

import numpy as np
import pytest
import ray_support
from deadlines import WAIT_S

import gpuos

ray = pytest.importorskip("ray")
gr = pytest.importorskip("gpuos.ray")
outer = pytest.importorskip("gpuos.ray.versions").outer

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

ONES = np.ones(16, "float32")


@pytest.fixture
def pool(cluster, backend):  # noqa: ARG001
    place = ray_support.ON[backend]
    with gr.Pool(2, num_cpus=0, threads=2, **place) as made:
        yield made


def values(pool, op="step"):
    parts = pool.map(op, gr.shard(ONES, 4)).parts(WAIT_S)
    return sorted({float(x) for part in parts for x in part})


def operators(pool):
    def names(rt):
        return sorted(rt._runtime.operators())

    return [
        ray.get(ray_support.in_member(pool, i, names), timeout=WAIT_S)
        for i in range(2)
    ]


def test_no_step_is_torn_while_others_replace_and_members_die(cluster, pool):
    counts = ray_support.count_torn(cluster, pool, steps=900)
    assert counts["torn"] == 0
    assert counts["other"] == 0
    assert counts["steps"] == 900
    assert counts["versions"] == 91


def replace(pool, text):
    pool.replace("step", text)


def replace_both(pool, text):
    with pool.transaction() as change:
        change.replace("other", text)
        change.replace("step", text)


def test_one_member_that_refuses_is_enough(pool):
    pool.define("step", "o = x * 2")
    pool.define("other", "o = x * 5")
    ray.get(
        ray_support.in_member(pool, 1, ray_support.refuse, "step"),
        timeout=WAIT_S,
    )
    before, version = operators(pool), pool.version

    for i in range(100):
        with pytest.raises(gpuos.CompileError) as caught:
            (replace_both if i % 2 else replace)(pool, f"o = x * {i}")
        assert "nonsense" in caught.value.log
        assert str(caught.value).startswith("member 1 of pool ")
        assert (values(pool), values(pool, "other")) == ([2.0], [5.0])
    assert pool.version == version
    ray_support.until(lambda: operators(pool) == before)
    assert pool.replace("other", "o = x * 6") > version
    assert values(pool, "other") == [6.0]


def test_a_source_that_does_not_compile_tells_its_log(pool):
    bad = gpuos.Definition(
        "bad", source="GPUOS_OPERATOR(bad) { nonsense; }", inputs=1
    )
    with gpuos.Runtime("host") as rt, pytest.raises(gpuos.CompileError) as own:
        rt.define(bad)
    with pytest.raises(gpuos.CompileError, match="member 0 of pool") as caught:
        pool.define(bad)
    assert "nonsense" in caught.value.log
    for name in ("file", "line", "column", "excerpt"):
        assert getattr(own.value, name) == getattr(caught.value, name), name
    assert pool.version == 0


def test_a_transaction_is_one_version(pool):
    with pool.transaction() as change:
        change.define("step", "o = x * 2")
        op = change.define("other", "o = x * 5")
        change.replace("step", "o = x * 3")
        assert change.version is None
        for at_once in (pool.define, pool.replace):
            with pytest.raises(gpuos.InvalidArgument, match="as change"):
                at_once("step", "o = x * 9")
    assert change.version == pool.version
    assert (values(pool), values(pool, op)) == ([3.0], [5.0])
    with pytest.raises(ZeroDivisionError), pool.transaction() as change:
        change.replace("step", str(1 // 0))
    change = pool.transaction()
    change.replace("step", "o = x * 9")
    change.define("third", "o = (")
    with pytest.raises(gpuos.InvalidArgument), change:
        pass
    assert values(pool) == [3.0]
    with pytest.raises(gpuos.InvalidArgument, match="third"):
        values(pool, "third")


def test_a_view_of_a_pool_keeps_it(cluster):  # noqa: ARG001
    def alone():
        made = gr.Pool(1, num_cpus=0)
        made.define("step", "o = x * 3")
        return made.at()

    step = alone()
    gc.collect()
    for i in range(4):
        step.replace("step", f"o = x * {i}")
        assert values(step) == [3.0]
    step.close()


class Own:
    """An actor of a user, which follows a pool."""

    def join(self, name):
        self.rt = gr.join(name)

    def refuse(self):
        ray_support.refuse(self.rt._runtime, "step")

    def value(self):
        out = self.rt.empty(16)
        self.rt.submit("step", ONES, out=out).wait(WAIT_S)
        return self.rt.version, float(out.numpy()[0])

    def values_at(self, version):
        found = []
        with self.rt.at(version) as rt:
            for _ in range(2):
                out = rt.empty(16)
                rt.wait(rt.submit_many("step", [ONES], out=[out]))
                found.append(float(out.numpy()[0]))
        return found

    def leave(self):
        del self.rt


@pytest.fixture
def own(pool):
    pool.define("step", "o = x * 2")
    actor = ray.remote(num_cpus=0)(Own).remote()
    ray.get(actor.join.remote(pool.name), timeout=WAIT_S)
    yield lambda method, *args: ray.get(
        getattr(actor, method).remote(*args), timeout=WAIT_S
    )
    ray.kill(actor)


def test_a_runtime_that_joined_follows(pool, own):
    first = pool.version
    assert own("value") == (first, 2.0)
    for i in range(3, 23):
        version = pool.replace("step", f"o = x * {i}")
        ray_support.until(lambda v=version: own("value")[0] == v)
        assert own("value") == (version, float(i))
    assert own("values_at", first) == [2.0, 2.0]
    assert own("values_at", None) == [22.0, 22.0]


def test_a_runtime_that_joined_may_refuse(pool, own):
    pool.replace("step", "o = x * 3")
    own("refuse")
    with pytest.raises(gpuos.CompileError, match="that joined") as caught:
        pool.replace("step", "o = x * 4")
    assert "nonsense" in caught.value.log
    assert values(pool) == [3.0]
    own("leave")
    ray_support.until(lambda: replaced(pool))
    assert values(pool) == [5.0]


def replaced(pool):
    try:
        pool.replace("step", "o = x * 5")
    except gpuos.CompileError:
        return False
    return True


def test_a_runtime_that_joined_and_died_is_not_waited_for(pool):
    pool.define("step", "o = x * 2")
    actor = ray.remote(num_cpus=0)(Own).remote()
    ray.get(actor.join.remote(pool.name), timeout=WAIT_S)
    pool.replace("step", "o = x * 3")
    ray.kill(actor)
    pool.replace("step", "o = x * 4")  # waits for a lease of 10 s
    assert values(pool) == [4.0]


FOUR_ONES = np.ones(4, "float32")
STEPS = 40


class Life:
    """A pool, and all that came of it."""

    def __init__(self, random_):
        self.random = random_
        self.factors = {}  # by version
        self.pools = [gr.Pool(1, num_cpus=0)]  # the first, and others of it
        self.views = []
        self.joined = []  # with a runtime of its own, or none
        self.ended = []  # those whose runtime was closed
        op = self.pools[0].define("step", "o = x * 0")
        assert op == gr.Operator("step")
        self.factors[self.pools[0].version] = 0

    @property
    def newest(self):
        return max(self.factors)

    def replace(self):
        by = self.random.choice([*self.pools, *self.views])
        factor = len(self.factors)
        version = by.replace("step", f"o = x * {factor}")
        assert version == self.newest + 1
        self.factors[version] = factor

    def send(self):
        self.pools.append(pickle.loads(pickle.dumps(self.pools[0])))

    def look_at(self):
        pool = self.pools[0]
        version = self.random.choice([*self.factors, None])
        with pool.at(version) as view:
            self.check(view, version or self.newest)
        self.views.append(view)

    def forget(self):
        kind = self.random.choice([self.views, self.joined, self.pools[1:]])
        if kind:
            kind.remove(self.random.choice(kind))
        gc.collect()

    def join(self):
        is_own = self.random.random() < 0.5
        own = gpuos.Runtime("host", workers=1) if is_own else None
        self.joined.append((gr.join(self.pools[0].name, own), own))

    def end_a_runtime(self):
        for each in self.joined:
            if each[1] is not None:
                each[1].close()
                self.joined.remove(each)
                self.ended.append(each)
                return

    def check(self, pool, version):
        assert pool.version == version
        got = pool.map("step", gr.shard(FOUR_ONES, 1)).gather(WAIT_S)
        assert got.tolist() == [self.factors[version]] * 4

    def check_all(self):
        for pool in self.pools:
            ray_support.until(lambda p=pool: p.version == self.newest)
            self.check(pool, self.newest)
        for view in self.views[-3:]:
            self.check(view, view.version)
        for joined, _ in self.joined:
            ray_support.until(lambda j=joined: j.version == self.newest)
            out = joined.empty(4)
            joined.submit("step", FOUR_ONES, out=out).wait(WAIT_S)
            assert out.numpy().tolist() == [self.factors[self.newest]] * 4

    def end(self):
        self.pools[0].close()
        for each in (*self.pools[:1], *self.views[-3:]):
            with pytest.raises(gpuos.QueueClosed):
                each.map("step", gr.Sharded([1]))
        for _, own in self.joined:
            if own is not None:
                own.close()


ACTIONS = (
    *(Life.replace, Life.replace, Life.look_at, Life.send, Life.forget),
    *(Life.join, Life.end_a_runtime),
)


@pytest.mark.parametrize("seed", range(3))
def test_random_actions_keep_a_pool_right(cluster, seed):  # noqa: ARG001
    life = Life(random.Random(seed))
    for _ in range(STEPS):
        life.random.choice(ACTIONS)(life)
        life.check_all()
    life.end()
