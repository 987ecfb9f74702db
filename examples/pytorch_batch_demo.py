"""Hand tiny requests over one by one; a flush runs all of them at once."""

import torch

import gpuos.torch as gt

REQUESTS = 1000
ELEMS = 256


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    a = torch.randn(REQUESTS, ELEMS, device=device)
    b = torch.randn(REQUESTS, ELEMS, device=device)
    sums, products, mixed = (torch.empty_like(a) for _ in range(3))

    gt.init(capacity=4096, threads_per_block=256)
    gt.register_elementwise("mix", "o = 0.75 * x + 0.25 * y")
    for k in range(REQUESTS):
        gt.submit_add(a[k], b[k], sums[k])
        gt.submit_mul(a[k], b[k], products[k])
        gt.submit_elementwise("mix", sums[k], products[k], out=mixed[k])
    print(f"{gt.pending()} requests wait for a flush")
    gt.flush(sync=True)
    gt.shutdown()

    torch.testing.assert_close(sums, a + b)
    torch.testing.assert_close(products, a * b)
    torch.testing.assert_close(mixed, 0.75 * (a + b) + 0.25 * (a * b))
    print(f"{3 * REQUESTS} results on {device} are as PyTorch's")


if __name__ == "__main__":
    main()
