"""A pool's operators are replaced in all members or in none, and no step sees
two versions."""

from __future__ import annotations

import gc

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
    """Return the names that each member's runtime has."""

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
