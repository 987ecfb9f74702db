"""Modes, subclasses and layouts that PyTorch layers on a call.

test_torch_transforms.py has functorch, test_torch_attributes.py sparse and
nested tensors.
"""

import functools
import random

import pytest

pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch_support import compare, error_of, torch

pytestmark = [
    pytest.mark.torch,
    # PyTorch's tracers use deprecated functions of PyTorch.
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
    # PyTorch 2.11 says so at the first use.
    pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning"),
]

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
        compare(functools.partial(steps_in_modes, seed, device), takes=5)


CASES = []


def case(function):
    CASES.append(pytest.param(function, id=function.__name__))
    return function


@case
def autocast(a, b):
    with torch.autocast(a.device.type, dtype=torch.bfloat16):
        product = (a + b).view(32, 32) @ (a * b).view(32, 32)
        return product, product * 2, (product + a.view(32, 32)).exp().sum()


class DispatchLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, _types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


class FunctionLog(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, _types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", "?"))
        return function(*args, **(kwargs or {}))


@case
def modes_of_python(a, b):
    found = []
    for kind in (DispatchLog, FunctionLog):
        c = a + b
        with kind() as log:
            found.append((c + a) * 2.0)
        found.append(log.names)
    return found


@case
def default_device(a, b):
    with torch.device(a.device.type):
        c = torch.ones(4) + 1
    return c * 2 + (a + b)[:4]


class Mine(torch.Tensor):
    pass


class Refusing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.add:
            return "refused"
        return super().__torch_function__(function, types, args, kwargs)


@case
def subclasses(a, b):
    c = a.as_subclass(Mine) + b
    d = (a + b).as_subclass(Refusing)
    both = TwoTensor(a + 1, b * 2)
    both = (both + both) * both
    return [
        *(type(c).__name__, c.as_subclass(torch.Tensor) * 1.0),
        *(d.add(b), (d * 2).as_subclass(torch.Tensor), a.add(d)),
        *(both.a, both.b),
    ]


@case
def tensors_without_elements(a, b):
    c = a + b
    meta = torch.empty(4, device="meta")
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(a)
        fake = (fake + fake) * 2.0
    return tuple(fake.shape), str(fake.device), c, tuple((meta + meta).shape)


@case
def tracers(a, b):
    made = make_fx(lambda x, y: (x + y) * x)(a + b, b)
    traced = torch.jit.trace(lambda x, y: (x + y) * x, (a + b, b))
    graph = torch.fx.symbolic_trace(lambda x, y: (x + y).relu() * 2)
    return [
        *([str(node.target) for node in made.graph.nodes], made(a, b)),
        *(traced(a, b), traced(a * 2, b)),
        *(graph(a + b, b), [node.name for node in graph.graph.nodes]),
    ]


@case
def complex_numbers(a, b):
    z = torch.complex(a, b)
    return (
        *(z + z, z * 2j, z.abs() + a, torch.view_as_real(z * z) * 2),
        *((z.conj() + z).real, z.conj().imag + a, torch._neg_view(a) + b),
        *(z * z.conj(), z.conj().resolve_conj()),
    )


@case
def parameter_without_gradients(a, b):
    parameter = torch.nn.Parameter(a.clone(), requires_grad=False)
    return parameter + b, parameter * 2.0, type(parameter * 1).__name__


@case
def profiler(a, b):
    with torch.profiler.profile() as profile:
        result = torch.cumsum((a + b).relu(), 0)
    names = {event.key for event in profile.key_averages()}
    return result, "aten::cumsum" in names


@case
def deterministic_algorithms(a, b):
    torch.use_deterministic_algorithms(True)
    try:
        empty = torch.empty(8, device=a.device)  # filled with NaN
        return empty + a[:8], (a + b).sum()
    finally:
        torch.use_deterministic_algorithms(False)


@case
def default_dtype(a, b):
    torch.set_default_dtype(torch.float64)
    try:
        integers = torch.arange(4, device=a.device)
        return integers * 0.5, integers / 2, (a + b) * 0.5, integers.sum()
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("function", CASES)
def test_modes_mean_the_same(same, function):
    same(function)
