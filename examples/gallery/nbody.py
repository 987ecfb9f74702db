"""Two galaxies that meet: each of 400 bodies pulls at all others.

    python examples/gallery/nbody.py [nbody.png]

A step is a sum over a table of 400 by 400 that is never in memory. Every fifth
step is drawn, brighter the later it is.
"""

import sys
import time

import numpy as np
from picture import NIGHT, save

import gpuos

BODIES, STEPS, DT = 400, 500, 0.02
HEAVY = 20.0  # of the two cores; all others have 0.01
SOFT = 0.5  # nearer than this two bodies no longer pull harder
ROWS, COLUMNS, SCALE = 300, 400, 14.0


@gpuos.fuse
def step(x, y, vx, vy, mass, dt):
    """Return places and speeds a little later."""
    dx, dy = x - x[:, None], y - y[:, None]
    square = dx * dx + dy * dy + SOFT * SOFT
    pull = mass / (square * np.sqrt(square))
    vx = vx + dt * (pull * dx).sum(axis=1)
    vy = vy + dt * (pull * dy).sum(axis=1)
    return x + dt * vx, y + dt * vy, vx, vy


def galaxies():
    """Return x, y, vx, vy and the masses: two discs, each around its core."""
    random = np.random.default_rng(4)
    half = BODIES // 2
    parts = []
    for side in (-1.0, 1.0):
        radius = np.sqrt(random.uniform(1.0, 9.0, half))
        angle = random.uniform(0, 2 * np.pi, half)
        radius[0] = 0
        orbit = np.sqrt(HEAVY * radius**2 / (radius**2 + SOFT**2) ** 1.5)
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        vx, vy = -orbit * np.sin(angle), orbit * np.cos(angle)
        mass = np.where(np.arange(half) == 0, HEAVY, 0.01)
        parts += [(x + side * 5, y + side * 2.5, vx - side * 1.1, vy, mass)]
    return [np.concatenate(pair) for pair in zip(*parts, strict=True)]


def main(path="nbody.png"):
    picture = np.zeros((ROWS, COLUMNS))
    with gpuos.Runtime() as rt:
        *state, mass = (rt.array(part) for part in galaxies())
        begin = time.perf_counter()
        for number in range(STEPS):
            state = step(*state, mass, DT)
            if number % 5 == 4:
                draw(picture, *(part.numpy() for part in state[:2]))
        seconds = time.perf_counter() - begin
        print(f"{STEPS} steps on {rt.backend}: {seconds:.2f} s")
    save(path, picture, NIGHT)


def draw(picture, x, y):
    """Let what was drawn fade, and add the bodies."""
    picture *= 0.93
    row = np.rint(ROWS / 2 - y * SCALE).astype(int)
    column = np.rint(COLUMNS / 2 + x * SCALE).astype(int)
    seen = (row >= 0) & (row < ROWS) & (column >= 0) & (column < COLUMNS)
    picture[row[seen], column[seen]] = 1


if __name__ == "__main__":
    main(*sys.argv[1:])
