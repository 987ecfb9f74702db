"""Gradients, of every kind, are those of eager: of cases and of programs."""

import random

import pytest
from torch_support import compare, error_of, in_thread, torch

pytestmark = [
    pytest.mark.torch,
    # PyTorch's forward derivatives use deprecated functions.
    pytest.mark.filterwarnings("ignore"),
]

CASES = []


def leaf(tensor):
    return tensor.detach().clone().requires_grad_()


def case(function):
    """Add a function of a leaf and another vector; its gradient is compared."""

    def gradient(a, b):
        x = leaf(a * 0.1)
        result = function(x, b)
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.sum().backward()
            result = result.detach()
        return result, x.grad

    CASES.append(pytest.param(gradient, id=function.__name__))
    return function


@case
def added_up(x, b):
    for _ in range(3):
        (x * b).sum().backward()


@case
def third_derivative(x, _):
    y = x.tanh() * x.exp()
    found = []
    for _ in range(3):
        [y] = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y)
    return found


@case
def in_place(x, b):
    c = x * 2.0
    c.add_(b)
    c.mul_(x)
    c[3:9] *= 2
    return c


def changed_result(x, b):
    c = x.exp()
    c.add_(b)
    c.sum().backward()


def changed_input(x, b):
    y = b.clone()
    c = x * y
    y.add_(1.0)
    c.sum().backward()


def freed_graph(x, b):
    y = (x * x * b).sum()
    y.backward()
    y.backward()


@case
def errors(x, b):
    return [
        error_of(lambda: changed_result(x, b)),
        error_of(lambda: changed_input(x, b)),
        error_of(lambda: freed_graph(x, b)),
        error_of(lambda: x.add_(b)),
        error_of(lambda: torch.add(x, b, out=torch.empty_like(b))),
    ], x * b


@case
def hooks(x, b):
    seen = []
    c = x * b
    c.register_hook(lambda grad: seen.append(grad.clone()))
    x.register_hook(lambda grad: grad * 2)
    x.register_post_accumulate_grad_hook(
        lambda leaf: seen.append(leaf.grad.sum().item())
    )
    (c + x).sum().backward()
    return seen


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x + x

    @staticmethod
    def backward(ctx, grad):
        [x] = ctx.saved_tensors
        return grad * (x + x) + grad


@case
def function_of_somebody_else(x, b):
    return Square.apply(x + b)


@case
def saved_tensor_hooks(x, b):
    with torch.autograd.graph.save_on_cpu():
        return ((x + b) * x).exp()


@case
def backward_in_another_thread(x, b):
    in_thread((x * b + x).sum().backward)


@case
def forward_in_another_thread(x, b):
    return in_thread((x * b + x).sum) * 2


def checkpoint(x, b, *, reentrant):
    return torch.utils.checkpoint.checkpoint(
        lambda x: (x * b + x).exp().relu(), x, use_reentrant=reentrant
    )


@case
def checkpoints(x, b):
    whole = checkpoint(x, b, reentrant=True)
    return whole + checkpoint(x, b, reentrant=False)


@case
def mixed_dtypes(x, b):
    y = leaf(b.double())
    ((x * y).to(torch.float16) + x.bfloat16()).float().sum().backward()
    return y.grad


@case
def detached_part(x, b):
    y = x * b
    with torch.no_grad():
        z = x + y
    (y + y.detach() * x).sum().backward()
    return z.requires_grad, y.requires_grad, y.is_leaf


@case
def anomaly_mode(x, _):
    with torch.autograd.detect_anomaly(check_nan=True):
        y = x.abs() + 1
        (y.log() * y).sum().backward()


@pytest.mark.parametrize("gradient", CASES)
def test_gradients(same, gradient):
    same.training(gradient)


GRADIENT_STEPS = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x - y.mean(0),
    lambda x, _: torch.tanh(x),
    torch.maximum,
    lambda x, _: x.sigmoid() * 2,
    lambda x, y: x / (y.abs() + 1),
    lambda x, y: x.sum(1, keepdim=True) + y,
    lambda x, _: x.reshape(6, 4).t() * 0.5,
    lambda x, y: x.clone().add_(y),
    lambda x, _: x.contiguous(),
]


@pytest.mark.parametrize("seed", range(20))
def test_gradients_of_random_programs(device, seed):
    def run():
        choose = random.Random(seed)
        made = torch.Generator().manual_seed(seed)
        leaves = [
            torch.rand(4, 6, generator=made).to(device).requires_grad_()
            for _ in range(3)
        ]
        pool = [x * 1.0 for x in leaves]
        for _ in range(20):
            step = choose.choice(GRADIENT_STEPS)
            result = step(choose.choice(pool), choose.choice(pool))
            pool[choose.randrange(3)] = result
        loss = sum(x.tanh().sum() for x in pool)
        return loss, torch.autograd.grad(loss, leaves, allow_unused=True)

    compare(run, tolerances={"rtol": 1e-4, "atol": 1e-5})
