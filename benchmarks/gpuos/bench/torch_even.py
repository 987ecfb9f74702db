"""Define programs that gain nothing, and that must not become slower."""

from collections.abc import Callable
from functools import partial
from typing import Any

from gpuos.bench.context import Sizes
from gpuos.bench.torch_arms import Work
from gpuos.bench.torch_models import make_gpt

CLASSES = 10
JUST_OVER = (1 << 15) + 1  # the default size_threshold plus one


def _repeat(step: Callable[..., Any], x: Any, sizes: Sizes) -> Work:
    return Work(step, [(x,)] * (4 * sizes.torch_steps))


def rows(
    torch: Any, device: str, sizes: Sizes, *, name: str, shape: tuple[int, int]
) -> Work:
    """Return one operation over rows, repeated."""
    normalize = partial(
        torch.nn.functional.layer_norm, normalized_shape=shape[1:]
    )
    steps: dict[str, Callable[[Any], Any]] = {
        "softmax": lambda x: x.softmax(1),
        "layer_norm": normalize,
        "sum": lambda x: x.sum(1),
        "amax": lambda x: x.amax(1),
        "argmax": lambda x: x.argmax(1),
    }
    return _repeat(steps[name], torch.randn(shape, device=device), sizes)


def branches(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return a branch on each value, right after its computation."""
    x = torch.rand(1024, device=device)
    return _repeat(lambda x: x if x.sum() > 0 else -x, x, sizes)


def adds_over_threshold(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return adds of one element more than a scheduler accepts."""
    x = torch.randn(JUST_OVER, device=device)
    return _repeat(lambda x: x + x, x, sizes)


def cell(torch: Any, device: str, sizes: Sizes, *, kind: str) -> Work:
    """Return a recurrent cell. Each step needs the step before."""
    width = 64
    made = getattr(torch.nn, kind)(width, width).to(device)
    x, h = torch.randn(2, 16, width, device=device)
    state: list[Any] = [(h, h.clone()) if kind == "LSTMCell" else h]

    def step(x: Any) -> Any:
        with torch.no_grad():
            state[0] = made(x, state[0])
        return state[0]

    return _repeat(step, x, sizes)


def _training(
    torch: Any, model: Any, x: Any, made: Any, steps: int, **more: Any
) -> Work:
    cross_entropy = torch.nn.functional.cross_entropy
    count = x[..., 0].numel()
    labels = torch.randint(CLASSES, (count,), device=x.device)

    def step(x: Any) -> Any:
        made.zero_grad()
        loss = cross_entropy(model(x).flatten(0, -2), labels)
        loss.backward()
        made.step()
        return loss.detach()

    return Work(step, [(x,)] * steps, needs_gradients=True, **more)


def mlp_training(
    torch: Any, device: str, sizes: Sizes, *, optimizer: str, **options: Any
) -> Work:
    """Return training steps of a small perceptron."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(32, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, CLASSES),
    ).to(device)
    made = getattr(torch.optim, optimizer)(model.parameters(), **options)
    x = torch.randn(32, 32, device=device)
    return _training(torch, model, x, made, sizes.torch_steps)


def layer_training(torch: Any, device: str, sizes: Sizes) -> Work:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(
        64, 4, 128, dropout=0.0, batch_first=True
    )
    model = nn.Sequential(layer, nn.Linear(64, CLASSES)).to(device)
    made = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(8, 16, 64, device=device)
    return _training(torch, model, x, made, sizes.torch_steps)


def gpt_training(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return training steps of a decoder like GPT-2, with AdamW."""
    width, heads, blocks = (768, 12, 4) if sizes.torch_is_large else (32, 2, 2)
    batch, length = (4, 256) if sizes.torch_is_large else (2, 8)
    model = make_gpt(torch, width, heads, blocks).to(device, torch.bfloat16)
    made = torch.optim.AdamW(model.parameters(), 1e-4)
    x = torch.randn(batch, length, width, device=device, dtype=torch.bfloat16)
    steps = max(2, sizes.torch_steps // 10)
    return _training(torch, model, x, made, steps, tolerance=5e-2)


def greedy_decoding(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return steps that choose the next word of a small model."""
    words, width = 1000, 128
    table = torch.randn(words, width, device=device)
    inner = torch.randn(width, width, device=device) * 0.1
    state = [torch.zeros(4, width, device=device)]

    def step(_: Any) -> Any:
        with torch.no_grad():
            state[0] = torch.tanh(state[0] @ inner + 0.1)
            word = (state[0] @ table.t()).argmax(-1)
            state[0] = state[0] + table[word] * 0.1
        return state[0]

    return _repeat(step, table, sizes)


def metrics(torch: Any, device: str, sizes: Sizes) -> Work:
    """Return metrics of batches. The program reads each number."""
    scores = torch.randn(256, CLASSES, device=device)
    labels = torch.randint(CLASSES, (256,), device=device)

    def step(scores: Any) -> Any:
        guess = scores.argmax(1)
        right = (guess == labels).float().mean().item()
        loss = torch.nn.functional.cross_entropy(scores, labels).item()
        return torch.tensor([right, loss])

    return _repeat(step, scores, sizes)
