"""Twenty programs of small operations that gain, which must keep their gain."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.torch_arms import Work

Step = Callable[..., Any]
Shapes = tuple[tuple[int, ...], ...]

N = 1024
ROWS = (16, 64)


def _affine(_torch: Any) -> Step:
    return lambda x, y: (x * 2.0 + y) * 0.5 - y


def _gates(torch: Any) -> Step:
    return lambda x, y: torch.sigmoid(x) * torch.tanh(y) + torch.relu(x - y)


def _running_mean(_torch: Any) -> Step:
    return lambda m, x: m.mul_(0.9).add_(x, alpha=0.1)


def _momentum(_torch: Any) -> Step:
    def step(p: Any, grad: Any, m: Any) -> Any:
        m.mul_(0.9).add_(grad + 1e-4 * p)
        return p.sub_(m * 0.01)

    return step


def _average_of_weights(_torch: Any) -> Step:
    return lambda slow, fast: slow.add_((fast - slow) * 0.001)


def _clip(_torch: Any) -> Step:
    def step(grad: Any) -> Any:
        norm = (grad * grad).sum().sqrt()
        return grad * (1.0 / (norm + 1e-6)).clamp(0.0, 1.0)

    return step


def _pendulum(_torch: Any) -> Step:
    def step(angle: Any, speed: Any, push: Any) -> Any:
        faster = speed + (angle * 14.7 + push * 3.0) * 0.05
        faster = faster.clamp(-8.0, 8.0)
        return angle + faster * 0.05, faster

    return step


def _lorenz(_torch: Any) -> Step:
    def step(x: Any, y: Any, z: Any) -> Any:
        dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.7 * z
        return x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz

    return step


def _softmax_by_hand(_torch: Any) -> Step:
    def step(x: Any) -> Any:
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    return step


def _rms_norm(torch: Any) -> Step:
    return lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def _layer_norm_by_hand(torch: Any) -> Step:
    def step(x: Any) -> Any:
        centered = x - x.mean(-1, keepdim=True)
        spread = (centered * centered).mean(-1, keepdim=True)
        return centered * torch.rsqrt(spread + 1e-5)

    return step


def _rotate(_torch: Any) -> Step:
    def step(low: Any, high: Any, c: Any, s: Any) -> Any:
        return low * c - high * s, high * c + low * s

    return step


def _returns(_torch: Any) -> Step:
    def step(reward: Any, value: Any) -> Any:
        total = reward * 0.0
        for _ in range(8):
            total = reward + 0.99 * total - 0.01 * value
        return total

    return step


def _huber(torch: Any) -> Step:
    def step(x: Any, y: Any) -> Any:
        apart = (x - y).abs()
        return torch.where(apart < 1.0, 0.5 * apart * apart, apart - 0.5)

    return step


def _masked_logits(torch: Any) -> Step:
    def step(x: Any, y: Any) -> Any:
        return torch.where(y > 0.5, x / 0.7, -1e4) - 0.1 * y

    return step


def _normalized_images(_torch: Any) -> Step:
    return lambda x, y: ((x / 255.0 - 0.45) / 0.22).clamp(-3.0, 3.0) + y


def _log_densities(_torch: Any) -> Step:
    half = 0.5 * math.log(2 * math.pi)

    def step(x: Any, mean: Any, log_scale: Any) -> Any:
        z = (x - mean) * (-log_scale).exp()
        return -0.5 * z * z - log_scale - half

    return step


def _springs(_torch: Any) -> Step:
    def step(x: Any, v: Any) -> Any:
        v = v - 0.01 * (x * 4.0 + v * 0.1)
        return x + 0.01 * v, v

    return step


def _quantized(_torch: Any) -> Step:
    return lambda x, y: (x / 0.05).clamp(-127.0, 127.0) * 0.05 - y * 0.01


def _polynomial(_torch: Any) -> Step:
    return lambda x: (((0.1 * x + 0.2) * x + 0.3) * x + 0.4) * x + 0.5


FLAT: Shapes = ((N,), (N,))
# Asked is 0.7 of what an H200 gave on 2026-11-24.
GAINS: dict[str, tuple[Callable[[Any], Step], Shapes, float]] = {
    "affine": (_affine, FLAT, 8),
    "gates": (_gates, FLAT, 7),
    "running mean": (_running_mean, FLAT, 5),
    "momentum": (_momentum, ((N,), (N,), (N,)), 8),
    "average of weights": (_average_of_weights, FLAT, 7),
    "clip by norm": (_clip, ((N,),), 6),
    "pendulum": (_pendulum, ((N,), (N,), (N,)), 7),
    "Lorenz": (_lorenz, ((N,), (N,), (N,)), 10),
    "softmax by hand": (_softmax_by_hand, (ROWS,), 4.5),
    "RMS norm": (_rms_norm, (ROWS,), 6.5),
    "layer norm by hand": (_layer_norm_by_hand, (ROWS,), 5),
    "rotate": (_rotate, (ROWS, ROWS, ROWS[1:], ROWS[1:]), 3),
    "returns": (_returns, FLAT, 12),
    "Huber": (_huber, FLAT, 7),
    "masked logits": (_masked_logits, FLAT, 12),
    "normalized images": (_normalized_images, FLAT, 7),
    "log densities": (_log_densities, ((N,), (N,), (N,)), 7),
    "springs": (_springs, FLAT, 8),
    "quantized": (_quantized, FLAT, 7),
    "polynomial": (_polynomial, ((N,),), 7),
}


def gain(torch: Any, device: str, sizes: Sizes, *, name: str) -> Work:
    """Return steps of the program `name`, each on tensors of its own."""
    make, shapes, _ = GAINS[name]
    inputs = [
        tuple(torch.rand(shape, device=device) for shape in shapes)
        for _ in range(sizes.torch_steps)
    ]
    return Work(make(torch), inputs)
