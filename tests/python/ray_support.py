"""Helpers of the tests of gpuos.ray: a small Ray, and steps that may be torn.

    python tests/python/ray_support.py [STEPS]

counts torn steps, of 20,000 with three callers while members are killed.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from deadlines import COMPILE_S, WAIT_S
from program_support import python_path

import gpuos.ray
from gpuos.ray import computing, versions

if TYPE_CHECKING:
    from collections.abc import Callable

STORE_BYTES = 200_000_000


# Arguments of a Pool of two whose members compute with that backend: one GPU is
# enough.
ON: dict[str, dict[str, Any]] = {"host": {}, "cuda": {"num_gpus": 0.5}}


def start(num_gpus: int | None = None) -> Any:
    """Start Ray with two processors, and return the module.

    Skips the test with Ray's reason if Ray cannot start.

    Parameters
    ----------
    num_gpus : int or None
        The GPUs that Ray may assign; None: all of the machine.
    """
    import ray  # noqa: PLC0415

    # Actors find the functions of tests by their names.
    here = Path(__file__).parent
    os.environ["PYTHONPATH"] = python_path(here / "processes", here)
    try:
        ray.init(
            num_cpus=2,
            num_gpus=num_gpus,
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            logging_level="error",
            log_to_driver=False,
        )
    except Exception as error:  # noqa: BLE001 (any of Ray's own)
        pytest.skip(f"Ray does not begin here: {error}")
    return ray


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition on another process holds."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)


def in_member(pool: gpuos.ray.Pool, member: int, f: Any, *args: Any) -> Any:
    """Return the ObjectRef of `f(rt, *args)` in that member."""
    run = pool._members[member].run
    return run.remote(pool.version, computing.packed(f), {}, *args)


def refuse(rt: Any, name: str) -> None:
    """Have this process not compile a pool's operator of that name."""
    with pytest.raises(gpuos.CompileError) as caught:
        rt.define(name, source=f"GPUOS_OPERATOR({name}) {{ nonsense; }}")
    whole = versions.Versions._change

    def change(self: Any, version: int, change: Any, born: Any) -> None:
        if change.definition.name == name:
            again = pickle.dumps(caught.value)  # each is raised once
            raise pickle.loads(again)
        whole(self, version, change, born)

    versions.Versions._change = change  # type: ignore[method-assign]


def twice(rt: Any, x: Any) -> tuple[float, float]:
    """Run `step` two times, so that a member can be torn within itself."""
    found = []
    for _ in range(2):
        out = rt.empty(x.shape)
        rt.submit("step", x, out=out).wait(WAIT_S)
        found.append(float(out.numpy()[0]))
        time.sleep(0)  # other threads of the member have their turn
    return found[0], found[1]


class Caller:
    """An actor that maps and replaces, and records its results."""

    def __init__(self, number: int, pool: gpuos.ray.Pool) -> None:
        self.number, self.pool = number, pool

    def steps(self, count: int, every: int) -> tuple[Any, Any]:
        """Return (version before, version, values) of each step, and which
        value each version has."""
        x = gpuos.ray.shard(np.zeros(2 * 16, "float32"), 2)
        seen, made, pending = [], {}, []
        for i in range(count):
            if i % every == every - 1:
                value = self.number * 100_000 + i
                version = self.pool.replace("step", f"o = x * 0 + {value}")
                made[version] = value
            before = self.pool.version
            pending.append((before, self.pool.map(twice, x)))
            while len(pending) > 2 or (pending and i == count - 1):
                before, y = pending.pop(0)
                values = [v for part in y.parts(WAIT_S) for v in part]
                seen.append((before, y.version, values))
        return seen, made


def count_torn(
    ray: Any,
    pool: gpuos.ray.Pool,
    *,
    steps: int,
    callers: int = 3,
    every: int = 10,
    kill_every: int = 20,
) -> dict[str, float]:
    """Return how many steps were torn, or of another version than they said.

    A member is killed each time that there are `kill_every` more versions.
    """
    made = {pool.define("step", "o = x * 0 - 1") and pool.version: -1}
    kind = ray.remote(num_cpus=0)(Caller)
    actors = [kind.remote(i + 1, pool) for i in range(callers)]
    begin = time.monotonic()
    done, kills = threading.Event(), [0]
    killer = threading.Thread(
        target=_kill, args=(pool, kill_every, done, kills), daemon=True
    )
    killer.start()
    try:
        calls = [a.steps.remote(steps // callers, every) for a in actors]
        answers = ray.get(calls, timeout=max(COMPILE_S, steps / 10))
    finally:
        done.set()
        killer.join(WAIT_S)
    seconds = time.monotonic() - begin
    for _, more in answers:
        made |= more
    seen = [step for found, _ in answers for step in found]
    return {
        "steps": len(seen),
        "versions": len(made),
        "kills": kills[0],
        "seconds": round(seconds, 1),
        "torn": sum(len({*values}) > 1 for _, _, values in seen),
        "other": sum(
            version < before or any(v != made[version] for v in values)
            for before, version, values in seen
        ),
    }


def _kill(
    pool: gpuos.ray.Pool,
    every: int,
    done: threading.Event,
    kills: list[int],
) -> None:
    turn = random.Random(5)
    while not done.is_set():
        try:
            # Kills are spaced by versions, not by time, after all members exist. On
            # a busy machine, members that die before they compute would use up
            # the retries of a call.
            pids = [member["pid"] for member in pool.stats()]
            end = pool.version + every
            while pool.version < end:
                if done.wait(0.01):
                    return
            os.kill(turn.choice(pids), signal.SIGKILL)
        except (gpuos.Error, ProcessLookupError):
            continue
        kills[0] += 1


def main() -> int:
    """Count over as many steps as the command line says: 20,000."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    ray = start()
    try:
        with gpuos.ray.Pool(2, threads=2) as pool:
            counts = count_torn(ray, pool, steps=steps)
    finally:
        ray.shutdown()
    print(counts)
    return int(counts["torn"] > 0 or counts["other"] > 0)


if __name__ == "__main__":
    sys.exit(main())
