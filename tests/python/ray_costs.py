"""Measure the costs of Ray pools: the table of docs/ray.md.

python tests/python/ray_costs.py [NUM_GPUS]

NUM_GPUS is passed to Pool; without it members are on the host.
"""

from __future__ import annotations

import collections
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import ray_support
from deadlines import WAIT_S

import gpuos.ray

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = np.ones(16, "float32")


class Plain:
    """An actor with nothing of gpuos."""

    def call(self, f: Any, x: Any) -> Any:
        return f(x) if f else x

    def pid(self) -> int:
        return os.getpid()


def times(call: Callable[[], object], count: int = 300) -> list[float]:
    found = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        found.append((time.perf_counter() - begin) * 1e3)
    return sorted(found)


def say(what: str, found: list[float], parts: int = 1) -> None:
    middle, late = found[len(found) // 2], found[int(len(found) * 0.99)]
    print(f"{what:48} {middle / parts:7.2f} {late / parts:7.2f} ms", flush=True)


def calls(ray: Any, pool: gpuos.ray.Pool) -> None:
    plain = ray.remote(num_cpus=0)(Plain).remote()
    say("bare Ray call", times(lambda: ray.get(plain.call.remote(None, SMALL))))
    say("submit", times(lambda: ray.get(pool.submit("step", SMALL))))
    count = iter(range(10_000))

    def replace() -> None:
        pool.replace("step", f"o = x * {next(count)}")

    say("replace, idle", times(replace))
    x, steps = gpuos.ray.shard(SMALL, 2), collections.deque[Any]()
    found = []
    for i in range(1500):
        if i % 10 == 9:
            found += times(replace, 1)
        steps.append(pool.map("step", x))
        if len(steps) > 4:
            steps.popleft().parts(WAIT_S)
    say("replace, every 10 of steps, 4 in flight", sorted(found))
    begin = time.perf_counter()
    for _ in range(500):
        pool.map("step", x).parts(WAIT_S)
    say("a step of 2 parts", [(time.perf_counter() - begin) * 2])
    ray.kill(plain)


def deaths(ray: Any, pool: gpuos.ray.Pool) -> None:
    again = {"max_restarts": -1, "max_task_retries": -1, "num_cpus": 0}
    plain = ray.remote(**again)(Plain).remote()

    def die_bare() -> None:
        os.kill(ray.get(plain.pid.remote()), signal.SIGKILL)
        ray.get(plain.call.remote(None, SMALL), timeout=WAIT_S)

    say("SIGKILL to answer, an actor of bare Ray", times(die_bare, 9))
    ray.kill(plain)
    with pool.transaction() as change:
        for i in range(149):
            change.define(f"of_{i}", f"o = x * {i}")
    x = gpuos.ray.shard(SMALL, 2)

    def die() -> None:
        os.kill(pool.stats()[0]["pid"], signal.SIGKILL)
        pool.map("step", x).parts(WAIT_S)

    say("SIGKILL to answer, 150 definitions", times(die, 9))


def smooth(x: Any) -> Any:
    return np.sqrt(x * x + 1) * 0.5


def maps(ray: Any, pool: gpuos.ray.Pool) -> None:
    pool.define("smooth", "o = sqrt(x * x + 1) * 0.5")
    whole = np.random.default_rng(1).random((32, 1 << 20), dtype="float32")
    x = gpuos.ray.shard(whole, 32)
    plain = [ray.remote(num_cpus=0)(Plain).remote() for _ in range(2)]
    fused = gpuos.fuse(smooth)
    ways = {
        "map of 32 x 4 MiB, a part: NumPy in Ray": lambda: [
            plain[i % 2].call.remote(smooth, ref) for i, ref in enumerate(x)
        ],
        "the same, fused": lambda: pool.map(fused, x),
        "the same, operator": lambda: pool.map("smooth", x),
        "the same, NumPy in a function": lambda: pool.map(
            lambda _, x: smooth(x), x
        ),
    }
    found = collections.defaultdict(list)
    for turn in range(14):
        for name, begin in ways.items():
            taken = times(lambda b=begin: ray.get([*b()], timeout=WAIT_S), 1)
            found[name] += taken if turn > 1 else []
            time.sleep(0.3)  # Ray frees the results
    for name, taken in found.items():
        say(name, sorted(taken), 32)


def main() -> None:
    num_gpus = float(sys.argv[1]) if len(sys.argv) > 1 else 0
    ray = ray_support.start()
    try:
        with gpuos.ray.Pool(2, num_gpus=num_gpus) as pool:
            pool.define("step", "o = x * 2")
            calls(ray, pool)
            deaths(ray, pool)
        with gpuos.ray.Pool(2, num_gpus=num_gpus) as pool:
            maps(ray, pool)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
