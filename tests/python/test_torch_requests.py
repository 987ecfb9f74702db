"""Requests: operations that a program hands over one by one."""

from __future__ import annotations

import gc

import pytest
from torch_support import ELEMS, assert_same, gt, pair, torch, used_bytes

pytestmark = pytest.mark.torch

MEBI = 1 << 20
PAIRS = {
    "add": (gt.submit_add, torch.add),
    "sub": (gt.submit_sub, torch.sub),
    "mul": (gt.submit_mul, torch.mul),
    "div": (gt.submit_div, torch.div),
}


@pytest.fixture(autouse=True)
def requests():
    gt.init(capacity=4096, threads_per_block=256)
    yield
    gt.shutdown()


@pytest.mark.parametrize("name", PAIRS)
def test_arithmetic(device, name):
    submit, eager = PAIRS[name]
    a, b = pair(device)
    out = torch.empty_like(a)
    submit(a, b, out)
    gt.flush(sync=True)
    assert_same(eager(a, b), out)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64],
    ids=str,
)
def test_dtypes(device, name, dtype):
    submit, eager = PAIRS[name]
    a = torch.arange(1, 65, device=device).to(dtype)
    b = torch.arange(64, 0, -1, device=device).to(dtype)
    out = torch.empty_like(eager(a, b))
    submit(a, b, out)
    gt.flush(sync=True)
    assert_same(eager(a, b), out)


def test_strides_and_broadcasting(device):
    a, b = pair(device)
    whole = torch.zeros(32, 64, device=device)
    gt.submit_add(a.view(32, 32).t(), b[:32], whole[:, ::2])
    gt.flush(sync=True)
    assert torch.equal(a.view(32, 32).t() + b[:32], whole[:, ::2])
    assert whole[:, 1::2].sum() == 0


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2, 5, 1)])
def test_nothing_is_done_for_no_elements(device, shape):
    x = torch.ones(shape, device=device)
    gt.submit_add(x, x[:1], x)
    gt.submit_unary("relu", x, x)
    with pytest.raises(ValueError, match="broadcast"):
        gt.submit_add(torch.ones(3, 7, device=device), x, x)
    with pytest.raises(ValueError, match="with elements, got none"):
        gt.submit_reduce("sum", x, torch.ones((), device=device))


def test_out_may_be_an_input(device):
    a, b = pair(device)
    expected = (a + b) * b
    gt.submit_add(a, b, a)
    gt.submit_mul(a, b, a)
    gt.flush(sync=True)
    assert_same(expected, a)


@pytest.mark.parametrize("dims", [None, [], [0], [-1], [0, 1], [1, -1], [2]])
@pytest.mark.parametrize(
    "name",
    ["sum", "mean", "prod", "amax", "any", "all", "argmax", "argmin"],
)
def test_reduce_is_right_or_refused_at_once(device, name, dims):
    x = torch.arange(6.0, device=device).view(2, 3)
    made = make_reduced(name, x, dims)
    out = torch.empty((2, 3) if made is None else made.shape, device=device)
    out = out if made is None else out.to(made.dtype)
    try:
        gt.submit_reduce(name, x, out, dims)
    except (ValueError, IndexError, RuntimeError):
        if isinstance(dims, list) and len(dims) == 1 and dims[0] < 2:
            raise
        gt.flush(sync=True)
        return
    assert made is not None
    gt.flush(sync=True)
    assert torch.equal(made, out)


@pytest.mark.parametrize("dims", [[], [0, 1]])
def test_argmax_is_of_one_dimension_or_of_all(device, dims):
    out = torch.empty((), device=device, dtype=torch.int64)
    with pytest.raises((ValueError, RuntimeError)):
        gt.submit_reduce("argmax", torch.ones(2, 3, device=device), out, dims)


def make_reduced(name, x, dims):
    """Return eager's result; its functions take one dimension or several."""
    if dims is None or (dims == [] and name not in ("argmax", "argmin")):
        dims = [0, 1]
        if name in ("argmax", "argmin"):
            return getattr(torch, name)(x)
    try:
        if name in ("prod", "argmax", "argmin"):
            for dim in sorted(dims, reverse=True):
                x = getattr(torch, name)(x, dim)
            return x if name == "prod" or len(dims) == 1 else None
        return getattr(torch, name)(x, dim=dims)
    except (RuntimeError, IndexError):
        return None


def test_operator_of_an_expression(device):
    x, y = pair(device)
    out = torch.empty_like(x)
    gt.register_elementwise("axpy", "o = 2 * x + y")
    gt.submit_elementwise("axpy", x, y, out=out)
    gt.flush(sync=True)
    assert_same(2 * x + y, out)


def test_operators_survive_shutdown_and_init(device):
    x, y = pair(device)
    out = torch.empty_like(x)
    for _ in range(3):
        gt.register_elementwise("scaled", "o = 3 * x - y")
        gt.submit_elementwise("scaled", x, y, out=out)
        gt.shutdown()
        assert_same(3 * x - y, out)
        gt.init()
        out.zero_()


def test_more_operators_than_a_table_of_128(device):
    x, _ = pair(device)
    outs = torch.zeros(200, ELEMS, device=device)
    for k in range(200):
        gt.register_elementwise(f"times{k}", f"o = {k} * x")
        gt.submit_elementwise(f"times{k}", x, out=outs[k])
    gt.flush(sync=True)
    assert_same(torch.arange(200.0, device=device)[:, None] * x, outs)


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(device, name, dim, keepdim):
    a = torch.randn(8, 6, 4, device=device)
    given = {} if dim is None else {"dim": dim, "keepdim": keepdim}
    expected = getattr(torch, name)(a, **given)
    out = torch.empty_like(expected)
    gt.submit_reduce(name, a, out, **given)
    gt.flush(sync=True)
    assert_same(expected, out)


def test_requests_are_done_in_order(device):
    x = torch.ones(ELEMS, device=device)
    two = torch.full_like(x, 2.0)
    for _ in range(10):
        gt.submit_mul(x, two, x)
        gt.submit_sub(x, two, x)
        gt.submit_add(x, two, x)
    gt.flush(sync=True)
    assert x.tolist() == [1024.0] * ELEMS


def test_flush_is_ordered_before_later_work_of_pytorch(device):
    a, b = pair(device)
    out = torch.empty_like(a)
    for _ in range(20):
        gt.submit_add(a, b, out)
        gt.flush()
        a = out * 0.5
    expected, _ = pair(device)
    for _ in range(20):
        expected = (expected + b) * 0.5
    assert_same(expected, a)


def test_pending_counts_requests(device):
    a, b = pair(device)
    outs = [torch.empty_like(a) for _ in range(10)]
    for out in outs:
        gt.submit_add(a, b, out)
    assert gt.pending() == 10
    gt.flush()
    assert gt.pending() == 0


def test_shutdown_runs_what_is_pending(device):
    a, b = pair(device)
    out = torch.zeros_like(a)
    gt.submit_add(a, b, out)
    gt.shutdown()
    assert gt.pending() == 0
    assert_same(a + b, out)


def test_shutdown_twice_and_init_twice(device):
    gt.shutdown()
    gt.shutdown()
    gt.init(capacity=16)
    gt.init(capacity=32)
    a, b = pair(device)
    out = torch.zeros_like(a)
    for _ in range(100):
        gt.submit_add(a, b, out)
    gt.flush(sync=True)
    assert_same(a + b, out)


def test_tensors_are_held_until_they_are_done(device):
    out = torch.empty(100, ELEMS, device=device)
    for k in range(100):
        x = torch.full((ELEMS,), float(k), device=device)
        gt.submit_add(x, x, out[k])
        del x
    gc.collect()
    others = [torch.full((ELEMS,), -1.0, device=device) for _ in range(100)]
    gt.flush(sync=True)
    assert out[:, 0].tolist() == [2.0 * k for k in range(100)]
    assert others[0][0] == -1


@pytest.mark.alone
def test_memory_is_flat_over_many_flushes(device):
    a, b = pair(device)
    outs = [torch.empty_like(a) for _ in range(4)]

    def flush_often():
        for _ in range(10_000):
            for out in outs:
                gt.submit_add(a, b, out)
            gt.flush(sync=False)
        gt.flush(sync=True)

    # Warm up: by then each of many threads has its memory, and background
    # compilations and loads are done. A leak continues.
    flush_often()
    before = used_bytes(device)
    flush_often()
    assert used_bytes(device) - before < 16 * MEBI
    assert_same(a + b, outs[3])


def test_wrong_requests_are_refused_at_once(device):
    a, b = pair(device)
    for bad in (
        lambda: gt.submit_add(a, b[:5], a),
        lambda: gt.submit_add(a, b, torch.empty(5, device=device)),
        lambda: gt.submit_add(a, b, None),
        lambda: gt.submit_add(a, b),
        lambda: gt.submit_unary("no such function", a, b),
        lambda: gt.submit_binary("no such function", a, b, a),
        lambda: gt.submit_reduce("no such function", a, b),
        lambda: gt.submit_elementwise("no such key", a, out=b),
        lambda: gt.register_elementwise("broken", "o = +"),
        lambda: gt.submit_add(a, b, a[:1].expand(ELEMS)),
    ):
        with pytest.raises((ValueError, TypeError, KeyError, RuntimeError)):
            bad()
    assert gt.pending() == 0
    gt.submit_add(a, a, b)
    gt.flush(sync=True)
    assert_same(a + a, b)


def test_requests_of_a_tensor_that_needs_gradients_are_refused(device):
    a, b = pair(device)
    with pytest.raises((ValueError, RuntimeError), match="grad"):
        gt.submit_add(a.requires_grad_(), b, b)


def test_requests_and_a_scheduler_together(device):
    a, b = pair(device)
    expected = (a + b) * 2 + b
    out = torch.empty_like(a)
    with gt.scheduler():
        c = a + b
        gt.submit_mul(c, torch.full_like(c, 2.0), out)
        gt.flush()
        d = out + b
    assert_same(expected, d)
