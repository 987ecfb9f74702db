"""Define whole programs, written as their users write them.

Nothing is tuned for a scheduler. Each function returns a loop with its results.
"""

import importlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

Loop = Callable[[], Any]


def kalman(torch: Any, device: str) -> Loop:
    """Track 64 objects through 30 noisy positions."""
    objects, tick = 64, 0.1
    move = torch.eye(4, device=device)
    move[0, 2] = move[1, 3] = tick
    see = torch.eye(2, 4, device=device)
    drift = 0.01 * torch.eye(4, device=device)
    noise = 0.1 * torch.eye(2, device=device)
    seen = torch.randn(30, objects, 2, 1, device=device)

    def loop() -> Any:
        x = torch.zeros(objects, 4, 1, device=device)
        p = torch.eye(4, device=device).repeat(objects, 1, 1)
        for z in seen:
            x = move @ x
            p = move @ p @ move.T + drift
            s = see @ p @ see.T + noise
            gain = p @ see.T @ torch.linalg.inv(s)
            x = x + gain @ (z - see @ x)
            p = (torch.eye(4, device=device) - gain @ see) @ p
        return x, p

    return loop


def hmm_forward(torch: Any, device: str) -> Loop:
    """Return the likelihood of 60 observations of 32 hidden states."""
    states, symbols = 32, 16
    start = torch.randn(states, device=device).log_softmax(0)
    move = torch.randn(states, states, device=device).log_softmax(1)
    emit = torch.randn(states, symbols, device=device).log_softmax(1)
    seen = torch.randint(symbols, (60,), device=device)

    def loop() -> Any:
        alpha = start + emit[:, seen[0]]
        for t in range(1, len(seen)):
            alpha = torch.logsumexp(alpha[:, None] + move, dim=0)
            alpha = alpha + emit[:, seen[t]]
        return torch.logsumexp(alpha, dim=0)

    return loop


def n_body(torch: Any, device: str) -> Loop:
    """Move 64 bodies 20 times by their gravity."""
    start = torch.randn(64, 3, device=device)

    def loop() -> Any:
        x, v = start, torch.zeros_like(start)
        for _ in range(20):
            d = x[:, None] - x[None]
            r2 = (d * d).sum(-1) + 0.01
            v = v - 0.001 * (d / (r2 * r2.sqrt())[..., None]).sum(1)
            x = x + 0.001 * v
        return x, v

    return loop


def diffusion_sampler(torch: Any, device: str) -> Loop:
    """Draw 256 points in the plane by 30 steps of DDPM."""
    nn, steps = torch.nn, 30
    net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
    net = net.to(device)
    beta = torch.linspace(1e-4, 0.02, steps, device=device)
    alpha = 1.0 - beta
    kept = torch.cumprod(alpha, 0)

    def loop() -> Any:
        x = torch.randn(256, 2, device=device)
        with torch.no_grad():
            for i in reversed(range(steps)):
                t = torch.full((256, 1), i / steps, device=device)
                eps = net(torch.cat([x, t], dim=1))
                x = x - beta[i] / torch.sqrt(1.0 - kept[i]) * eps
                x = x / torch.sqrt(alpha[i])
                if i > 0:
                    x = x + torch.sqrt(beta[i]) * torch.randn_like(x)
        return x

    return loop


def ppo_rollout(torch: Any, device: str) -> Loop:
    """Collect 20 steps of 64 carts with poles, and their advantages."""
    nn, steps, carts, discount, decay = torch.nn, 20, 64, 0.99, 0.95
    body = nn.Sequential(nn.Linear(4, 64), nn.Tanh()).to(device)
    actor = nn.Linear(64, 2).to(device)
    critic = nn.Linear(64, 1).to(device)
    start = 0.05 * torch.randn(carts, 4, device=device)

    def environment(state: Any, action: Any) -> tuple[Any, Any, Any]:
        x, speed, angle, turning = state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        cos, sin = torch.cos(angle), torch.sin(angle)
        push = (force + 0.05 * turning**2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        pull = push - 0.05 * turn * cos / 1.1
        new = [x + 0.02 * speed, speed + 0.02 * pull]
        new += [angle + 0.02 * turning, turning + 0.02 * turn]
        state = torch.stack(new, dim=1)
        done = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 0.21)
        reward = torch.ones_like(x)
        return torch.where(done[:, None], start, state), reward, done.float()

    def loop() -> Any:
        state, kept = start, []
        with torch.no_grad():
            for _ in range(steps):
                hidden = body(state)
                policy = torch.distributions.Categorical(logits=actor(hidden))
                action = policy.sample()
                value = critic(hidden).squeeze(-1)
                state, reward, done = environment(state, action)
                kept.append((policy.log_prob(action), value, reward, done))
            after, advantage, advantages = value, torch.zeros_like(value), []
            for _, value, reward, done in reversed(kept):
                delta = reward + discount * after * (1 - done) - value
                advantage = delta + discount * decay * (1 - done) * advantage
                advantages.append(advantage)
                after = value
        return torch.stack(advantages), torch.stack([k[0] for k in kept])

    return loop


def game_of_life(torch: Any, device: str) -> Loop:
    """Run 10 generations of Conway's game on 64 x 64 cells."""
    start = (torch.rand(64, 64, device=device) < 0.3).float()
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]

    def loop() -> Any:
        cells = start
        for _ in range(10):
            n = sum(torch.roll(cells, shift, dims=(0, 1)) for shift in around)
            cells = ((n == 3) | ((cells == 1) & (n == 2))).float()
        return cells

    return loop


def langevin(torch: Any, device: str) -> Loop:
    """Sample 1,024 chains of a double well for 40 steps."""
    start, rate = torch.randn(1024, device=device), 0.01

    def loop() -> Any:
        x = start
        mean = torch.zeros_like(x)
        for k in range(40):
            slope = 4.0 * x * (x**2 - 1.0)
            noise = math.sqrt(2.0 * rate) * torch.randn_like(x)
            x = x - rate * slope + noise
            mean = mean + (x - mean) / (k + 1)
        return x, mean

    return loop


def mppi(torch: Any, device: str) -> Loop:
    """Improve a pendulum's plan of 20 actions 3 times by 256 samples."""
    samples, horizon = 256, 20

    def loop() -> Any:
        plan = torch.zeros(horizon, device=device)
        for _ in range(3):
            noise = torch.randn(samples, horizon, device=device)
            actions = (plan + noise).clamp(-2.0, 2.0)
            angle = torch.full((samples,), math.pi, device=device)
            speed = torch.zeros(samples, device=device)
            cost = torch.zeros(samples, device=device)
            for t in range(horizon):
                push = actions[:, t]
                speed = speed + 0.05 * (15.0 * torch.sin(angle) + 3.0 * push)
                speed = speed.clamp(-8.0, 8.0)
                angle = angle + 0.05 * speed
                off = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
                cost = cost + off**2 + 0.1 * speed**2 + 0.001 * push**2
            weights = torch.softmax(-cost / 10.0, dim=0)
            plan = plan + (weights[:, None] * noise).sum(0)
        return plan

    return loop


def adaptive_newton(torch: Any, device: str) -> Loop:
    """Take the cube roots of 256 numbers until all are exact enough."""
    wanted = 1.0 + 9.0 * torch.rand(256, device=device)

    def loop() -> Any:
        x, step = torch.ones_like(wanted), 1.0
        error = (x**3 - wanted).abs().max().item()
        while error > 1e-4:
            tried = x - step * (x**3 - wanted) / (3.0 * x**2)
            new = (tried**3 - wanted).abs().max().item()
            if new < error:
                x, error, step = tried, new, min(1.0, 2.0 * step)
            else:
                step = 0.5 * step
        return x

    return loop


def gpt2(torch: Any, device: str, *, samples: bool) -> Loop:
    """Generate tokens with a GPT-2 of 3 layers and random weights."""
    library = importlib.import_module("transformers")
    sizes = {"vocab_size": 512, "n_embd": 64, "n_layer": 3, "n_head": 4}
    config = library.GPT2Config(**sizes, bos_token_id=None, eos_token_id=None)
    model = library.GPT2LMHeadModel(config).eval().to(device)
    prompt = torch.randint(512, (1, 8), device=device)
    options: dict[str, Any] = {"max_new_tokens": 24, "do_sample": False}
    if samples:
        options = {"max_new_tokens": 16, "do_sample": True, "top_p": 0.9}
    mask = torch.ones_like(prompt)
    return partial(
        model.generate, prompt, attention_mask=mask, pad_token_id=0, **options
    )


def dopri5(torch: Any, device: str) -> Loop:
    """Solve the spiral of torchdiffeq's example."""
    library = importlib.import_module("torchdiffeq")
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], device=device)
    start = torch.tensor([[2.0, 0.0]], device=device)
    times = torch.linspace(0.0, 10.0, 400, device=device)

    def spiral(_t: Any, y: Any) -> Any:
        return torch.mm(y**3, matrix)

    def loop() -> Any:
        with torch.no_grad():
            return library.odeint(spiral, start, times, method="dopri5")

    return loop


def metrics(torch: Any, device: str) -> Loop:
    """Evaluate 6 batches of 10 classes with torchmetrics."""
    library = importlib.import_module("torchmetrics")
    kinds = library.classification
    found = library.MetricCollection(
        [kinds.MulticlassAccuracy(10), kinds.MulticlassF1Score(10)]
    ).to(device)
    batches = torch.randn(6, 128, 10, device=device)
    labels = torch.randint(10, (6, 128), device=device)

    def loop() -> Any:
        found.reset()
        each = [found(*batch) for batch in zip(batches, labels, strict=True)]
        return [tuple(one.values()) for one in [*each, found.compute()]]

    return loop


def boids(torch: Any, device: str) -> Loop:
    """Move a flock of 64 birds 20 times."""
    place = 10.0 * torch.rand(64, 2, device=device)
    speed = torch.randn(64, 2, device=device)

    def loop() -> Any:
        x, v = place, speed
        for _ in range(20):
            apart = x[None] - x[:, None]
            r = apart.norm(dim=-1)
            near = ((r < 2.0) & (r > 0.0)).float()
            count = near.sum(1, keepdim=True).clamp(min=1.0)
            together = (near[..., None] * apart).sum(1) / count
            align = (near[..., None] * v[None]).sum(1) / count - v
            close = ((r < 0.5) & (r > 0.0)).float()
            avoid = -(close[..., None] * apart).sum(1)
            v = v + 0.01 * together + 0.05 * align + 0.1 * avoid
            v = v / v.norm(dim=-1, keepdim=True).clamp(min=1.0)
            x = torch.remainder(x + 0.1 * v, 10.0)
        return x, v

    return loop


def soft_k_means(torch: Any, device: str) -> Loop:
    """Find 8 soft clusters of 256 points in 20 steps."""
    points = torch.randn(256, 3, device=device)

    def loop() -> Any:
        centers = points[:8]
        for _ in range(20):
            d2 = ((points[:, None] - centers[None]) ** 2).sum(-1)
            weights = torch.softmax(-2.0 * d2, dim=1)
            total = (weights[..., None] * points[:, None]).sum(0)
            centers = total / weights.sum(0)[:, None]
        return centers, weights

    return loop


# The part, the target on one H200, and what makes the loop.
WHOLE: dict[str, tuple[int, float, Callable[[Any, str], Loop]]] = {
    "Kalman filter": (1, 2.5, kalman),
    "HMM forward": (1, 4, hmm_forward),
    "N-body of 64": (1, 4, n_body),
    "diffusion sampler": (1, 2.5, diffusion_sampler),
    "PPO rollout": (1, 1.6, ppo_rollout),
    "Game of Life": (1, 5, game_of_life),
    "GPT-2, greedy": (1, 1.8, partial(gpt2, samples=False)),
    "Langevin": (1, 4, langevin),
    "MPPI": (2, 5, mppi),
    "adaptive Newton": (2, 2, adaptive_newton),
    "GPT-2, sampled": (2, 1.8, partial(gpt2, samples=True)),
    "torchdiffeq dopri5": (2, 2, dopri5),
    "torchmetrics": (2, 1.3, metrics),
    "boids": (2, 4, boids),
    "soft k-means": (2, 2.5, soft_k_means),
}
