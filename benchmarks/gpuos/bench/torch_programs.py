"""Define PyTorch programs: streams, chains, an optimizer, an environment."""

import math
from functools import partial
from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.program_work import OPERATIONS, chain_of
from gpuos.bench.torch_arms import Work

ELEMS = 1024
CHAIN_ELEMS = 4096
CHAIN_STEPS = 16
RMS_EPSILON = 1e-6

HEADS, HEAD, KEYS = 8, 64, 48
WIDTH, GATES, DECODED_HEADS = 2048, 5504, 16
BATCHES = 5

RATE, FIRST, SECOND, EPSILON = 1e-3, 0.9, 0.999, 1e-8
SHAPES = ((64,), (256,), (16, 16), (32, 32), (8, 64))
ENVIRONMENTS = 1024
MATMUL = 1024
SMALL_OPERATIONS = 16


def _vectors(torch: Any, device: str, count: int, elems: int) -> Any:
    # Each tensor has its own memory, as in a program, and is not a view.
    return [torch.rand(elems, device=device) + 0.5 for _ in range(count)]


def adds(torch: Any, device: str, sizes: Sizes) -> Work:
    left = _vectors(torch, device, sizes.torch_operations, ELEMS)
    right = _vectors(torch, device, sizes.torch_operations, ELEMS)

    def foreach(_inputs: Any) -> Any:
        return torch._foreach_add(left, right)

    pairs = list(zip(left, right, strict=True))
    return Work(
        lambda a, b: a + b,
        pairs,
        lambda inputs: [a + b for a, b in inputs],
        foreach,
    )


def mixed(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return independent operations of five kinds, in turns."""

    def step(*x: Any) -> tuple[Any, ...]:
        return (
            x[0] + x[1],
            x[2] * x[3],
            torch.relu(x[4]),
            torch.sigmoid(x[5]),
            x[6] / x[7],
        )

    inputs = [
        tuple(_vectors(torch, device, 8, ELEMS))
        for _ in range(sizes.torch_operations // 5)
    ]
    return Work(step, inputs)


def scalar_products(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return independent products with a number."""
    vectors = _vectors(torch, device, sizes.torch_operations, ELEMS)
    return Work(
        lambda a: a * 2.0,
        [(a,) for a in vectors],
        lambda inputs: [a * 2.0 for (a,) in inputs],
        lambda _inputs: torch._foreach_mul(vectors, 2.0),
    )


def short_chains(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return independent chains of three operations."""
    count = sizes.torch_operations // 3
    left = _vectors(torch, device, count, ELEMS)
    right = _vectors(torch, device, count, ELEMS)
    pairs = list(zip(left, right, strict=True))
    return Work(
        lambda a, b: (a + b) * 2.0 - a,
        pairs,
        lambda inputs: [(a + b) * 2.0 - a for a, b in inputs],
    )


def chain(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return chains of 140 operations that each need the one before."""

    count = min(CHAIN_STEPS, sizes.torch_steps)
    x = _vectors(torch, device, count, CHAIN_ELEMS)
    y = _vectors(torch, device, count, CHAIN_ELEMS)
    step = chain_of(OPERATIONS, torch.relu, torch.sigmoid, torch.tanh)
    return Work(step, list(zip(x, y, strict=True)))


def attention(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return attention of one query by small operations."""

    def step(q: Any, k: Any, v: Any, bias: Any) -> Any:
        scores = (q * k).sum(-1) * (1 / math.sqrt(HEAD)) + bias
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        return (weights.unsqueeze(-1) * v).sum(-2)

    def one() -> tuple[Any, ...]:
        keys, values = torch.randn(2, HEADS, KEYS, HEAD, device=device)
        query = torch.randn(HEADS, 1, HEAD, device=device)
        return query, keys, values, torch.randn(KEYS, device=device)

    return Work(step, [one() for _ in range(sizes.torch_steps)])


def decode(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return the work of a decoder's step between its matrix products."""
    half = WIDTH // DECODED_HEADS // 2

    def rmsnorm(x: Any, weight: Any) -> Any:
        mean = (x * x).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean + RMS_EPSILON) * weight

    def rotate(x: Any, cosine: Any, sine: Any) -> tuple[Any, Any]:
        heads = x.view(-1, DECODED_HEADS, 2 * half)
        low, high = heads[..., :half], heads[..., half:]
        return low * cosine - high * sine, high * cosine + low * sine

    def step(
        x: Any, weight: Any, cosine: Any, sine: Any, gate: Any, up: Any
    ) -> tuple[Any, ...]:
        normed = rmsnorm(x, weight)
        low, high = rotate(normed, cosine, sine)
        hidden = gate * torch.sigmoid(gate) * up
        return low, high, rmsnorm(x + normed, weight), hidden

    weight = torch.rand(WIDTH, device=device)
    inputs = []
    for index in range(sizes.torch_steps):
        batch = index % BATCHES + 1  # a new shape in every step
        angle = torch.rand(half, device=device)
        gate, up = torch.randn(2, batch, GATES, device=device)
        x = torch.randn(batch, WIDTH, device=device)
        inputs.append((x, weight, angle.cos(), angle.sin(), gate, up))
    return Work(step, inputs)


def optimizer(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return a step of Adam over many small parameters, one input each."""

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
    """Return steps of many carts with poles. Each needs the step before."""
    # These are the classic problem's constants in metres, kilograms, seconds.
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
    """Return a matrix product and small operations on its first row."""
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
