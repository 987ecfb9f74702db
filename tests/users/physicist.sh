#!/usr/bin/env bash
# A physicist with a NumPy loop: coupled pendulums, whose energy must stay.
set -euo pipefail
source "$(dirname "$0")/common.sh"
install
"$python" -W error - <<'PYTHON'
import numpy as np

import gpuos


def step(angle, speed, dt):
    pull = angle[:-2] - 2 * angle[1:-1] + angle[2:]
    speed = speed + dt * (4 * pull - np.sin(angle[1:-1]))
    return angle[1:-1] + dt * speed, speed


def run(step, angle, speed):
    ends = np.zeros(1)
    for _ in range(500):
        inner, speed = step(angle, speed, 0.01)
        angle = np.concatenate([ends, inner, ends])
    return angle


start = np.sin(np.linspace(0, np.pi, 66)), np.zeros(64)
start[0][[0, -1]] = 0
np.testing.assert_allclose(run(gpuos.fuse(step), *start), run(step, *start))
print("right: as NumPy's")
PYTHON
