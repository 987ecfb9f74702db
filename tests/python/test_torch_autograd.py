"""Gradients, of every kind, are those of eager."""

from __future__ import annotations

import pytest
from torch_support import error_of, in_thread, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    # PyTorch's transforms use deprecated functions of PyTorch.
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]


def leaf(tensor):
    return tensor.detach().clone().requires_grad_()


def test_gradient_of_a_chain(same):
    def function(a, b):
        x = leaf(a)
        ((x + b) * x).relu().exp().sum().backward()
        return x.grad

    same.training(function)


def test_gradients_are_added_up(same):
    def function(a, b):
        x = leaf(a)
        for _ in range(3):
            (x * b).sum().backward()
        return x.grad

    same.training(function)


def test_double_backward(same):
    def function(a, _):
        x = leaf(a * 0.1)
        [slope] = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        (slope * slope).sum().backward()
        return slope, x.grad

    same.training(function)


def test_third_derivative(same):
    def function(a, _):
        x = leaf(a * 0.1)
        y = x.tanh() * x.exp()
        found = []
        for _ in range(3):
            [y] = torch.autograd.grad(y.sum(), x, create_graph=True)
            found.append(y)
        return found

    same.training(function)


def test_in_place_in_a_graph(same):
    def function(a, b):
        x = leaf(a)
        c = x * 2.0
        c.add_(b)
        c.mul_(x)
        c[3:9] *= 2
        c.sum().backward()
        return x.grad

    same.training(function)


def test_change_of_a_saved_tensor_is_the_error_of_eager(same):
    def function(a, b):
        x = leaf(a)
        c = x.exp()
        c.add_(b)
        return error_of(lambda: c.sum().backward())

    same.training(function)


def test_change_of_a_saved_input_is_the_error_of_eager(same):
    def function(a, b):
        x = leaf(a)
        y = b.clone()
        c = x * y
        y.add_(1.0)
        return error_of(lambda: c.sum().backward())

    same.training(function)


def test_change_of_a_leaf_is_the_error_of_eager(same):
    def function(a, b):
        return error_of(lambda: leaf(a).add_(b)), a * b

    same.training(function)


def test_out_that_needs_gradients_is_the_error_of_eager(same):
    def function(a, b):
        x = leaf(a)
        out = torch.empty_like(b)
        return error_of(lambda: torch.add(x, b, out=out)), a * b

    same.training(function)


def test_hooks(same):
    def function(a, b):
        seen = []
        x = leaf(a)
        c = x * b
        c.register_hook(lambda grad: seen.append(grad.clone()))
        x.register_hook(lambda grad: grad * 2)
        (c + x).sum().backward()
        return seen, x.grad

    same.training(function)


def test_hook_after_the_gradient_is_added(same):
    def function(a, b):
        seen = []
        x = leaf(a)
        x.register_post_accumulate_grad_hook(
            lambda leaf: seen.append(leaf.grad.sum().item())
        )
        (x * b).sum().backward()
        return seen

    same.training(function)


def test_function_of_somebody_else(same):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x + x

        @staticmethod
        def backward(ctx, grad):
            [x] = ctx.saved_tensors
            return grad * (x + x) + grad

    def function(a, b):
        x = leaf(a)
        Square.apply(x + b).sum().backward()
        return x.grad

    same.training(function)


def test_saved_tensor_hooks(same):
    def function(a, b):
        x = leaf(a)
        with torch.autograd.graph.save_on_cpu():
            y = ((x + b) * x).exp()
        y.sum().backward()
        return x.grad

    same.training(function)


def test_forward_mode(same):
    def function(a, b):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(a, b)
            return forward.unpack_dual((dual * dual + dual).exp()).tangent

    same.training(function)


def test_backward_in_another_thread(same):
    def function(a, b):
        x = leaf(a)
        y = (x * b + x).sum()
        in_thread(y.backward)
        return x.grad

    same.training(function)


def test_forward_in_another_thread(same):
    def function(a, b):
        x = leaf(a)
        y = in_thread((x * b + x).sum)
        (y * 2).backward()
        return x.grad

    same.training(function)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(same, reentrant):
    checkpoint = torch.utils.checkpoint.checkpoint

    def function(a, b):
        x = leaf(a * 0.1)
        checkpoint(
            lambda x: (x * b + x).exp().relu(), x, use_reentrant=reentrant
        ).sum().backward()
        return x.grad

    same.training(function)


def test_gradients_through_views_and_broadcasting(same):
    def function(a, b):
        x, y = leaf(a), leaf(b[:32])
        z = x.view(32, 32).t() * y + y[:, None]
        (z[3:9] - z[4:10]).square().mean().backward()
        return x.grad, y.grad

    same.training(function)


def test_gradients_of_mixed_dtypes(same):
    def function(a, b):
        x, y = leaf(a), leaf(b.double())
        ((x * y).to(torch.float16) + x.bfloat16()).float().sum().backward()
        return x.grad, y.grad

    same.training(function)


def test_detached_part_has_no_gradient(same):
    def function(a, b):
        x = leaf(a)
        y = x * b
        (y + y.detach() * x).sum().backward()
        with torch.no_grad():
            z = x + y
        return x.grad, z.requires_grad, y.requires_grad, y.is_leaf

    same.training(function)


def test_graph_that_was_freed_is_the_error_of_eager(same):
    def function(a, b):
        x = leaf(a)
        y = (x * x * b).sum()
        y.backward()
        return error_of(y.backward), x.grad

    same.training(function)


def test_anomaly_mode(same):
    def function(a, _):
        x = leaf(a.abs() + 1)
        with torch.autograd.detect_anomaly(check_nan=True):
            (x.log() * x).sum().backward()
        return x.grad

    with pytest.warns(UserWarning, match="Anomaly Detection"):
        same.training(function)


def test_gradcheck(device):
    x = torch.linspace(0.5, 2, 6, dtype=torch.float64, device=device)
    x.requires_grad_()
    with scheduler():
        assert torch.autograd.gradcheck(lambda x: (x * x + x).sqrt(), x)
        assert torch.autograd.gradgradcheck(lambda x: (x * x).exp(), x)
