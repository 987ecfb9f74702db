"""Programs written in PyTorch: an optimizer, an environment, reductions."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.torch_arms import Work

RATE, FIRST, SECOND, EPSILON = 1e-3, 0.9, 0.999, 1e-8
SHAPES = ((64,), (256,), (16, 16), (32, 32), (8, 64))
ENVIRONMENTS = 1024
MATMUL = 1024
SMALL_OPERATIONS = 16


def optimizer(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return a step of Adam over many small parameters; one input each."""

    def step(p: Any, grad: Any, m: Any, v: Any) -> Any:
        m.mul_(FIRST).add_(grad, alpha=1 - FIRST)
        v.mul_(SECOND).add_(grad * grad, alpha=1 - SECOND)
        p.sub_(m / (v.sqrt() + EPSILON) * RATE)
        return p

    def foreach(inputs: Any) -> Any:
        p, grad, m, v = (list(x) for x in zip(*inputs, strict=True))
        torch._foreach_mul_(m, FIRST)
        torch._foreach_add_(m, grad, alpha=1 - FIRST)
        torch._foreach_mul_(v, SECOND)
        torch._foreach_addcmul_(v, grad, grad, value=1 - SECOND)
        spread = torch._foreach_sqrt(v)
        torch._foreach_add_(spread, EPSILON)
        torch._foreach_addcdiv_(p, m, spread, value=-RATE)
        return p

    inputs = []
    for index in range(sizes.torch_parameters):
        shape = SHAPES[index % len(SHAPES)]
        p, grad, m = (torch.randn(shape, device=device) for _ in range(3))
        inputs.append((p, grad, m * 0.1, grad * grad))
    return Work(
        step,
        inputs,
        foreach=foreach,
        no_compiler="takes minutes for all parameters",
    )


def environment(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return steps of many carts with poles, each from the step before."""
    # The constants of the classic problem: metres, kilograms, seconds.
    gravity, pole, both, length, force, tick = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02

    def step(state: Any, action: Any) -> Any:
        x, speed, angle, turning = state.unbind(0)
        push = torch.where(action > 0, force, -force)
        cosine, sine = torch.cos(angle), torch.sin(angle)
        swing = (push + pole * length * turning * turning * sine) / both
        turn = (gravity * sine - cosine * swing) / (
            length * (4.0 / 3.0 - pole * cosine * cosine / both)
        )
        pull = swing - pole * length * turn * cosine / both
        x = x + tick * speed
        speed = speed + tick * pull
        angle = angle + tick * turning
        turning = turning + tick * turn
        is_over = (x.abs() > 2.4) | (angle.abs() > 0.21)
        state[0] = torch.where(is_over, 0.0, x)
        state[1] = torch.where(is_over, 0.0, speed)
        state[2] = torch.where(is_over, 0.01, angle)
        state[3] = torch.where(is_over, 0.0, turning)
        return torch.where(is_over, 0.0, 1.0)

    inputs = []
    for _ in range(sizes.torch_steps):
        state = torch.rand(4, ENVIRONMENTS, device=device) * 0.1
        inputs.append((state, torch.randn(ENVIRONMENTS, device=device)))
    return Work(step, inputs)


def matmul(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return a product of matrices and small operations on its first row."""
    size = MATMUL if device == "cuda" else MATMUL // 8
    small = SMALL_OPERATIONS

    def step(x: Any, weight: Any, y: Any) -> Any:
        z = (x @ weight)[0]
        for index in range(small):
            z = z * y if index % 2 else z + y
        return z

    make = partial(torch.randn, device=device, dtype=torch.bfloat16)
    weight = make(size, size) * 0.01
    matrices = [make(size, size) for _ in range(8)]
    count = sizes.torch_matmuls
    vectors = [make(size) * 0.1 + 1 for _ in range(count)]
    inputs = [(matrices[k % 8], weight, vectors[k]) for k in range(count)]
    return Work(step, inputs, tolerance=2e-2)


def reductions(
    torch: Any, device: str, sizes: Sizes, *, rows: int, columns: int
) -> Work:
    """Return sums, means and maxima of rows, in turns."""

    def step(x: Any) -> tuple[Any, ...]:
        return x.sum(-1), x.mean(-1), x.amax(-1)

    inputs = [
        (torch.randn(rows, columns, device=device),)
        for _ in range(sizes.torch_steps)
    ]
    return Work(step, inputs, options={"size_threshold": 1 << 18})
