"""Reductions over any dimensions, of any strides, and what follows them."""

import torch

import gpuos.torch as gt


def reductions(x: torch.Tensor) -> dict[str, torch.Tensor]:
    centered = x - x.mean(dim=-1, keepdim=True)
    spread = centered.square().mean(dim=-1, keepdim=True)
    return {
        "sum of the last dimension": x.sum(dim=-1),
        "mean, dimension kept": x.mean(-1, True),
        "sum of two dimensions": x.sum(dim=(0, 2)),
        "largest of a transposed view": x.transpose(0, 2).amax(dim=1),
        "place of the largest": x.argmax(dim=1),
        "rows with mean 0 and variance 1": centered / (spread + 1e-6).sqrt(),
        "softmax": x.softmax(dim=-1),
    }


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    x = torch.randn(8, 16, 64, device=device)
    expected = reductions(x)  # by PyTorch itself
    gt.wait_ready()  # without it the first run may be eager
    with torch.no_grad(), gt.scheduler():
        results = reductions(x)
    for name, one in results.items():
        torch.testing.assert_close(one, expected[name])
        print(f"{name}: {tuple(one.shape)}, as PyTorch's")


if __name__ == "__main__":
    main()
