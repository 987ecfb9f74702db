"""Forward derivatives, functorch and operators of higher order."""

import pytest
from torch_support import compare, error_of, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    # PyTorch's forward derivatives use deprecated functions.
    pytest.mark.filterwarnings("ignore"),
]

F = torch.nn.functional
fw = torch.autograd.forward_ad


def pair(device):
    generator = torch.Generator().manual_seed(3)
    return tuple(
        torch.rand(4, 3, generator=generator).to(device) + 0.5 for _ in range(2)
    )


def compare_pending(function, device):
    """Compare a function of two tensors, which are pending, with eager."""
    compare(lambda a, b: function(a * 1.0, b * 1.0), *pair(device), takes=0)


def dual(operation):
    """Return a function that gives a value and its forward derivative."""

    def call(a, b):
        with fw.dual_level():
            result = operation(fw.make_dual(a, b), b)
            return list(fw.unpack_dual(result))

    return call


FORWARD = [
    lambda a, _: a * 0.5,
    lambda a, _: 0.5 * a,
    lambda a, _: a + 1,
    lambda a, _: 1 - a,
    lambda a, _: a / 3,
    lambda a, _: 3 / a,
    lambda a, _: a**2,
    lambda a, _: a**2.5,
    lambda a, _: 2**a,
    lambda a, b: a * b,
    lambda a, b: torch.where(a > b, a, 0.0),
    lambda a, _: a.clamp(0.6, 0.9),
    lambda a, _: a.exp().log1p(),
    lambda a, _: F.gelu(a),
    lambda a, _: F.leaky_relu(a, 0.2),
    lambda a, _: F.softplus(a),
    lambda a, _: a.sum(0),
    lambda a, _: a.mean(),
    lambda a, _: a.softmax(1),
    lambda a, _: F.layer_norm(a, (3,)),
    lambda a, b: F.kl_div(a.log(), b, reduction="batchmean"),
    lambda a, b: a.lerp(b, 0.3),
    lambda a, b: torch.addcmul(a, a, b, value=0.5),
    lambda a, b: torch.add(a, b, alpha=2),
    lambda a, b: a @ b.t(),
    lambda a, _: a.clone().mul_(2.0),
    lambda a, _: torch._foreach_mul([a], 2.0)[0],
]


@pytest.mark.parametrize("operation", range(len(FORWARD)))
def test_forward_derivatives(device, operation):
    compare_pending(dual(FORWARD[operation]), device)


@pytest.mark.parametrize("operation", [0, 2, 6, 9, 12, 16, 18])
def test_gradcheck_forwards(device, operation):
    function = FORWARD[operation]
    x = torch.rand(3, 2, dtype=torch.float64, device=device) + 0.5
    y = torch.rand(3, 2, dtype=torch.float64, device=device) + 0.5
    x.requires_grad_()
    with scheduler(takes=0):
        assert torch.autograd.gradcheck(
            lambda t: function(t, y), (x,), check_forward_ad=True
        )
        assert torch.autograd.gradgradcheck(lambda x: (x * x).exp(), x)


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3 * 1.0

    @staticmethod
    def setup_context(ctx, inputs, _output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


TRANSFORMS = [
    lambda a, b: torch.func.vjp(lambda x: 3 - x / 2, a)[1](b),
    lambda a, b: torch.func.jvp(lambda x: x * 3 + 1, (a,), (b,)),
    lambda a, _: torch.func.grad(lambda x: (x * 2 + 1).sum())(a),
    lambda a, _: torch.func.jacrev(lambda x: x * x + 2)(a),
    lambda a, _: torch.func.jacfwd(lambda x: x * x + 2)(a),
    lambda a, _: torch.func.hessian(lambda x: (x**3).sum())(a[0]),
    torch.func.vmap(lambda x, y: x * 2 + y),
    lambda a, _: torch.func.vmap(torch.func.grad(lambda x: (x**2).sum()))(a),
    lambda a, b: torch.func.linearize(lambda x: x * 3, a)[1](b),
    lambda a, _: torch.func.functionalize(lambda x: x.clone().add_(1) * 2)(a),
    lambda a, _: torch.func.vmap(Cube.apply)(a),
    lambda a, _: torch.func.jacrev(Cube.apply)(a),
    lambda a, _: torch.func.vmap(
        torch.func.grad(lambda x: Cube.apply(x).sum())
    )(a),
]


@pytest.mark.parametrize("transform", range(len(TRANSFORMS)))
def test_transforms(device, transform):
    compare_pending(TRANSFORMS[transform], device)


def conditional(a, b):
    yes = (a.sum() > 0).reshape(())
    return torch.cond(yes, lambda x, y: x * y, lambda x, y: x - y, (a, b))


def loop(a, _):
    from torch._higher_order_ops import while_loop  # noqa: PLC0415

    count = torch.zeros((), dtype=torch.int64, device=a.device)
    return while_loop(
        lambda i, _: i < 3, lambda i, x: (i + 1, x * 2.0), (count, a)
    )


def mapped(a, b):
    from torch._higher_order_ops.map import map as each  # noqa: PLC0415

    return each(lambda x, y: x * 2 + y, a, b[0])


def attention(a, b):
    from torch.nn.attention.flex_attention import (  # noqa: PLC0415
        flex_attention,
    )

    q = a.repeat(1, 8)[:, :16].reshape(1, 2, 2, 16)
    k = b.repeat(1, 8)[:, :16].reshape(1, 2, 2, 16)
    return flex_attention(
        q, k, k, score_mod=lambda s, _b, _h, i, j: s + (i - j) * 0.5
    )


@pytest.mark.parametrize("function", [conditional, loop, mapped, attention])
def test_operators_of_higher_order(device, function):
    # The compiler's requirements may be missing here; then eager fails too.
    refused = error_of(lambda: function(*pair(device)))
    if refused is not None:
        with scheduler(takes=0):
            assert error_of(lambda: function(*pair(device))) == refused
        pytest.skip(str(refused))
    compare_pending(function, device)
