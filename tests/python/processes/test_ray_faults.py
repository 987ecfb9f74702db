"""Members that die, operators that do not end, calls that are taken back."""

import os
import signal
import time

import numpy as np
import pytest
import ray_support
from deadlines import WAIT_S

import gpuos

ray = pytest.importorskip("ray")
gr = pytest.importorskip("gpuos.ray")

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

ONES = np.ones(16, "float32")
# Runs for some seconds, and says that it does.
LONG = """
#include <time.h>
GPUOS_OPERATOR(long_one) {
  timespec t{static_cast<time_t>(task.scalar<float>(1)), 0};
  nanosleep(&t, nullptr);
}
"""
CRASHES = "GPUOS_OPERATOR(crashes) { __builtin_trap(); }"


@pytest.fixture
def pool(cluster):  # noqa: ARG001
    with gr.Pool(2, num_cpus=0, options={"watchdog_s": 2.0}) as made:
        yield made


def answer(pool, op="double"):
    return pool.map(op, gr.shard(ONES, 4)).gather(WAIT_S).tolist()


def pids(pool):
    return [each["pid"] for each in pool.stats()]


def sleeps(rt, seconds, folder=None):
    if folder is not None:
        (folder / str(os.getpid())).touch()
    rt.submit("long_one", out=rt.empty(1), seconds=seconds).wait(WAIT_S)


def number(_):
    return 3


def define_long(pool):
    pool.define(
        "long_one",
        source=LONG,
        params={"seconds": "float32"},
        inputs=0,
        elementwise=False,
    )


def test_a_restarted_member_gets_all_operators(pool):
    pool.define("double", "o = x * 1")
    with pool.transaction() as change:
        for i in range(149):
            change.define(f"of_{i}", f"o = x * {i}")
    pool.replace("double", "o = x * 2")
    before = pids(pool)
    os.kill(before[0], signal.SIGKILL)
    assert answer(pool) == [2.0] * 16
    assert answer(pool, "of_148") == [148.0] * 16
    after = pids(pool)
    assert after[0] != before[0]
    assert after[1] == before[1]
    version = pool.replace("double", "o = x * 3")
    assert answer(pool) == [3.0] * 16
    assert [each["version"] for each in pool.stats()] == [version] * 2


def test_a_member_with_a_dead_runtime_restarts(pool, tmp_path):
    pool.define("double", "o = x * 2")
    define_long(pool)
    before = pids(pool)
    call = ray_support.in_member(pool, 0, sleeps, 60.0, tmp_path)
    after = [ray_support.in_member(pool, 0, number) for _ in range(3)]
    with pytest.raises(gpuos.TaskError, match="member 0 of pool") as caught:
        ray.get(call, timeout=WAIT_S)
    assert "long_one" in str(caught.value)
    assert len([*tmp_path.iterdir()]) == 1  # it was not run again
    assert ray.get(after, timeout=WAIT_S) == [3] * 3
    assert answer(pool) == [2.0] * 16
    after = pids(pool)
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_an_idle_member_with_a_dead_runtime_restarts(pool):
    define_long(pool)
    before = pids(pool)
    with pytest.raises(gpuos.TaskError):
        ray.get(ray_support.in_member(pool, 0, sleeps, 60.0), timeout=WAIT_S)
    ray_support.until(lambda: pids(pool)[0] != before[0])


def test_a_call_that_kills_its_member_each_time_is_an_error(pool):
    pool.define("double", "o = x * 2")
    pool.define("crashes", source=CRASHES, inputs=0, elementwise=False)

    def crash(rt, _):
        rt.submit("crashes", out=rt.empty(1)).wait(WAIT_S)

    with pytest.raises(gpuos.Error, match="an actor is dead"):
        pool.map(crash, gr.shard(ONES, 1)).gather(WAIT_S)
    assert answer(pool) == [2.0] * 16


def waits_long(rt):
    ticket = rt.submit("long_one", out=rt.empty(1), seconds=WAIT_S / 2)
    rt.wait(ticket)


@pytest.mark.usefixtures("cluster")
def test_an_operator_that_is_waited_for_can_be_taken_back():
    with gr.Pool(1, num_cpus=0, options={"watchdog_s": WAIT_S}) as pool:
        define_long(pool)
        call = ray_support.in_member(pool, 0, waits_long)
        time.sleep(0.3)
        ray.cancel(call)
        with pytest.raises(gpuos.Cancelled):
            gr.Sharded([call]).gather(WAIT_S / 4)
        # The member is free for the next call, and the task runs on.
        numbers = ray_support.in_member(pool, 0, number)
        assert ray.get(numbers, timeout=WAIT_S / 4) == 3


def test_a_log_that_died_ends_the_pool_with_errors(pool):
    pool.define("double", "o = x * 2")
    ray.kill(pool._log)
    with pytest.raises(gpuos.Error, match="dead"):
        pool.replace("double", "o = x * 3")
    assert answer(pool) == [2.0] * 16


def test_a_dropped_pool_ends_after_its_work(cluster, monkeypatch):
    monkeypatch.setattr("gpuos.ray.latest.FOLLOW_S", 0.1)
    made = gr.Pool(1, num_cpus=0)

    def slow(_, x):
        time.sleep(1)
        return x * 2

    y = made.map(slow, gr.shard(ONES, 3))
    del made
    assert y.gather(WAIT_S).tolist() == [2.0] * 16
    ray_support.until(lambda: cluster.util.list_named_actors() == [])


OPTIONS = {
    "unknown": ({"nope": 1}, TypeError, "no option 'nope'"),
    "wrong": ({"workers": -1}, gpuos.InvalidArgument, "member . of pool"),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_options_that_a_runtime_refuses_are_its_errors(cluster, what):
    options, kind, text = OPTIONS[what]
    with pytest.raises(kind, match=text):
        gr.Pool(2, num_cpus=0, options=options)
    assert cluster.util.list_named_actors() == []


WITHOUT = """
import sys
import gpuos.ray
assert "ray" not in sys.modules
sys.modules["ray"] = None
for call in (lambda: gpuos.ray.Pool(1), lambda: gpuos.ray.shard([1]),
             lambda: gpuos.ray.join("a")):
    try:
        call()
    except gpuos.BackendUnavailable as error:
        assert "pip install cloudpickle ray" in str(error), error
    else:
        raise AssertionError("expected an error")
"""


def test_without_ray_the_error_says_what_to_install(printed_by):
    printed_by(WITHOUT)
