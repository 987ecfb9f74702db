"""One line around an unchanged PyTorch program of small operations."""

import torch

import gpuos.torch as gt

STEPS = 200
ELEMS = 1024


def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x = a
    for _ in range(STEPS):
        x = torch.relu(x + b) * 0.5
        x = x - torch.sigmoid(x) * b
    return x


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    a, b = torch.randn(2, ELEMS, device=device)
    expected = program(a, b)  # by PyTorch itself

    gt.wait_ready()  # without it the first run may be eager
    before = gt.stats()["intercepted"]
    with (
        torch.no_grad(),
        gt.scheduler(capacity=8192, size_threshold=1 << 15, auto_flush_ms=2.0),
    ):
        x = program(a, b)
    taken = gt.stats()["intercepted"] - before

    torch.testing.assert_close(x, expected, rtol=1e-4, atol=1e-5)
    print(f"{taken} of {6 * STEPS} operations were taken on {device}")
    print("the result is as PyTorch's")


if __name__ == "__main__":
    main()
