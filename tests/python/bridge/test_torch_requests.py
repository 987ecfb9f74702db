"""Requests: operations that a program hands over one by one."""

import pytest
from torch_support import ELEMS, assert_same, gt, pair, torch

pytestmark = pytest.mark.torch

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
@pytest.mark.parametrize(
    "dtype",
    [
        getattr(torch, name)
        for name in ("float16", "bfloat16", "float32", "float64", "int64")
    ],
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


@pytest.mark.parametrize(
    ("name", "dims"),
    [("sum", [2]), ("sum", 2), ("argmax", []), ("argmax", [0, 1])],
)
def test_a_reduction_of_wrong_dimensions_is_refused_at_once(device, name, dims):
    out = torch.empty((), device=device, dtype=torch.int64)
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        gt.submit_reduce(name, torch.ones(2, 3, device=device), out, dims)


def test_a_reduction_has_the_names_and_the_dimensions_of_pytorch(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    out = torch.empty(2, 1, device=device)
    gt.submit_reduce("max", x, out, -1, keepdim=True)
    gt.flush(sync=True)
    assert torch.equal(x.amax(-1, keepdim=True), out)


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


def test_wrong_requests_are_refused_at_once(device):
    a, b = pair(device)
    for bad in (
        lambda: gt.submit_add(a, b[:5], a),
        lambda: gt.submit_add(a, b, torch.empty(5, device=device)),
        lambda: gt.submit_add(a, b, None),
        lambda: gt.submit_add(a, b),
        lambda: gt.submit_unary("no such function", a, b),
        lambda: gt.submit_binary("no such function", a, b, a),
        lambda: gt.submit_binary("relu", a, b, a),
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
