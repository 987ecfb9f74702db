"""Define two models of large kernels, where nothing is gained or lost.

They have the layers of ResNet-50 and GPT-2, with random weights and inputs.
"""

from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.torch_arms import Work

STEPS = 2
CLASSES = 100


def _bottleneck(torch: Any, inputs: int, inner: int, stride: int) -> Any:
    nn = torch.nn
    module: Any = nn.Module

    class Bottleneck(module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, inner, 1, bias=False),
                nn.BatchNorm2d(inner),
                nn.ReLU(),
                nn.Conv2d(inner, inner, 3, stride, 1, bias=False),
                nn.BatchNorm2d(inner),
                nn.ReLU(),
                nn.Conv2d(inner, 4 * inner, 1, bias=False),
                nn.BatchNorm2d(4 * inner),
            )
            self.skip = nn.Sequential()
            if stride != 1 or inputs != 4 * inner:
                self.skip = nn.Sequential(
                    nn.Conv2d(inputs, 4 * inner, 1, stride, bias=False),
                    nn.BatchNorm2d(4 * inner),
                )

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.skip(x))

    return Bottleneck()


def make_resnet(torch: Any, width: int, blocks: tuple[int, ...]) -> Any:
    """Return a residual network. ResNet-50 is 64 and (3, 4, 6, 3)."""
    nn = torch.nn
    layers = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    inputs = width
    for stage, count in enumerate(blocks):
        inner = width << stage
        for index in range(count):
            stride = 2 if stage and not index else 1
            layers.append(_bottleneck(torch, inputs, inner, stride))
            inputs = 4 * inner
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(inputs, CLASSES))


def make_gpt(torch: Any, width: int, heads: int, blocks: int) -> Any:
    """Return a decoder. GPT-2 is 768, 12 and 12."""
    nn = torch.nn
    module: Any = nn.Module

    class Block(module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.mix = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.feed = nn.Sequential(
                nn.Linear(width, 4 * width),
                nn.GELU(approximate="tanh"),
                nn.Linear(4 * width, width),
            )

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            mixed = self.mix(self.norms[0](x)).view(batch, length, 3, heads, -1)
            q, k, v = mixed.permute(2, 0, 3, 1, 4).unbind(0)
            attend = nn.functional.scaled_dot_product_attention
            seen = attend(q, k, v, is_causal=True).transpose(1, 2)
            x = x + self.out(seen.reshape(batch, length, width))
            return x + self.feed(self.norms[1](x))

    return nn.Sequential(
        *(Block() for _ in range(blocks)),
        nn.LayerNorm(width),
        nn.Linear(width, CLASSES),
    )


def _training(
    torch: Any, model: Any, inputs: list[tuple[Any, ...]], tolerance: float
) -> Work:
    parameters = list(model.parameters())
    cross_entropy = torch.nn.functional.cross_entropy

    def step(x: Any, labels: Any) -> tuple[Any, ...]:
        loss = cross_entropy(model(x).flatten(0, -2).float(), labels)
        grads = torch.autograd.grad(loss, parameters)
        return grads[0], grads[-1], loss.detach()

    return Work(
        step,
        inputs,
        needs_gradients=True,
        tolerance=tolerance,
        no_compiler="compares with eager",
    )


def resnet(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return the forward and backward pass of a residual network."""
    large = sizes.torch_is_large
    model = make_resnet(
        torch, 64 if large else 8, (3, 4, 6, 3) if large else (1, 1)
    )
    batch, side = (32, 224) if large else (2, 32)
    inputs = [
        (
            torch.randn(batch, 3, side, side, device=device),
            torch.randint(CLASSES, (batch,), device=device),
        )
        for _ in range(STEPS)
    ]
    # Convolution kernels add in a different order each time.
    return _training(torch, model.to(device), inputs, 2e-2)


def gpt(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return the forward and backward pass of a decoder in bfloat16."""
    large = sizes.torch_is_large
    width, heads, blocks = (768, 12, 12) if large else (32, 2, 2)
    batch, length = (8, 512) if large else (2, 8)
    dtype = torch.bfloat16
    model = make_gpt(torch, width, heads, blocks).to(device, dtype)
    inputs = [
        (
            torch.randn(batch, length, width, device=device, dtype=dtype),
            torch.randint(CLASSES, (batch * length,), device=device),
        )
        for _ in range(STEPS)
    ]
    return _training(torch, model, inputs, 5e-2)
