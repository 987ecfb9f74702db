"""torch.compile and schedulers, each inside of the other."""

import pytest
from torch_support import assert_same, cloned, gt, pair, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    # The compiler uses deprecated functions of Python and PyTorch.
    pytest.mark.filterwarnings("ignore"),
]


def formula(x, y):
    return ((x + y) * x).sigmoid() + y


@pytest.fixture(params=["eager", "aot_eager", "inductor"])
def compiler(request, device):
    torch._dynamo.reset()
    if request.param == "inductor":
        try:
            torch.compile(lambda x: x * 3 + 1)(torch.ones(2, device=device))
        except Exception as error:  # noqa: BLE001 (no compiler, no Triton)
            pytest.skip(f"inductor: {str(error).splitlines()[:1]}")
    yield request.param
    torch._dynamo.reset()


def test_compiled_function_takes_pending_inputs(device, compiler):
    a, b = pair(device)
    expected = formula(a + b, b)
    compiled = torch.compile(formula, backend=compiler, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(a + b, b), expected)
        with scheduler(takes=1):
            for _ in range(3):
                pending = a + b
                result = compiled(pending, b)
                after = result + pending
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(after, expected + a + b)
        # Outside again, with a tensor from inside.
        torch.testing.assert_close(compiled(pending, b), expected)


def test_scheduler_inside_of_a_compiled_function(device, compiler):
    a, b = pair(device)

    def function(x, y):
        with gt.scheduler():
            z = x + y
        return z * 2.0

    compiled = torch.compile(function, backend=compiler)
    for _ in range(2):
        torch.testing.assert_close(compiled(a, b), (a + b) * 2)
    assert gt.pending() == 0


def test_training_and_changes_of_a_compiled_function(device, compiler):
    def function(x, y):
        y.mul_(2)
        return formula(x, y)

    def run(function):
        a, b = pair(device)
        weight = a.clone().requires_grad_()
        pending = a + b
        before = pending - 1
        results = [function(weight * 1.0, pending) for _ in range(2)]
        sum(result.sum() for result in results).backward()
        return before, pending * 1.0, results, weight.grad

    compiled = torch.compile(function, backend=compiler)
    expected = cloned(run(function))
    with scheduler(takes=0):
        came = run(compiled)
    assert_same(expected, cloned(came))


COMPILES_LATER = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, gpuos.torch as gt
a = torch.ones(1024, device="{device}")
with torch.no_grad(), gt.scheduler():
    a + 1
assert "torch._dynamo" not in sys.modules
compilations = []
def count(graph, inputs):
    compilations.append(graph)
    return graph
with torch.no_grad(), gt.scheduler(auto_flush_ms=60_000):
    compiled = torch.compile(lambda x: (x * 2).relu(), backend=count)
    for _ in range(4):
        y = compiled(a + 1)
assert y.eq(4).all()
assert len(compilations) == 1, len(compilations)
"""


def test_compiler_may_be_imported_after_the_first_scheduler(device, printed_by):
    printed_by(COMPILES_LATER.format(device=device))


def test_export(device):
    class Formula(torch.nn.Module):
        def forward(self, x, y):
            return formula(x, y)

    a, b = pair(device)
    with torch.no_grad(), scheduler(takes=1):
        program = torch.export.export(Formula(), (a + b, b))
        result = cloned(program.module()(a + b, b))
    torch.testing.assert_close(result, formula(a + b, b))
