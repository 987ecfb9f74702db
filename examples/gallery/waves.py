"""Waves in a tank, behind a wall with two gaps.

    python examples/gallery/waves.py [waves.png]

A step is five views of one array, written as in NumPy, and runs as one task.
Steps that follow each other wait in the queue; the program does not.
"""

import sys
import time

import numpy as np
from picture import WATER, save

import gpuos

ROWS, COLUMNS = 240, 400
WALL, GAPS = 120, (92, 148)  # a column, and the middles of rows
STEPS = 900
PERIOD = 22.0  # steps


@gpuos.fuse
def step(now, before, speed, source, push):
    """Return the next heights; `speed` is 0 where nothing moves."""
    middle = now[1:-1, 1:-1]
    around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    following = 2 * middle - before[1:-1, 1:-1]
    following = following + speed * (around - 4 * middle)
    return np.where(source, push, np.where(speed > 0, following, 0))


def tank():
    """Return the squared speed and where the source is, without the edges."""
    speed = np.full((ROWS - 2, COLUMNS - 2), 0.25, np.float32)
    speed[:, WALL : WALL + 4] = 0
    for gap in GAPS:
        speed[gap - 8 : gap + 8, WALL : WALL + 4] = 0.25
    source = np.zeros(speed.shape, bool)
    source[:, 4] = True
    return speed, source


def main(path="waves.png"):
    speed, source = tank()
    with gpuos.Runtime() as rt:
        speed_there, source_there = rt.array(speed), rt.array(source)
        before, now, following = (rt.zeros((ROWS, COLUMNS)) for _ in range(3))
        begin = time.perf_counter()
        for number in range(STEPS):
            push = np.float32(np.sin(2 * np.pi * number / PERIOD))
            inner = following[1:-1, 1:-1]
            step(now, before, speed_there, source_there, push, out=inner)
            before, now, following = now, following, before
        heights = now.numpy()  # waits for the last step
        seconds = time.perf_counter() - begin
        print(f"{STEPS} steps on {rt.backend}: {seconds:.2f} s")
    heights[1:-1, 1:-1][speed == 0] = -9
    save(path, 0.5 + 0.5 * np.tanh(2 * heights), WATER)


if __name__ == "__main__":
    main(*sys.argv[1:])
