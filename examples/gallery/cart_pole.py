"""A cart that swings up a pole and balances it, from 32,400 beginnings at once.

    python examples/gallery/cart_pole.py [cart_pole.png]

Each pixel is a cart of its own: across, the angle at which its pole begins, with
upright in the middle; up, how fast it turns. The brighter, the longer it stood.
A step of all is one task; `where` chooses which carts swing and which balance.
"""

import sys
import time

import numpy as np
from picture import HEAT, save

import gpuos

SIDE, STEPS, DT = 180, 160, 0.02
GRAVITY, CART, POLE, LENGTH = 9.8, 1.0, 0.1, 0.5  # LENGTH: half of the pole's
TRACK = 2.4  # metres, from its middle to its end


@gpuos.fuse
def control(x, v, angle, spin):
    """Return the force: balance what is nearly upright, swing what is not."""
    sine, cosine = np.sin(angle), np.cos(angle)
    balance = 40 * sine + 8 * spin + 1.5 * x + 3 * v
    lacking = 2 * GRAVITY * (1 - cosine) - 4 / 3 * LENGTH * spin * spin
    swing = np.where(spin * cosine * lacking > 0, -8.0, 8.0) - 2 * x
    return np.clip(np.where(cosine > 0.85, balance, swing), -20.0, 20.0)


@gpuos.fuse
def step(x, v, angle, spin, stood):
    """Return the state after one step."""
    force = control(x, v, angle, spin)
    sine, cosine = np.sin(angle), np.cos(angle)
    total = CART + POLE
    push = (force + POLE * LENGTH * spin * spin * sine) / total
    twist = (GRAVITY * sine - cosine * push) / (
        LENGTH * (4 / 3 - POLE * cosine * cosine / total)
    )
    v = v + DT * (push - POLE * LENGTH * twist * cosine / total)
    spin = spin + DT * twist
    x = x + DT * v
    v = np.where(abs(x) < TRACK, v, 0.0)  # it stops at the end
    x = np.clip(x, -TRACK, TRACK)
    return x, v, angle + DT * spin, spin, stood + (cosine > 0.95)


def beginnings():
    """Return the first state of all: a table of angles and spins."""
    angle = np.linspace(-np.pi, np.pi, SIDE)[None, :] + np.zeros((SIDE, 1))
    spin = np.linspace(9, -9, SIDE)[:, None] + np.zeros((1, SIDE))
    rest = np.zeros((SIDE, SIDE))
    return rest, rest, angle, spin, np.zeros((SIDE, SIDE), np.int64)


def main(path="cart_pole.png"):
    with gpuos.Runtime() as rt:
        state = [rt.array(part) for part in beginnings()]
        begin = time.perf_counter()
        for _ in range(STEPS):
            state = step(*state)
        stood = state[-1].numpy()
        seconds = time.perf_counter() - begin
        print(f"{STEPS} steps on {rt.backend}: {seconds:.2f} s")
        upright = np.cos(state[2].numpy()) > 0.95
    print(f"{upright.mean():.0%} of the poles stand at the end")
    save(path, stood / STEPS, HEAT)


if __name__ == "__main__":
    main(*sys.argv[1:])
