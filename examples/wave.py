"""A string that swings in the terminal, while its formula is replaced.

    python examples/wave.py

The program prints commands below the picture. Type one in another terminal: a
formula that loses energy, one of another medium, or your own. Each point has

    o = 2 * u - before + c * (left - 2 * u + right)

as its next height. It uses its height `u`, the previous one and those of its
neighbours. Each step runs one formula or the other, without a stop between.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import gpuos

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

FORMULA = "o = 2 * u - before + c * (left - 2 * u + right)"
OTHERS = (
    "o = 1.99 * u - 0.99 * before + c * (left - 2 * u + right)",
    "o = 2 * u - before + c * (left - 2 * u + right) - 0.01 * sin(9 * u)",
)
POINTS = 200
C = 0.25  # (speed * step / distance)^2: at most 1, or it blows up
STEPS = 8  # a frame
FRAME_S = 0.04
ROWS = 11
CLEAR, HOME, REST = "\x1b[2J", "\x1b[H", "\x1b[K\n"
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class String:
    """Three arrays in turns: the heights before, now and next."""

    def __init__(self, rt: gpuos.Runtime) -> None:
        self.op = rt.define("wave", FORMULA, params={"c": "float32"})
        self.steps = 0
        self._rt = rt
        self._heights = [rt.zeros(POINTS + 2) for _ in range(3)]
        self.pluck()

    def pluck(self) -> None:
        """Let it go from rest."""
        x = np.linspace(0, 1, POINTS + 2, dtype=np.float32)
        height = np.exp(-(((x - 0.3) / 0.05) ** 2)).astype(np.float32)
        height[[0, -1]] = 0
        for heights in self._heights[:2]:
            heights.copy_from(height)

    def step(self) -> None:
        """Compute the next heights; both ends stay where they are."""
        before, now, following = self._heights
        self._rt.submit(
            self.op,
            u=now[1:-1],
            before=before[1:-1],
            left=now[:-2],
            right=now[2:],
            out=following[1:-1],
            c=C,
        )
        self._heights = [now, following, before]
        self.steps += 1

    def heights(self) -> Any:
        """Return those of now."""
        return self._heights[1].numpy()


def check() -> None:
    """Compare some steps with NumPy's."""
    with gpuos.Runtime() as rt:
        string = String(rt)
        before = now = string.heights()
        for _ in range(100):
            string.step()
            following = np.zeros_like(now)
            following[1:-1] = (
                2 * now[1:-1]
                - before[1:-1]
                + np.float32(C) * (now[:-2] - 2 * now[1:-1] + now[2:])
            )
            before, now = now, following
        np.testing.assert_allclose(string.heights(), now, atol=1e-4)


def picture(heights: Any, columns: int) -> list[str]:
    """Return the rows of a picture of heights from -1 to 1."""
    at = np.linspace(0, len(heights) - 1, columns).astype(int)
    tops = np.clip(np.nan_to_num(heights[at]), -1, 1)
    rows = np.rint((1 - tops) * (ROWS - 1) / 2).astype(int)
    return [
        "".join("o" if row == here else " " for here in rows).rstrip()
        for row in range(ROWS)
    ]


class Screen:
    """Frames on a terminal; elsewhere only the last one."""

    def __init__(self, path: Path) -> None:
        self.message = ""
        self._is_terminal = sys.stdout.isatty()
        self._command = f"python -m gpuos ctl {shlex.quote(str(path))}"

    def __enter__(self) -> Self:
        if self._is_terminal:
            sys.stdout.write(HIDE + CLEAR)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._is_terminal:
            sys.stdout.write(SHOW)

    def draw(self, string: String, *, is_last: bool = False) -> None:
        """Draw a frame."""
        if not (self._is_terminal or is_last):
            return
        columns = min(shutil.get_terminal_size().columns, 100)
        lines = [
            *picture(string.heights(), columns),
            f"step {string.steps:,}   {string.op.expression}",
            self.message,
            "In another terminal, for example:",
            *(f'{self._command} replace wave -e "{one}"' for one in OTHERS),
            f"{self._command} rollback wave",
        ]
        if self._is_terminal:
            sys.stdout.write(HOME + REST.join(lines) + "\x1b[J")
        else:
            sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def run(string: String, screen: Screen, seconds: float) -> None:
    """Let the string swing until the time is over or the user presses Ctrl-C."""
    end = time.monotonic() + seconds
    following = time.monotonic()
    while time.monotonic() < end:
        for _ in range(STEPS):
            string.step()
        if not np.isfinite(string.heights()).all():
            screen.message = "It blew up, and was plucked again."
            string.pluck()
        screen.draw(string)
        following += FRAME_S
        time.sleep(max(0.0, following - time.monotonic()))


def default_path() -> Path:
    """Return where this user's demo takes commands."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base, f"gpuos-wave-{os.getuid()}", "control")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="A string that swings while its formula is replaced."
    )
    add = parser.add_argument
    add("--control", type=Path, default=default_path(), metavar="PATH")
    add("--watch", type=Path, metavar="FILE", help="a formula to watch, too")
    add("--seconds", type=float, default=float("inf"), metavar="S")
    options = parser.parse_args()
    check()
    with contextlib.ExitStack() as stack:
        rt = stack.enter_context(gpuos.Runtime())
        string = String(rt)
        server = stack.enter_context(gpuos.serve(options.control, runtime=rt))
        screen = stack.enter_context(Screen(server.path))

        def show(error: Exception) -> None:
            screen.message = str(error).split("\n", 1)[0]

        if options.watch:
            stack.enter_context(
                rt.watch(string.op, options.watch, on_error=show)
            )
        with contextlib.suppress(KeyboardInterrupt):
            run(string, screen, options.seconds)
        screen.draw(string, is_last=True)
    print(f"\n{string.steps:,} steps, the first as NumPy's")


if __name__ == "__main__":
    main()
