"""Own operators and PyTorch's in one order."""

import pytest
from torch_support import assert_same, in_thread, scheduler, torch

import gpuos
import gpuos.torch as gt

pytestmark = pytest.mark.torch

ELEMS = 4096
ROUNDS = 30
STEPS = 12
NAME = "slow_of_tests"
DEFINED = []  # where


@pytest.fixture
def runtime(device):
    return gt.runtime(device)


@pytest.fixture
def other(device):
    with gpuos.Runtime(backend="host" if device == "cpu" else "cuda") as made:
        yield made


def define(runtime):
    """Return an operator that takes a while, so that to be early is wrong."""
    if runtime not in DEFINED:
        text = "x"
        for _ in range(STEPS):
            text = f"sin(exp(abs({text}) * -0.5) + 0.25)"
        runtime.define(NAME, expression=f"o = {text} + y * 2.0")
        DEFINED.append(runtime)
    return NAME


def slow(x, y):
    for _ in range(STEPS):
        x = torch.sin(torch.exp(-x.abs() * 0.5) + 0.25)
    return x + y * 2.0


def tensors(device, count=4):
    generator = torch.Generator().manual_seed(5)
    return [
        torch.rand(ELEMS, generator=generator).to(device) for _ in range(count)
    ]


def test_runtime_of_a_device(device):
    assert gt.runtime(device) is gt.runtime(torch.device(device))
    assert gt.runtime(device).backend == ("host" if device == "cpu" else "cuda")
    with pytest.raises(gpuos.InvalidArgument, match="cpu or cuda, got meta"):
        gt.runtime("meta")


READS = {
    "deferred": lambda o: o + 1.0,
    "reduced": lambda o: o.sum(),
    "eager": lambda o: o.sort().values,
    "numpy": lambda o: torch.from_numpy(o.cpu().numpy().copy()),
    "item": lambda o: torch.tensor(o[ELEMS - 1].item()),
    "list": lambda o: torch.tensor(o[-8:].tolist()),
    "clone": torch.clone,
    "cat": lambda o: torch.cat([o, o]),
    "matmul": lambda o: o.view(64, 64) @ o.view(64, 64),
    "view": lambda o: o.view(-1, 2)[ELEMS // 4 :] * 2.0,
    "other thread": lambda o: in_thread(lambda: o.sort().values),
    "other thread's view": lambda o: in_thread(lambda: o.view(2, -1).cumsum(1)),
}


@pytest.mark.never(
    lambda inside, read: not inside and read in ("numpy", "list"),
    reason="no operator, so not noticed outside of a scheduler",
)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("inside", [True, False])
def test_later_operations_see_a_submission(device, runtime, read, inside):
    op = define(runtime)
    a, b, *_ = tensors(device)
    expected = READS[read](slow(a, b))
    for _ in range(ROUNDS):
        out = torch.zeros_like(a)
        if inside:
            with scheduler(takes=0):
                runtime.submit(op, a, b, out=out)
                got = READS[read](out)
        else:
            runtime.submit(op, a, b, out=out)
            got = READS[read](out)
        assert_same(expected, got, rtol=1e-4, atol=1e-4)


WRITES = {
    "deferred": lambda a: a.mul_(0.0),
    "eager": lambda a: a.copy_(a.flip(0)),
    "fill": lambda a: a.fill_(7.0),
    "index": lambda a: a.__setitem__(slice(None, None, 2), -1.0),
    "numpy": lambda a: a.numpy().fill(3.0),
}


@pytest.mark.never(
    lambda device, write: device != "cpu" and write == "numpy",
    reason="NumPy has no memory of a GPU",
)
@pytest.mark.parametrize("write", WRITES)
def test_inputs_of_a_submission_are_not_overwritten(device, runtime, write):
    op = define(runtime)
    for _ in range(ROUNDS):
        a, b, out, _ = tensors(device)
        expected = slow(a, b)
        with scheduler(takes=0):
            runtime.submit(op, a, b, out=out)
            WRITES[write](a)
            WRITES[write](b)
        assert_same(expected, out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("whose", ["ours", "other"])
def test_a_submission_sees_deferred_operations(device, runtime, other, whose):
    used = runtime if whose == "ours" else other
    op = define(used)
    a, b, *_ = tensors(device)
    expected = slow((a + b) * 2.0, a - b)
    for _ in range(ROUNDS):
        out = torch.zeros_like(a)
        with scheduler(takes=3):
            x = (a + b) * 2.0
            used.wait(used.submit(op, x, a - b, out=out))
        assert_same(expected, out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("whose", ["ours", "other"])
def test_inputs_of_deferred_operations_are_not_overwritten(
    device, runtime, other, whose
):
    used = runtime if whose == "ours" else other
    op = define(used)
    for _ in range(ROUNDS):
        a, b, out, _ = tensors(device)
        expected = out + 1.0
        with scheduler(takes=1):
            before = out + 1.0
            used.wait(used.submit(op, a, b, out=out))
        assert_same(expected, before)


def test_deferred_operations_keep_their_body(device):
    """Own operators, built-in ones and registered expressions are replaced
    between operations that wait for each other."""
    runtime = gt.runtime(device)
    step = runtime.define("replaced_of_tests", "o = x + 1")
    gt.register_elementwise("replaced_of_tests", "o = 1 * x")
    zeros, ones = torch.zeros(64, device=device), torch.ones(64, device=device)
    made, wanted = [], []
    try:
        with scheduler():
            for k in range(1, 6):
                out = torch.empty(64, device=device)
                runtime.submit(step, zeros * k, out=out)
                made.append(out * 10)
                wanted.append(10 * k if k > 1 else 10)
                runtime.replace(step, f"o = x + {k + 1}")
                runtime.replace("add", f"o = x * y + {k}")
                made.append(zeros + ones)  # PyTorch's own is never another
                wanted.append(1)
                twice = torch.empty(64, device=device)
                gt.submit_elementwise("replaced_of_tests", ones, out=twice)
                gt.register_elementwise("replaced_of_tests", f"o = {k + 1} * x")
                made.append(twice)
                wanted.append(k)
            assert runtime.rollback(step) == 7
            out = torch.empty(64, device=device)
            runtime.submit(step, zeros, out=out)
            made.append(out)
            wanted.append(5)
    finally:
        runtime.restore("add")
        runtime.undefine(step)
    for tensor, value in zip(made, wanted, strict=True):
        assert tensor.tolist() == [value] * 64
