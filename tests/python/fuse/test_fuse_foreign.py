"""A fused function without a runtime gives arrays of the library it is given."""

from typing import NamedTuple

import numpy as np
import pytest

import gpuos

torch = pytest.importorskip("torch")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
DTYPES = [torch.float32, torch.float64, torch.int32, torch.bool, torch.bfloat16]


class Both(NamedTuple):
    total: object
    parts: list


@gpuos.fuse
def poly(x, n=2.0):
    return x * n + 1


@gpuos.fuse
def both(x, *, axis=None):
    return Both(x.sum(axis), [x + x, -(x + 0.5)])


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def test_numpy_gives_numpy():
    x = np.arange(6.0).reshape(2, 3)
    y = poly(x)
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, x * 2 + 1)
    np.testing.assert_array_equal(poly(x.T, n=3.0), x.T * 3 + 1)
    made = both(x, axis=None)
    assert type(made) is Both
    assert type(made.parts) is list
    np.testing.assert_array_equal(made.total, x.sum())
    assert isinstance(made.total, np.ndarray)
    out = np.empty_like(x)
    assert poly(x, out=out) is out
    np.testing.assert_array_equal(out, x * 2 + 1)


def test_a_dtype_that_numpy_lacks():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    narrow = gpuos.fuse(lambda x: x.astype("bfloat16"))
    y = narrow(np.arange(3.0))
    assert y.dtype == ml_dtypes.bfloat16
    assert y.tolist() == [0, 1, 2]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_pytorch_gives_pytorch(device, dtype):
    x = torch.arange(6, device=device).reshape(2, 3).to(dtype)
    y = poly(x, n=3.0)
    assert type(y) is torch.Tensor
    assert y.device == x.device
    wanted = x * 3.0 + 1
    if dtype.is_floating_point:
        assert torch.equal(y, wanted.to(y.dtype))
    else:  # NumPy's float64
        assert torch.equal(y.to(torch.float32), wanted)
    made = both(x)
    assert made.total.shape == ()
    assert made.parts[0].device == x.device
    out = torch.empty_like(y)
    assert poly(x, n=3.0, out=out) is out
    assert torch.equal(out, y)


@pytest.mark.torch
def test_results_come_in_the_order_of_the_stream(device):
    x = torch.zeros(1 << 16, device=device)
    for i in range(50):
        x.add_(1)  # PyTorch's
        y = poly(x)
        z = y - 1  # PyTorch's
        assert i < 40 or z[::4096].eq(2.0 * (i + 1)).all()
    if device == "cuda":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(100_000_000)
            x.fill_(7)
            y = poly(x)
            z = y * 1
        side.synchronize()
        assert z.eq(15).all()


@pytest.mark.torch
def test_fused_functions_keep_the_order_of_a_scheduler(device):
    import gpuos.torch as gt  # noqa: PLC0415

    with torch.no_grad(), gt.scheduler():
        x = torch.ones(64, device=device) + 1  # deferred
        y = poly(x)
        z = y * 2
        x.mul_(10)
        w = poly(x)
    assert z.eq(10).all()
    assert w.eq(41).all()


@pytest.mark.torch
def test_gradients_are_refused(device):
    x = torch.ones(3, device=device, requires_grad=True)
    with pytest.raises(gpuos.InvalidArgument, match=r"poly: .*no_grad"):
        poly(x)
    with torch.no_grad():
        assert poly(x).tolist() == [3, 3, 3]
    assert poly(x.detach()).tolist() == [3, 3, 3]


def test_a_gpuos_array_decides(rt):
    x = rt.array(np.arange(3.0))
    other = np.arange(3.0) if rt.backend == "host" else 2.0
    assert isinstance(gpuos.fuse(lambda x, y: x + y)(x, other), gpuos.Array)


def test_a_runtime_decides():
    with gpuos.Runtime("host") as rt:
        made = rt.fuse(lambda x: x + 1)(np.arange(3.0))
        assert isinstance(made, gpuos.Array)


def test_no_array_is_refused():
    for arguments in ((), (1.0,), ([1.0],), ("x",)):
        with pytest.raises((gpuos.InvalidArgument, TypeError)):
            gpuos.fuse(lambda *_: 1)(*arguments)
    with pytest.raises(gpuos.InvalidArgument, match="runtime="):
        poly(2.0)


def test_cupy_gives_cupy():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(6.0)
    y = poly(x)
    assert type(y) is cupy.ndarray
    np.testing.assert_array_equal(y.get(), np.arange(6.0) * 2 + 1)
