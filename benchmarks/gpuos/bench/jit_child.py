"""The measurements of `bench jit` in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import gpuos
from gpuos.bench.jit_sources import new_small_kernel, small_kernel
from gpuos.bench.row import median
from gpuos.bench.timing import MILLI, seconds

LIMIT_S = 60.0
MAIN = "from gpuos.bench import jit_child; jit_child.main()"


def median_ms(
    compile_one: Callable[[str], object], make: Callable[[], str], reps: int
) -> float:
    """Return the median time to compile a new source of `make`."""
    compile_one(make())
    sources = (make() for _ in range(reps))
    return MILLI * median([seconds(partial(compile_one, s)) for s in sources])


def keep(token: str, device: int, reps: int) -> list[float]:
    """Put the sources of read() into the disk cache."""
    for name in [token, *(f"{token}_{i}" for i in range(reps))]:
        gpuos.JitModule(small_kernel(name), device=device)
    return []


def read(token: str, device: int, number: int) -> list[float]:
    """Return the time of one hit, after another hit has opened NVRTC."""
    gpuos.JitModule(small_kernel(token), device=device)
    source = small_kernel(f"{token}_{number}")
    return [MILLI * seconds(lambda: gpuos.JitModule(source, device=device))]


def cold(_token: str, device: int, reps: int) -> list[float]:
    """Return the median time of new sources."""
    return [
        median_ms(
            lambda text: gpuos.JitModule(text, device=device),
            new_small_kernel,
            reps,
        )
    ]


def run_child(
    what: str, token: str, device: int, number: int, **environment: str
) -> list[float]:
    """Run keep(), read() or cold() with these environment variables."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, what, token, str(device), str(number)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        message = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(f"{what}: {message[-1]}")
    times: list[float] = json.loads(done.stdout)
    return times


def main() -> None:
    """Print the times as JSON."""
    what, token, device, number = sys.argv[1:]
    functions = {"keep": keep, "read": read, "cold": cold}
    times = functions[what](token, int(device), int(number))
    sys.stdout.write(json.dumps(times))
