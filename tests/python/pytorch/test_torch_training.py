"""Models are trained as by eager: gradients, optimizers, modes, hooks."""

import pytest
from torch_support import compare, torch

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]

F = torch.nn.functional
STEPS = 4
# Rounding differences add up over the steps.
TRAINED = {"rtol": 1e-4, "atol": 1e-5}


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(16, 32),
            torch.nn.GELU(),
            torch.nn.LayerNorm(32),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(32, 4),
        )
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.layers(x) * self.scale


class Block(torch.nn.Module):
    """Attention and a gated layer, written with small operations."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.RMSNorm(width)
        self.mix = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width)
        self.gate = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(width, width)

    def attention(self, x):
        batch, length, width = x.shape
        parts = self.mix(self.norm(x)).view(batch, length, self.heads, -1)
        q, k, v = parts.transpose(1, 2).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5)
        mask = torch.ones(length, length, device=x.device).tril() == 0
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.out(mixed)

    def forward(self, x):
        x = x + self.attention(x)
        gate, value = self.gate(self.norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(16, 32)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))
        self.head = torch.nn.Linear(32, 4)

    def forward(self, x):
        x = self.embed(x.unsqueeze(1).expand(-1, 6, -1))
        for block in self.blocks:
            x = block(x)
        return self.head(x).mean(1)


MODELS = [Perceptron, Transformer]


def data(device):
    random = torch.Generator().manual_seed(5)
    x = torch.randn(8, 16, generator=random)
    labels = torch.randint(4, (8,), generator=random)
    return x.to(device), labels.to(device)


def made(kind, device):
    torch.manual_seed(6)
    return kind().to(device)


def train(kind, make_optimizer, device, steps=STEPS):
    """Return the losses, the parameters and the optimizer's state."""
    model = made(kind, device)
    optimizer = make_optimizer(model.parameters())
    x, labels = data(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict(), optimizer.state_dict()["state"]


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        ("Adam", {"lr": 0.01, "amsgrad": True}),
        ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
        ("RMSprop", {"lr": 0.01, "centered": True}),
        ("Adagrad", {"lr": 0.01}),
        ("NAdam", {"lr": 0.01}),
        ("Rprop", {"lr": 0.01}),
    ],
)
def test_steps_of_an_optimizer(device, name, options, foreach):
    def make(parameters):
        kind = getattr(torch.optim, name)
        return kind(parameters, foreach=foreach, **options)

    compare(lambda: train(Perceptron, make, device), tolerances=TRAINED)


def test_optimizer_that_looks_at_the_loss_again(device):
    def run():
        model = made(Perceptron, device).eval()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
        x, labels = data(device)

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), labels)
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(2)]

    compare(run, tolerances=TRAINED)


def test_optimizer_written_with_plain_operations(device):
    def run():
        model = made(Transformer, device)
        x, labels = data(device)
        moments = [torch.zeros_like(p) for p in model.parameters()]
        for _ in range(STEPS):
            model.zero_grad()
            F.cross_entropy(model(x), labels).backward()
            with torch.no_grad():
                for p, m in zip(model.parameters(), moments, strict=True):
                    m.mul_(0.9).add_(p.grad, alpha=0.1)
                    p.data -= 0.1 * m / (m.abs() + 1e-3)
        return model.state_dict()

    # The division enlarges differences of small moments.
    compare(run, tolerances={"rtol": 1e-3, "atol": 1e-4}, takes=100)


@pytest.mark.parametrize("kind", MODELS)
def test_double_backward_of_a_model(device, kind):
    def run():
        model = made(kind, device).eval()
        x, labels = data(device)
        x = x.requires_grad_()
        loss = F.cross_entropy(model(x), labels)
        [slope] = torch.autograd.grad(loss, x, create_graph=True)
        (slope.square().sum() + loss).backward()
        return [p.grad for p in model.parameters()]

    compare(run, tolerances=TRAINED)


@pytest.mark.filterwarnings("ignore:Mismatch dtype:UserWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_autocast_of_a_model(device, kind):
    def run():
        model = made(kind, device)
        x, labels = data(device)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), labels)
        loss.backward()
        return [loss, *(p.grad for p in model.parameters())]

    # A rounding to bfloat16 that falls otherwise is a step of bfloat16.
    compare(run, tolerances={"rtol": 2e-2, "atol": 1e-3})


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("kind", MODELS)
def test_inference_of_a_model(device, kind, mode):
    def run():
        model = made(kind, device).eval()
        x, _ = data(device)
        with mode():
            return [model(x * k) for k in range(1, 4)]

    compare(run, tolerances=TRAINED)


def test_hooks_of_modules(device):
    def run():
        seen = []
        model = made(Perceptron, device).eval()
        for layer in model.layers:
            layer.register_forward_pre_hook(
                lambda _, inputs: seen.append(inputs[0].abs().sum().item())
            )
            layer.register_forward_hook(lambda _, __, result: result * 1.5)
            layer.register_full_backward_hook(
                lambda _, __, grads: seen.append(grads[0].clone())
            )
        x, labels = data(device)
        x = x.requires_grad_()
        F.cross_entropy(model(x), labels).backward()
        return seen, x.grad

    compare(run, tolerances=TRAINED)


def test_gradient_scaler(device):
    def run():
        model = made(Perceptron, device).eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler(device, init_scale=8.0)
        x, labels = data(device)
        for _ in range(STEPS):
            optimizer.zero_grad()
            scaler.scale(F.cross_entropy(model(x), labels)).backward()
            scaler.step(optimizer)
            scaler.update()
        return model.state_dict(), scaler.get_scale()

    compare(run, tolerances=TRAINED)


def test_batch_norm_keeps_its_statistics(device):
    def run():
        torch.manual_seed(6)
        model = torch.nn.Sequential(
            torch.nn.Linear(16, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU()
        ).to(device)
        x, _ = data(device)
        for _ in range(STEPS):
            model(x + 1).square().mean().backward()
        return model.state_dict(), [p.grad for p in model.parameters()]

    compare(run)
