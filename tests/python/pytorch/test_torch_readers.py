"""Operators go ahead of what is pending, unless they touch its memory."""

import itertools

import pytest
from torch_operations import operators, own, samples, tensors_in
from torch_support import (
    assert_same,
    cloned,
    gt,
    outcome,
    pair,
    scheduler,
    torch,
)

pytestmark = pytest.mark.torch

SIZE = 64


@pytest.fixture
def matrix(device):
    return torch.eye(SIZE, device=device)


def test_products_run_before_pending_operations(device, matrix):
    a, b = pair(device)
    with torch.no_grad(), scheduler(takes=2):
        x = a + b
        product = matrix @ matrix
        y = x * 2
        assert gt.pending() == 2
        column = x[:SIZE, None].expand(SIZE, SIZE)
        some = (matrix @ column)[:, 0]  # which needs x first
        assert gt.pending() == 0
    torch.testing.assert_close(product, matrix)
    torch.testing.assert_close(some, (a + b)[:SIZE])
    torch.testing.assert_close(y, 2 * (a + b))


def test_products_run_after_writers_of_their_operands(device, matrix):
    a, b = pair(device)
    old, expected = a[:SIZE], (a + b)[:SIZE]
    with torch.no_grad(), scheduler():
        a += b
        product = matrix @ old[:, None].expand(SIZE, SIZE)
        assert gt.pending() == 0
    torch.testing.assert_close(product[:, 0], expected)


def test_products_flush_large_pending_results(device, matrix):
    large = torch.ones(17 << 20, device=device)
    with torch.no_grad(), scheduler():
        x = large[:SIZE] + 1
        before = gt.stats()["flushes"]
        torch.mm(matrix, matrix)
        assert gt.stats()["flushes"] == before + 1
        torch.mm(matrix, matrix)
        assert gt.stats()["flushes"] == before + 1
    assert x.eq(2).all()


MADE = {
    "chain": lambda w: w + 1,
    "zeros": torch.zeros_like,
    "written": lambda w: (w + 1).add_(1),
}
AHEAD = {
    "mm": lambda w: w @ w,
    "index": lambda w: w[[0, 1]],
    "tensor": lambda w: torch.tensor(1.0, device=w.device),
    "roll": lambda w: w.roll(1),
    "eye": lambda w: torch.eye(3, device=w.device),
    "sort": torch.sort,
    "cumsum": lambda w: w.cumsum(0),
    "item": lambda w: w[0, 0].item(),
    "randn_like": torch.randn_like,
    "tril": torch.tril,
    "tolist": lambda w: w[0].tolist(),
    "data_ptr": lambda w: torch.eye(3, device=w.device).data_ptr(),
    "storage": lambda w: torch.eye(3, device=w.device).untyped_storage(),
}


# An older PyTorch does not say when someone uses a tensor's memory. So what may
# write the memory of any tensor flushes everything.
IS_OLD = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13)
FLUSHES = {
    "cpu": ("data_ptr", "storage"),
    # Numbers are copied from the processor or to it.
    "cuda": ("data_ptr", "storage", "index", "tensor", "tolist"),
}


@pytest.mark.never(lambda device, ahead: IS_OLD and ahead in FLUSHES[device])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("ahead", AHEAD)
def test_unrelated_operations_flush_nothing(matrix, made, ahead):
    with torch.no_grad(), scheduler():
        x = MADE[made](matrix)
        count = gt.pending()
        AHEAD[ahead](matrix)
        torch.randn_like(x)
        assert gt.pending() == count > 0


@pytest.mark.parametrize("grad", [True, False])
def test_writes_to_views_without_a_gradient_are_deferred(device, grad):
    z = torch.zeros(9, device=device)
    square = torch.zeros(3, 3, device=device)
    with torch.set_grad_enabled(grad), scheduler(takes=6):
        z[:4].add_(1)
        z[:4] += 1
        z.view(3, 3).add_(1)
        square.t().add_(1)
        square[1:][0] += 1
        square[0][:2].mul_(3)
        assert gt.pending() == 8  # += of an item copies it too
    assert z.tolist() == [3.0] * 4 + [1.0] * 5
    assert square.tolist() == [[3.0, 3.0, 1.0], [2.0] * 3, [1.0] * 3]


BASES = {
    "plain": lambda: torch.zeros(9),
    "leaf": lambda: torch.zeros(9, requires_grad=True),
    "result": lambda: torch.zeros(9, requires_grad=True) * 1,
    "detached": lambda: torch.zeros(9, requires_grad=True).detach(),
}
CUTS = {
    "whole": lambda x: x,
    "slice": lambda x: x[:4],
    "of a view": lambda x: x.view(3, 3)[1:][0],
    "one of several": lambda x: x.split(3)[0],
}
WRITES = {
    "add_": lambda x: x.add_(1),
    "mul_": lambda x: x.mul_(torch.ones(1)),
    "copy_": lambda x: x.copy_(torch.ones(1)),
    "item": lambda x: x.__setitem__(0, 2.0),
    "with a gradient": lambda x: x.add_(torch.ones(1, requires_grad=True)),
}


def write(base, cut, how, modes, *, late):
    """Return what a write to a view gives, made and done in these modes."""
    base = BASES[base]()
    with torch.set_grad_enabled(modes[0]):
        view = CUTS[cut](base)
    if late:
        outcome(lambda: base.requires_grad_(requires_grad=True))
    with torch.set_grad_enabled(modes[1]):
        came = outcome(lambda: WRITES[how](view))
    came = came if isinstance(came, str) else None
    facts = [
        (x.requires_grad, x._version, outcome(lambda x=x: type(x.grad_fn)))
        for x in (base, view)
    ]
    return came, facts, base.tolist()


def test_writes_are_refused_and_counted_as_autograd_does():
    modes = itertools.product((True, False), repeat=2)
    for case in itertools.product(BASES, CUTS, WRITES, modes, (False, True)):
        expected = write(*case[:4], late=case[4])
        with scheduler(takes=0):
            came = write(*case[:4], late=case[4])
        assert came == expected, case


def meet(form, sample, *, writes):
    """Return the results of an operator between operations on its operands."""
    torch.manual_seed(1)
    operands = [sample.input, *sample.args, *sample.kwargs.values()]
    known = [
        x
        for x in tensors_in(operands)
        if x.is_floating_point() and x.layout == torch.strided
    ]
    others = [x.detach() for x in known]  # of the same memory
    before = [x + 1 for x in known]
    if writes:
        for other in others:
            outcome(lambda other=other: other.mul_(0.5))
    result = outcome(lambda: form(sample))
    after = [x * 2 for x in known]
    return [cloned(x) for x in (result, before, known, after)]


def forms_of(op):
    def into(sample):
        result = op(sample.input, *sample.args, **sample.kwargs)
        if not isinstance(result, torch.Tensor):
            return result
        out = torch.zeros_like(result)
        before = out + 1
        op(sample.input, *sample.args, out=out, **sample.kwargs)
        return out, before

    yield lambda s: op(s.input, *s.args, **s.kwargs)
    if op.inplace_variant:
        yield lambda s: op.inplace_variant(s.input, *s.args, **s.kwargs)
    if op.supports_out:
        yield into


@pytest.mark.filterwarnings("ignore")
def test_every_operator_keeps_the_order_of_pending_ones(device):
    """All operators of PyTorch's database, whether they go ahead or not."""
    wrong = []
    for op in operators():
        if torch.float32 not in op.supported_dtypes(device):
            continue
        found = samples(op, device, torch.float32, 2)
        for form, sample, writes in itertools.product(
            forms_of(op), found, (False, True)
        ):
            inputs = [own(sample), own(sample)]
            with torch.no_grad():
                expected = meet(form, inputs[0], writes=writes)
                with scheduler(takes=0):
                    came = meet(form, inputs[1], writes=writes)
            try:
                assert_same(expected, came)
            except AssertionError as error:
                wrong.append(f"{op.name}, {writes}: {error}")
    assert wrong == []
