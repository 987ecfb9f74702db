"""Programs of small PyTorch operations: streams, chains, a decoder's step."""

from __future__ import annotations

import math
from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.program_work import OPERATIONS, chain_of
from gpuos.bench.torch_arms import Work

ELEMS = 1024
CHAIN_ELEMS = 4096
CHAIN_STEPS = 16
EPSILON = 1e-6

HEADS, HEAD, KEYS = 8, 64, 48
WIDTH, GATES, DECODED_HEADS = 2048, 5504, 16
BATCHES = 5


def _vectors(torch: Any, device: str, count: int, elems: int) -> Any:
    # Tensors of their own, as a program has them, not views of one.
    return [torch.rand(elems, device=device) + 0.5 for _ in range(count)]


def adds(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return independent adds."""
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
    """Return attention of one query, written with small operations."""

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
    """Return what a decoder's step does between its products of matrices."""
    half = WIDTH // DECODED_HEADS // 2

    def rmsnorm(x: Any, weight: Any) -> Any:
        mean = (x * x).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean + EPSILON) * weight

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
        batch = index % BATCHES + 1  # another shape in every step
        angle = torch.rand(half, device=device)
        gate, up = torch.randn(2, batch, GATES, device=device)
        x = torch.randn(batch, WIDTH, device=device)
        inputs.append((x, weight, angle.cos(), angle.sin(), gate, up))
    return Work(step, inputs)
