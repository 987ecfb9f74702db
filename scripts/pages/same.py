"""Run seeded PyTorch programs many times and compare every bit.

    scripts/figures same [--runs 100] [--device cpu|cuda] [--steps 60]
                         [--jobs 1] [--default] [--only NAME...]

Each run is a separate process under `scheduler(deterministic=True)`. Runs
differ in workers (1, 2, 4), `auto_flush_ms`, a busy thread, the moment of
compilation and the compiler's time. The script prints the first result that
differs from the first run, with its operator. `--jobs` is the number of
simultaneous runs. `--default` omits `deterministic=True`, so results may
differ.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

WORKERS = (1, 2, 4)
FLUSH_MS = (0.2, 2.0, 50.0)
COMPILE_AFTER = (2, 5, 20, 0)  # calls of a program, or 0 for never
LIMIT_S = 600
PROGRAMS: dict[str, Any] = {}


def program(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


# ---- Programs. Each calls `note(operator, result)` for compared results.


@program
def rows(torch: Any, note: Any, device: str, steps: int) -> None:
    x = torch.randn(32, 200, device=device)
    for _ in range(steps):
        mean = note("mean", x.mean(1, keepdim=True))
        x = x + 0.01 * (note("softmax", x.softmax(1)) - mean)
        square = (x * x).mean(-1, keepdim=True)
        x = note("rsqrt", x * torch.rsqrt(square + 1e-5))


@program
def sums(torch: Any, note: Any, device: str, steps: int) -> None:
    x, w = (torch.randn(64, 64, device=device) for _ in range(2))
    for _ in range(steps):
        x = note("tanh", torch.tanh(x @ w))
        y = note("sum", (x.exp() * 1.1 + 0.5).sum(1))
        z = note("sort", y.sort().values)
        x = note("add", x + (z[:, None] / 300 - 1) * 0.01)


@program
def half_rows(torch: Any, note: Any, device: str, steps: int) -> None:
    x = torch.randn(16, 96, device=device).to(torch.bfloat16)
    for _ in range(steps):
        x = note("mul", x * 0.99 + note("softmax", x.softmax(-1)))
        x = note("sub", x - x.mean(-1, keepdim=True))
        note("norm", x.float().norm(dim=1))


@program
def double_rows(torch: Any, note: Any, device: str, steps: int) -> None:
    x = torch.randn(8, 100, device=device, dtype=torch.float64)
    for _ in range(steps):
        x = note("sub", x - 0.01 * x.logsumexp(1, keepdim=True))
        x = note("div", x / x.std(1, keepdim=True))


@program
def layer_norms(torch: Any, note: Any, device: str, steps: int) -> None:
    x = torch.randn(4, 64, device=device)
    for _ in range(steps):
        y = note("layer_norm", torch.nn.functional.layer_norm(x, (64,)))
        x = note("relu", torch.relu(y + 0.1 * x) - 0.3)
        note("sum", x.sum())


@program
def attention(torch: Any, note: Any, device: str, steps: int) -> None:
    q = torch.randn(4, 1, 32, device=device)
    k, v = torch.randn(2, 4, 24, 32, device=device)
    for _ in range(steps):
        scores = note("sum", (q * k).sum(-1) * 0.18)
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = note("div", weights / weights.sum(-1, keepdim=True))
        mixed = (weights.unsqueeze(-1) * v).sum(-2, keepdim=True)
        q = note("add", 0.9 * q + mixed)


@program
def cart_pole(torch: Any, note: Any, device: str, steps: int) -> None:
    x, speed, angle, turning = torch.rand(4, 256, device=device) * 0.1
    for _ in range(steps):
        push = torch.where(angle > 0, 10.0, -10.0)
        c, s = torch.cos(angle), torch.sin(angle)
        swing = (push + 0.05 * turning * turning * s) / 1.1
        turn = (9.8 * s - c * swing) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        pull = note("pull", swing - 0.05 * turn * c / 1.1)
        x, speed = x + 0.02 * speed, speed + 0.02 * pull
        angle = angle + 0.02 * turning
        turning = note("turning", turning + 0.02 * turn)
        is_over = (x.abs() > 2.4) | (angle.abs() > 0.21)
        angle = note("where", torch.where(is_over, 0.01, angle))


def _perceptron(torch: Any, device: str, dtype: Any) -> Any:
    nn = torch.nn
    layers = [nn.Linear(16, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 4)]
    return nn.Sequential(*layers).to(device, dtype)


def _train(
    torch: Any, note: Any, device: str, steps: int, dtype: Any, kind: str
) -> None:
    model = _perceptron(torch, device, dtype)
    made = getattr(torch.optim, kind)(model.parameters(), lr=1e-2)
    x = torch.randn(64, 16, device=device, dtype=dtype)
    labels = torch.randint(4, (64,), device=device)
    for _ in range(steps):
        made.zero_grad()
        out = model(x)
        loss = torch.nn.functional.cross_entropy(out.float(), labels)
        loss.backward()
        for name, parameter in model.named_parameters():
            note(f"gradient of {name}", parameter.grad.clone())
        made.step()
        note("loss", loss.detach())
        note("weights", model[0].weight.detach().clone())


@program
def training(torch: Any, note: Any, device: str, steps: int) -> None:
    _train(torch, note, device, steps, torch.float32, "AdamW")


@program
def half_training(torch: Any, note: Any, device: str, steps: int) -> None:
    _train(torch, note, device, steps, torch.bfloat16, "SGD")


@program
def policy_gradient(torch: Any, note: Any, device: str, steps: int) -> None:
    model = _perceptron(torch, device, torch.float32)
    made = torch.optim.Adam(model.parameters(), 1e-2)
    state = torch.randn(32, 16, device=device)
    for _ in range(steps):
        chances = note("log_softmax", model(state).log_softmax(1))
        choice = note("argmax", chances.argmax(1))
        reward = note("mean", torch.sin(state).mean(1))
        reward = (reward - reward.mean()) / (reward.std() + 1e-6)
        loss = -(chances.gather(1, choice[:, None])[:, 0] * reward).sum()
        made.zero_grad()
        loss.backward()
        made.step()
        state = note("state", state * 0.98 + 0.02 * choice[:, None])


# ---- One run in a separate process.


def run_once(
    options: argparse.Namespace, choice: dict[str, Any], folder: str, site: str
) -> dict[str, list[tuple[str, str]]]:
    """Return the digests of every program's noted results."""
    cache = Path(tempfile.mkdtemp(prefix="cache-", dir=folder))
    compiler = cache / "c++"
    compiler.write_text(
        f'#!/bin/sh\nsleep {choice["compiler_s"]}\nexec {options.cxx} "$@"\n'
    )
    compiler.chmod(0o755)
    os.environ |= {
        "GPUOS_WORKERS": str(choice["workers"]),
        # The cache has no code of an earlier run.
        "GPUOS_CACHE_DIR": str(cache),
        "CXX": str(compiler),
    }
    sys.path.insert(0, site)

    import torch  # noqa: PLC0415 (only in children)

    import gpuos  # noqa: PLC0415
    import gpuos.torch  # noqa: PLC0415

    torch.set_num_threads(1)
    original = gpuos.Runtime

    def runtime(*arguments: Any, **named: Any) -> gpuos.Runtime:
        named["compile_programs_after"] = choice["compile_after"]
        return original(*arguments, **named)

    gpuos.Runtime = runtime  # type: ignore[assignment,misc]
    if choice["busy"]:
        # Threads switch 50 times as often as by default. A training step needs
        # the interpreter a hundred times.
        sys.setswitchinterval(1e-4)
        threading.Thread(target=_spin, daemon=True).start()
    return {
        name: _digests(torch, gpuos.torch, PROGRAMS[name], options, choice)
        for name in options.only
    }


def _spin() -> None:
    while True:
        pass


def _digests(
    torch: Any, gt: Any, program: Any, options: Any, choice: dict[str, Any]
) -> list[tuple[str, str]]:
    torch.manual_seed(1)
    noted: list[tuple[str, Any]] = []

    def note(operator: str, result: Any) -> Any:
        noted.append((operator, result))
        return result

    with gt.scheduler(
        auto_flush_ms=choice["flush_ms"], deterministic=not options.default
    ):
        program(torch, note, options.device, options.steps)
    return [(name, _digest(torch, result)) for name, result in noted]


def _digest(torch: Any, result: Any) -> str:
    data = result.detach().cpu().contiguous().flatten().view(torch.uint8)
    return hashlib.sha256(data.numpy().tobytes()).hexdigest()[:16]


# ---- All runs.


def choose(index: int) -> dict[str, Any]:
    """Return the settings of run `index`."""
    dice = random.Random(index)
    return {
        "workers": WORKERS[index % len(WORKERS)],
        "flush_ms": dice.choice(FLUSH_MS),
        "compile_after": COMPILE_AFTER[index % len(COMPILE_AFTER)],
        "compiler_s": dice.choice((0.0, 0.3, 1.5)),
        "busy": dice.random() < 0.5,
    }


def run_child(
    options: argparse.Namespace, folder: str, site: str, choice: dict[str, Any]
) -> dict[str, list[tuple[str, str]]]:
    """Return the digests of one run in a separate process."""
    spawn = multiprocessing.get_context("spawn")
    # The alarm ends a process that hangs or has lost its parent.
    alarm = {"initializer": signal.alarm, "initargs": (LIMIT_S,)}
    with ProcessPoolExecutor(1, spawn, **alarm) as pool:
        return pool.submit(run_once, options, choice, folder, site).result()


def make_site(folder: Path) -> str:
    """Return a folder with a bridge, for runs with separate caches.

    The bridge has a different compiler than the runs. This is harmless here.
    """
    import gpuos  # noqa: PLC0415 (as in run_once)
    from gpuos import choosing  # noqa: PLC0415
    from gpuos.torch import building  # noqa: PLC0415

    package = folder / "site" / choosing.PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / f"{choosing.name()}.so").symlink_to(building.build())
    info = package.parent / f"gpuos_runtime_torch-{gpuos.__version__}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Name: {choosing.DISTRIBUTION}\n"
        f"Requires-Dist: gpuos-runtime=={gpuos.__version__}\n"
    )
    (info / "RECORD").write_text(f"{package.name}/{choosing.name()}.so,,\n")
    return str(package.parent)


def first_difference(
    expected: dict[str, list[tuple[str, str]]],
    came: dict[str, list[tuple[str, str]]],
) -> str | None:
    """Return the first difference of two runs, or None."""
    for name, notes in expected.items():
        for index, (one, other) in enumerate(
            zip(notes, came[name], strict=True)
        ):
            if one != other:
                return f"{name}: result {index}, of {one[0]}"
    return None


def parser_of() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--runs", type=int, default=100)
    add("--device", default="cpu", choices=["cpu", "cuda"])
    add("--steps", type=int, default=60)
    add("--jobs", type=int, default=1)
    add("--default", action="store_true")
    names = list(PROGRAMS)
    add("--only", nargs="+", default=names, choices=names, metavar="NAME")
    cxx = os.environ.get("CXX", "c++")
    add("--cxx", default=cxx, help=argparse.SUPPRESS)
    return parser


def main(arguments: list[str]) -> int:
    """Run all programs. Return 1 if runs differ, else 0."""
    options = parser_of().parse_args(arguments)
    differ = 0
    expected = None
    choices = [choose(index) for index in range(options.runs)]
    with tempfile.TemporaryDirectory(prefix="gpuos-same-") as name:
        run = partial(run_child, options, name, make_site(Path(name)))
        pool = ThreadPoolExecutor(options.jobs)
        try:
            for index, came in enumerate(pool.map(run, choices)):
                expected = expected or came
                found = first_difference(expected, came)
                differ += found is not None
                text = f"run {index} {choices[index]}: {found or 'the same'}\n"
                sys.stdout.write(text)
                sys.stdout.flush()
        finally:
            # After a failed run or Ctrl-C the other runs do not begin.
            pool.shutdown(cancel_futures=True)
    sys.stdout.write(f"{differ} of {options.runs} runs differ from the first\n")
    return min(differ, 1)
