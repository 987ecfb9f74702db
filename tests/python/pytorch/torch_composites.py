"""Calls of every operator that PyTorch makes of others, as far as it has any."""

import contextlib
import functools
import math

from torch_operations import gradients, samples, tensors_in
from torch_support import outcome, torch

DTYPES = (torch.float32, torch.int64, torch.bool)
SAMPLES = 4


def plain(x):
    """Return whether schedulers take such a tensor, if it is small."""
    return isinstance(x, torch.Tensor) and (
        x.layout == torch.strided
        and not x.is_complex()
        and not x.is_conj()
        and not x.is_neg()
        and type(x) in (torch.Tensor, torch.nn.Parameter)
    )


def pending(x):
    """Return the tensor's value as a deferred one, in a scheduler."""
    if not plain(x):
        return x
    yes = torch.ones((), dtype=torch.bool, device=x.device)
    with torch.enable_grad():  # which PyTorch's samples turn off
        return torch.where(yes, x, x)


def own(x):
    """Return a tensor of the same layout with separate memory."""
    if not isinstance(x, torch.Tensor):
        return x
    return x.detach().clone().requires_grad_(x.requires_grad)


def forms(op):
    """Yield the functions that call an operator and its aliases on a sample."""
    for one in [op, *op.aliases]:
        function = getattr(one, "op", None)
        if function is not None:
            yield lambda s, f=function: f(s.input, *s.args, **s.kwargs)
        for variant in (one.method_variant, one.inplace_variant):
            if variant is not None:
                yield lambda s, f=variant: f(s.input, *s.args, **s.kwargs)
    if op.supports_out:
        yield lambda s: into(op, s)


def into(op, sample):
    result = op(sample.input, *sample.args, **sample.kwargs)
    if not isinstance(result, torch.Tensor):
        return result
    out = torch.zeros_like(result)
    return op(sample.input, *sample.args, out=out, **sample.kwargs)


def calls_of(op, device):
    """Yield functions and samples of one operator of the database."""
    known = op.supported_dtypes(device)
    for dtype in (dtype for dtype in DTYPES if dtype in known):
        for sample in found(op, device, dtype):
            for form in forms(op):
                yield form, sample
    if op.supports_autograd and torch.float32 in known:
        for sample in found(op, device, torch.float32, requires_grad=True):
            yield functools.partial(gradients, op), sample


def found(op, device, dtype, **options):
    with contextlib.suppress(BaseException):  # pytest's skip, of no samples
        return samples(op, device, dtype, SAMPLES, **options)
    return []


class Sample:
    """Arguments of an operator that is called by its name alone."""

    def __init__(self, arguments, named):
        self.arguments = arguments
        self.named = named
        self.input = arguments[0] if arguments else None

    def transform(self, function):
        def each(value):
            if isinstance(value, list):
                return [each(one) for one in value]
            return function(value)

        return Sample(each(self.arguments), self.named)


NUMBERS = {"number": 2, "int": 1, "float": 0.5, "bool": True, "List[int]": [1]}


def arguments_of(schema, tensor):
    """Return a sample of an operator whose tensors are `tensor`, or None."""
    arguments = []
    named = {}
    for each in schema.arguments:
        kind = str(each.type)
        if each.is_out:
            named[each.name] = torch.empty(
                0, dtype=tensor.dtype, device=tensor.device
            )
        elif kind == "Optional[number]":
            named[each.name] = 1
        elif each.has_default_value():
            continue
        elif kind == "Tensor":
            arguments.append(tensor)
        elif kind == "List[Tensor]":
            arguments.append([tensor, tensor])
        elif kind in NUMBERS:
            arguments.append(NUMBERS[kind])
        else:
            return None
    return Sample(arguments, named)


def tensors_for(device):
    """Yield possible operands of an operator that is known by name."""
    for shape in ((3, 3), (4,), (2, 3, 4)):
        x = torch.arange(1.0, 1.0 + math.prod(shape), device=device)
        x = x.reshape(shape) / 5
        yield from (x, x.long(), x > 1)


def calls_by_name(name, device):
    """Yield functions and samples of an operator, by its parameters."""
    base, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")
    private = base.startswith("_") and not base.startswith("__")
    if private or base in LEFT:
        return

    def call(sample):
        return operator(*sample.arguments, **sample.named)

    for tensor in tensors_for(device):
        sample = arguments_of(operator._schema, tensor)
        if sample is None:
            return
        if not isinstance(run(call, sample, puts_off=False)[0], str):
            yield call, sample


# They change a tensor's memory or node, or look at more than values.
LEFT = (
    "set_data",
    "set_",
    "data",
    "retain_grad",
    "output_nr",
    "requires_grad_",
)


def modules():
    """Yield layers of networks, and the shapes of their inputs."""
    nn = torch.nn
    yield nn.LSTM(4, 3, 2, bidirectional=True), (5, 2, 4)
    yield nn.GRU(4, 3), (5, 2, 4)
    yield nn.RNN(4, 3), (5, 2, 4)
    yield nn.RNN(4, 3, nonlinearity="relu"), (5, 2, 4)
    yield nn.LSTMCell(4, 3), (2, 4)
    yield nn.GRUCell(4, 3), (2, 4)
    yield nn.RNNCell(4, 3), (2, 4)
    yield nn.RNNCell(4, 3, nonlinearity="relu"), (2, 4)
    yield nn.Conv1d(4, 3, 3, padding="same"), (2, 4, 8)
    yield nn.Conv2d(4, 3, 3, padding="same"), (2, 4, 8, 8)
    yield nn.Conv3d(4, 3, 3, padding="same"), (2, 4, 5, 5, 5)
    yield nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), (2, 4)
    yield nn.MultiheadAttention(4, 2, batch_first=True), (2, 5, 4)
    yield nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 5, 4)
    yield nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU6()), (6, 4)
    yield nn.Sequential(nn.Flatten(), nn.GELU(), nn.SELU(True)), (6, 4)
    yield nn.Sequential(nn.AlphaDropout(), nn.FeatureAlphaDropout()), (6, 4)
    yield nn.Bilinear(4, 4, 2), (6, 4)


def calls_of_modules(device):
    """Yield functions and samples of layers, with their derivatives."""
    for module, shape in modules():
        own_module = module.to(device)
        count = 2 if isinstance(module, torch.nn.Bilinear) else 1
        if isinstance(module, torch.nn.MultiheadAttention):
            count = 3
        x = torch.rand(*shape).to(device).requires_grad_()

        def call(sample, module=own_module, count=count):
            (given,) = sample.arguments
            result = module(*[given] * count)
            results = [x for x in tensors_in(result) if x.is_floating_point()]
            total = sum(x.sum() for x in results)
            return results, torch.autograd.grad(total, given)

        yield call, Sample([x], {})


def run(form, sample, *, puts_off):
    """Return the result of one call and its effects on the operands."""
    sample = sample.transform(own)
    if puts_off:
        sample = sample.transform(pending)
    torch.manual_seed(4)
    result = outcome(lambda: form(sample))
    return [result, sample.input]


def names_in(function):
    """Return the names of the operators that a call comes through."""
    from torch._C._profiler import _ExperimentalConfig  # noqa: PLC0415

    config = _ExperimentalConfig(capture_overload_names=True)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        experimental_config=config,
    ) as profile:
        function()
    return {
        f"{event.name}.{event.overload_name}".removeprefix("aten::").rstrip(".")
        for event in profile.events()
        if event.name.startswith("aten::")
    }
