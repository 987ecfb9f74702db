"""Broadcasting, strided views, mixed dtypes, gradients: all as by PyTorch."""

from collections.abc import Callable

import torch

import gpuos.torch as gt


def broadcasting(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x[:, :1] * y[0] + x[0]


def strided_views(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.t() + y[:, ::2].repeat(1, 2)


def mixed_dtypes(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x.half() + y) * x.bfloat16() + torch.arange(64, device=x.device)


def in_place(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    z[:8].mul_(2.0)
    return torch.where(z > 0, z, y)


def with_a_matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.tanh((x * 0.1) @ (y * 0.1) + 1.0)


def gradient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    [slope] = torch.autograd.grad((x * y).sigmoid().sum(), x)
    return slope


PROGRAMS: list[Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = [
    broadcasting,
    strided_views,
    mixed_dtypes,
    in_place,
    with_a_matmul,
    gradient,
]


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    x, y = torch.randn(2, 64, 64, device=device)
    expected = [program(x, y) for program in PROGRAMS]  # by PyTorch itself
    gt.wait_ready()  # without it the first run may be eager
    with gt.scheduler():
        results = [program(x, y) for program in PROGRAMS]
    for program, one, other in zip(PROGRAMS, results, expected, strict=True):
        torch.testing.assert_close(one, other)
        name = program.__name__.replace("_", " ")
        print(f"{name}: {one.dtype}, as PyTorch's")


if __name__ == "__main__":
    main()
