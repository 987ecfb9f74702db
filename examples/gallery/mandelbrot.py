"""A zoom into the Mandelbrot set whose formula is replaced while it runs.

    python examples/gallery/mandelbrot.py [mandelbrot.png]

Twelve frames are asked for before one is looked at. The formula is replaced
meanwhile: what was asked for before keeps the old one.
"""

import sys
import time

import numpy as np
from picture import HEAT, save

import gpuos

ROWS, COLUMNS, FRAMES = 110, 150, 4  # of a frame, and in a row of frames
TURNS, UNROLLED = 160, 16


def square(x, y, a, b):  # z * z + c, of z = x + iy and c = a + ib
    return x * x - y * y + a, 2 * x * y + b


def ship(x, y, a, b):  # the same without the signs of x and y
    return x * x - y * y + a, 2 * abs(x * y) + b


def cube(x, y, a, b):  # z * z * z + c
    return x * x * x - 3 * x * y * y + a, 3 * x * x * y - y * y * y + b


# A formula, where its zoom ends, and how wide its first frame is.
FILM = (
    (square, -0.7436, 0.1318, 3.0),
    (ship, -1.7624, -0.028, 3.6),
    (cube, -0.60317, -0.26523, 2.8),
)
formula = gpuos.fuse(square)


@gpuos.fuse
def turns(x, y, count, a, b):
    """Return z after some turns, and in how many it was still near."""
    for _ in range(UNROLLED):
        x, y = formula(x, y, a, b)
        count = count + (x * x + y * y < 4)
    return x, y, count


def places(a, b, width):
    """Return the real and the imaginary parts of a frame's numbers c."""
    across = a + width * np.linspace(-0.5, 0.5, COLUMNS)
    up = b + width * ROWS / COLUMNS * np.linspace(-0.5, 0.5, ROWS)
    return np.meshgrid(across, up)


def main(path="mandelbrot.png"):
    with gpuos.Runtime() as rt:
        frames, begin = [], time.perf_counter()
        for wanted, a, b, width in FILM:
            formula.replace(wanted)
            for zoom in range(FRAMES):
                c = [rt.array(x) for x in places(a, b, width / 6**zoom)]
                x, y = rt.zeros(c[0].shape, "float64"), rt.zeros_like(c[0])
                count = rt.zeros(c[0].shape, "int64")
                for _ in range(0, TURNS, UNROLLED):
                    x, y, count = turns(x, y, count, *c)
                frames.append(count)
        counts = [frame.numpy() for frame in frames]  # waits for all
        seconds = time.perf_counter() - begin
        print(f"{len(frames)} frames on {rt.backend}: {seconds:.2f} s")
    film = [np.hstack(counts[i : i + 4]) for i in range(0, len(counts), 4)]
    save(path, 1 - np.log1p(np.vstack(film)) / np.log1p(TURNS), HEAT)


if __name__ == "__main__":
    main(*sys.argv[1:])
