"""Modes, transforms, subclasses and layouts that PyTorch layers on a call."""

from __future__ import annotations

import functools
import random

import pytest
from torch_support import cloned, error_of, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    # PyTorch's transforms use deprecated functions of PyTorch.
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]


def test_inference_mode(same):
    def function(a, b):
        with torch.inference_mode():
            c = (a + b) * 2.0
        return c, c.is_inference(), error_of(c.requires_grad_)

    same(function)


def test_inference_tensor_outside_of_the_mode(same):
    def function(a, b):
        with torch.inference_mode():
            c = a + b
        d = c * 2
        return d, d.is_inference(), error_of(lambda: c.add_(1))

    same(function, grad=(True,))


MODES = {
    "none": torch.enable_grad,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "out of it": lambda: torch.inference_mode(mode=False),
}
STEPS = {
    "add": lambda x, y: x + y,
    "number": lambda x, _: 0.5 * x,
    "abs": lambda x, _: x.neg().abs(),
    "alpha": lambda x, y: torch.sub(x, y, alpha=2),
    "where": lambda x, y: torch.where(x > y, x, y),
    "sum": lambda x, y: x.sum(0) + y,
    "row": lambda x, _: x[1],
    "view": lambda x, _: x.view(-1),
    "clone": lambda x, _: x.clone(),
    "detach": lambda x, _: x.detach(),
    "in place": lambda x, y: x.add_(y),
    "in place, number": lambda x, _: x.mul_(0.5),
    "in place, alpha": lambda x, y: x.sub_(y, alpha=0.5),
    "of a view": lambda x, _: x[:1].neg_(),
    "fill": lambda x, _: x.fill_(2),
    "copy": lambda x, y: x.copy_(y),
    "out": lambda x, y: torch.mul(x, 2, out=y),
    "of lists": lambda x, y: torch._foreach_add([x, y], 1)[1],
    # A GPU writes the tensors of a list at once, so each has its own memory.
    "of lists, in place": lambda x, y: torch._foreach_mul_([x, y.clone()], 2),
    "zeros": lambda x, _: torch.zeros_like(x),
    "grad": lambda x, _: x.detach().requires_grad_(),
}


def version_of(x):
    return None if x.is_inference() else x._version


def state_of(x, born):
    """Return a tensor's visible state, and whether it was written."""
    version = version_of(x)
    is_written = version is not None and version - born
    return x.detach().tolist(), x.requires_grad, x.is_inference(), is_written


def steps_in_modes(seed, device):
    """Run random steps in random modes; return all tensors and errors."""
    dice = random.Random(seed)
    made = [torch.arange(-2.0, 4, device=device).view(2, 3)]
    born = [0]
    told = []
    for _ in range(30):
        with MODES[dice.choice([*MODES])]():
            for _ in range(dice.randint(1, 5)):
                name = dice.choice([*STEPS])
                step = functools.partial(
                    STEPS[name], dice.choice(made), dice.choice(made)
                )
                results = []
                error = error_of(lambda f=step, to=results: to.append(f()))
                told.append((name, error))
                made += [one for one in results if torch.is_tensor(one)]
                born += [version_of(one) for one in made[len(born) :]]
    return told, [*map(state_of, made, born)]


def test_random_steps_in_random_modes(device):
    for seed in range(20):
        expected = steps_in_modes(seed, device)
        with scheduler(takes=5):
            result = steps_in_modes(seed, device)
        assert result[0] == expected[0], seed
        for k, (one, other) in enumerate(
            zip(result[1], expected[1], strict=True)
        ):
            assert one == other, (seed, k)


def test_autocast(same):
    def function(a, b):
        with torch.autocast(a.device.type, dtype=torch.bfloat16):
            product = (a + b).view(32, 32) @ (a * b).view(32, 32)
            return product, product * 2, (product + a.view(32, 32)).exp().sum()

    same(function)


def test_vmap(same):
    def function(a, b):
        x, y = a.view(32, 32), b.view(32, 32)
        return torch.vmap(lambda x, y: (x + y) * x)(x, y)

    same(function)


def test_vmap_over_a_pending_tensor(same):
    def function(a, b):
        return torch.vmap(lambda x: x * 2.0)((a + b).view(32, 32))

    same(function)


def test_functional_gradients(same):
    def function(a, b):
        slope = torch.func.grad(lambda x: ((x + b) * x).sum())(a)
        _, tangent = torch.func.jvp(lambda x: (x * b + x).exp(), (a,), (b,))
        _, pull = torch.func.vjp(lambda x: (x * b).relu(), a)
        return slope, tangent, pull(b)

    same(function)


def test_hessian(same):
    same(lambda a, _: torch.func.hessian(lambda x: (x * x * x).sum())(a[:8]))


def test_gradients_for_each_sample(same):
    def function(a, b):
        def loss(weight, x):
            return ((weight * x).tanh() ** 2).sum()

        slopes = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))
        return slopes(a[:32] * 1.0, b.view(32, 32))

    same(function)


def test_functionalize(same):
    def function(a, b):
        return torch.func.functionalize(lambda x: (x + b).add_(b))(a * 1.0)

    same(function)


def test_python_dispatch_mode_sees_every_operation(same):
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415

    class Log(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, function, _types, args=(), kwargs=None):
            self.names.append(str(function))
            return function(*args, **(kwargs or {}))

    def function(a, b):
        c = a + b
        with Log() as log:
            d = (c + a) * 2.0
        return d, log.names

    same(function)


def test_python_function_mode_sees_every_call(same):
    class Log(torch.overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, function, _types, args=(), kwargs=None):
            self.names.append(getattr(function, "__name__", "?"))
            return function(*args, **(kwargs or {}))

    def function(a, b):
        c = a + b
        with Log() as log:
            d = (c + b) * 2.0
        return d, log.names

    same(function)


def test_default_device_mode(same):
    def function(a, b):
        with torch.device(a.device.type):
            c = torch.ones(4) + 1
        return c * 2 + (a + b)[:4]

    same(function)


def test_subclass_keeps_its_class(same):
    class Mine(torch.Tensor):
        pass

    def function(a, b):
        c = a.as_subclass(Mine) + b
        return type(c).__name__, c.as_subclass(torch.Tensor) * 1.0

    same(function)


def test_subclass_that_overrides_operators(same):
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is torch.Tensor.add:
                return "refused"
            return super().__torch_function__(function, types, args, kwargs)

    def function(a, b):
        c = (a + b).as_subclass(Refusing)
        return c.add(b), (c * 2).as_subclass(torch.Tensor), a.add(c)

    same(function)


def test_wrapper_subclass(same):
    from torch.testing._internal.two_tensor import (  # noqa: PLC0415
        TwoTensor,
    )

    def function(a, b):
        both = TwoTensor(a + 1, b * 2)
        c = (both + both) * both
        return c.a, c.b

    same(function)


def test_fake_tensors(same):
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415

    def function(a, b):
        c = a + b
        with FakeTensorMode() as mode:
            fake = mode.from_tensor(a)
            fake = (fake + fake) * 2.0
        return tuple(fake.shape), str(fake.device), c

    same(function)


def test_make_fx(same):
    from torch.fx.experimental.proxy_tensor import make_fx  # noqa: PLC0415

    def function(a, b):
        graph = make_fx(lambda x, y: (x + y) * x)(a + b, b)
        return [str(node.target) for node in graph.graph.nodes], graph(a, b)

    same(function)


def test_meta_tensors(same):
    def function(a, b):
        meta = torch.empty(4, device="meta")
        return tuple((meta + meta).shape), a + b

    same(function)


def test_conjugate_and_negative_views(same):
    def function(a, b):
        z = torch.complex(a, b)
        return (
            (z.conj() + z).real,
            z.conj().imag + a,
            torch._neg_view(a) + b,
            z * z.conj(),
            z.conj().resolve_conj(),
        )

    same(function)


def test_complex(same):
    def function(a, b):
        z = torch.complex(a, b)
        return z + z, z * 2j, z.abs() + a, torch.view_as_real(z * z) * 2

    same(function)


def test_sparse(same):
    def function(a, b):
        sparse = (a + b).view(32, 32).to_sparse()
        return (sparse + sparse).to_dense(), (sparse * 2.0).to_dense()

    same(function)


@pytest.mark.filterwarnings("ignore:.*(nested|prototype).*:UserWarning")
def test_nested_tensors(same):
    def function(a, b):
        nested = torch.nested.nested_tensor([(a + b)[:3], a[:5]])
        return [x * 1.0 for x in (nested * 2).unbind()]

    same(function)


def test_bfloat16(same):
    same(lambda a, b: (a.bfloat16() + b.bfloat16()).relu() * 2)


def test_jit_trace_and_script(same):
    def function(a, b):
        traced = torch.jit.trace(lambda x, y: (x + y) * x, (a + b, b))
        return traced(a, b), traced(a * 2, b)

    same(function)


def test_symbolic_trace(same):
    def function(a, b):
        graph = torch.fx.symbolic_trace(lambda x, y: (x + y).relu() * 2)
        return graph(a + b, b), [node.name for node in graph.graph.nodes]

    same(function)


def test_parameter_without_gradients(same):
    def function(a, b):
        parameter = torch.nn.Parameter(a.clone(), requires_grad=False)
        return parameter + b, parameter * 2.0, type(parameter * 1).__name__

    same(function)


# PyTorch 2.11 says so at the first use.
@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")
def test_profiler(same):
    def function(a, b):
        with torch.profiler.profile() as _:
            return (a + b).relu()

    same(function)


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")
def test_profiler_names_what_is_computed(device):
    a = torch.ones(8, device=device)
    with scheduler(takes=0), torch.profiler.profile() as profile:
        b = torch.cumsum(a + a, 0)
    assert torch.equal(b, torch.arange(2.0, 17, 2, device=device))
    assert any("cumsum" in event.key for event in profile.key_averages())


def test_deterministic_algorithms(same):
    def function(a, b):
        torch.use_deterministic_algorithms(True)
        try:
            empty = torch.empty(8, device=a.device)  # filled with NaN
            return empty + a[:8], (a + b).sum()
        finally:
            torch.use_deterministic_algorithms(False)

    same(function)


def test_default_dtype(same):
    def function(a, b):
        torch.set_default_dtype(torch.float64)
        try:
            integers = torch.arange(4, device=a.device)
            return integers * 0.5, integers / 2, (a + b) * 0.5, integers.sum()
        finally:
            torch.set_default_dtype(torch.float32)

    same(function)


def test_scheduler_inside_of_a_mode(device):
    a = torch.ones(8, device=device)
    with torch.inference_mode(), scheduler():
        b = cloned(a + a)
    assert b.tolist() == [2.0] * 8
