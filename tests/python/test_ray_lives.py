"""Random lives of a pool: who has it, at which version, and who has left.

A model says what "step" means to each of them.
"""

from __future__ import annotations

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

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

ONES = np.ones(4, "float32")
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
        got = pool.map("step", gr.shard(ONES, 1)).gather(WAIT_S)
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
            joined.submit("step", ONES, out=out).wait(WAIT_S)
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
def test_a_life(cluster, seed):  # noqa: ARG001
    life = Life(random.Random(seed))
    for _ in range(STEPS):
        life.random.choice(ACTIONS)(life)
        life.check_all()
    life.end()
