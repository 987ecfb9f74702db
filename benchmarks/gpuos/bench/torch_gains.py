"""Measure twenty programs of small operations, which must keep their gain."""

import math
from collections.abc import Callable
from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.torch_arms import Work

Step = Callable[..., Any]

N = 1024
FLAT = (N,)
ROWS = (16, 64)
HALF_LOG = 0.5 * math.log(2 * math.pi)


def _momentum(p: Any, grad: Any, m: Any) -> Any:
    m.mul_(0.9).add_(grad + 1e-4 * p)
    return p.sub_(m * 0.01)


def _clip(grad: Any) -> Any:
    norm = (grad * grad).sum().sqrt()
    return grad * (1.0 / (norm + 1e-6)).clamp(0.0, 1.0)


def _pendulum(angle: Any, speed: Any, push: Any) -> Any:
    faster = speed + (angle * 14.7 + push * 3.0) * 0.05
    faster = faster.clamp(-8.0, 8.0)
    return angle + faster * 0.05, faster


def _lorenz(x: Any, y: Any, z: Any) -> Any:
    dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.7 * z
    return x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz


def _softmax_by_hand(x: Any) -> Any:
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def _layer_norm_by_hand(torch: Any) -> Step:
    def step(x: Any) -> Any:
        centered = x - x.mean(-1, keepdim=True)
        spread = (centered * centered).mean(-1, keepdim=True)
        return centered * torch.rsqrt(spread + 1e-5)

    return step


def _returns(reward: Any, value: Any) -> Any:
    total = reward * 0.0
    for _ in range(8):
        total = reward + 0.99 * total - 0.01 * value
    return total


def _huber(torch: Any) -> Step:
    def step(x: Any, y: Any) -> Any:
        apart = (x - y).abs()
        return torch.where(apart < 1.0, 0.5 * apart * apart, apart - 0.5)

    return step


def _log_densities(x: Any, mean: Any, log_scale: Any) -> Any:
    z = (x - mean) * (-log_scale).exp()
    return -0.5 * z * z - log_scale - HALF_LOG


def _springs(x: Any, v: Any) -> Any:
    v = v - 0.01 * (x * 4.0 + v * 0.1)
    return x + 0.01 * v, v


def _plain(step: Step) -> Callable[[Any], Step]:
    return lambda _torch: step


# The target is 0.7 of the result of an H200 on 2026-11-24.
GAINS: dict[str, tuple[float, Callable[[Any], Step], list[Any]]] = {
    "affine": (8, _plain(lambda x, y: (x * 2.0 + y) * 0.5 - y), 2 * [FLAT]),
    "gates": (
        7,
        lambda torch: (
            lambda x, y: torch.sigmoid(x) * torch.tanh(y) + torch.relu(x - y)
        ),
        2 * [FLAT],
    ),
    "running mean": (
        5,
        _plain(lambda m, x: m.mul_(0.9).add_(x, alpha=0.1)),
        2 * [FLAT],
    ),
    "momentum": (8, _plain(_momentum), 3 * [FLAT]),
    "average of weights": (
        7,
        _plain(lambda slow, fast: slow.add_((fast - slow) * 0.001)),
        2 * [FLAT],
    ),
    "clip by norm": (6, _plain(_clip), [FLAT]),
    "pendulum": (7, _plain(_pendulum), 3 * [FLAT]),
    "Lorenz": (10, _plain(_lorenz), 3 * [FLAT]),
    "softmax by hand": (4.5, _plain(_softmax_by_hand), [ROWS]),
    "RMS norm": (
        6.5,
        lambda torch: (
            lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        ),
        [ROWS],
    ),
    "layer norm by hand": (5, _layer_norm_by_hand, [ROWS]),
    "rotate": (
        3,
        _plain(lambda a, b, c, s: (a * c - b * s, b * c + a * s)),
        [ROWS, ROWS, ROWS[1:], ROWS[1:]],
    ),
    "returns": (12, _plain(_returns), 2 * [FLAT]),
    "Huber": (7, _huber, 2 * [FLAT]),
    "masked logits": (
        12,
        lambda torch: (
            lambda x, y: torch.where(y > 0.5, x / 0.7, -1e4) - 0.1 * y
        ),
        2 * [FLAT],
    ),
    "normalized images": (
        7,
        _plain(lambda x, y: ((x / 255.0 - 0.45) / 0.22).clamp(-3.0, 3.0) + y),
        2 * [FLAT],
    ),
    "log densities": (7, _plain(_log_densities), 3 * [FLAT]),
    "springs": (8, _plain(_springs), 2 * [FLAT]),
    "quantized": (
        7,
        _plain(lambda x, y: (x / 0.05).clamp(-127.0, 127.0) * 0.05 - y * 0.01),
        2 * [FLAT],
    ),
    "polynomial": (
        7,
        _plain(lambda x: (((0.1 * x + 0.2) * x + 0.3) * x + 0.4) * x + 0.5),
        [FLAT],
    ),
}


def gain(torch: Any, device: str, sizes: Sizes, *, name: str) -> Work:
    """Return steps of the program `name`, each on tensors of its own."""
    _, make, shapes = GAINS[name]
    inputs = [
        tuple(torch.rand(shape, device=device) for shape in shapes)
        for _ in range(sizes.torch_steps)
    ]
    return Work(make(torch), inputs)
