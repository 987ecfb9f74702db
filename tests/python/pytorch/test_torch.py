import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from dtype_support import DTYPES, SHORT
from program_support import python

import gpuos

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


class Plain(torch.Tensor):
    pass


class OwnDlpack(torch.Tensor):
    def __dlpack__(self, **options):
        message = f"mine, with {len(options)} options"
        raise BufferError(message)


class Wrapper(torch.Tensor):
    """A tensor without its own memory."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype
        )

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3), (2, 1, 3)])
def test_tensors_are_taken_without_a_copy(host, dtype, shape):
    x = torch.full(shape, 3, dtype=getattr(torch, dtype))
    out = torch.zeros_like(x)
    host.wait(host.submit("add", x, x, out=out))
    assert torch.equal(out, x + x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_tensors_share_memory_in_every_dtype(host, dtype):
    array = host.zeros((2, 3), dtype)
    tensor = torch.from_dlpack(array.T)
    assert tensor.dtype == getattr(torch, dtype)
    assert (tensor.shape, tensor.stride()) == ((3, 2), (1, 3))
    tensor[2, 0] = 1
    whole = torch.from_dlpack(array)
    assert whole.to(torch.complex64).tolist() == [[0, 0, 1], [0, 0, 0]]


def patterns(dtype):
    """All that a short float has."""
    size = dtype.itemsize
    bits = torch.arange(1 << 8 * size)
    return bits.to(torch.uint8 if size == 1 else torch.uint16).view(dtype)


@pytest.mark.parametrize("name", SHORT)
def test_the_next_short_float(host, name):
    every = patterns(getattr(torch, name))
    finite = every.float().isfinite()
    values = every.float()[finite].unique()  # 0 and -0 are one
    f = host.fuse(np.nextafter)
    below, above = values[:-1], values[1:]
    for x, to, wanted in (
        (below, above[-1:], above),
        (above, below[:1], below),
    ):
        got = torch.from_dlpack(f(x.to(every.dtype), to.to(every.dtype)))
        assert torch.equal(got.float(), wanted)


def test_tensor_slices_are_used_in_place(host):
    whole = torch.arange(6, dtype=torch.float32)
    out = torch.zeros(6)
    host.wait(host.submit("add", whole[2:4], whole[4:], out=out[1:3]))
    assert out.tolist() == [0, 6, 8, 0, 0, 0]


def test_tensors_mix_with_other_arrays(host):
    x, y = torch.ones(3), np.full(3, 2, "f4")
    out = host.empty(3)
    host.wait(host.submit("add", x, y, out=out))
    assert out.numpy().tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.as_subclass(Plain),
        lambda t: torch.nn.Parameter(t, requires_grad=False),
    ],
)
def test_subclasses_are_taken(host, make):
    x, out = make(torch.ones(3)), make(torch.zeros(3))
    host.wait(host.submit("add", x, x, out=out))
    assert out.tolist() == [2, 2, 2]


def test_many_tensors_are_taken(host):
    x = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    rows = [torch.zeros(2) for _ in range(3)]
    host.wait(host.submit_many("add", x, x, out=torch.zeros(3, 2)))
    host.wait(host.submit_many("add", list(x), list(x), rows))
    assert torch.equal(torch.stack(rows), x + x)


@pytest.mark.parametrize("backend", ["host"], indirect=True)
def test_tensors_are_held_until_their_task_is_done(rt, gate):
    x = torch.ones(3)
    ref = weakref.ref(x)
    gate.submit(np.zeros(1, "f4"))
    last = rt.submit("copy", x, out=torch.zeros(3))
    del x
    gc.collect()
    assert ref() is not None
    gate.open()
    rt.wait(last)
    rt.synchronize()
    assert ref() is None


@pytest.mark.parametrize("role", ["input 0", "out"])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.ones(3, requires_grad=True), "gradient"),
        (lambda: torch.nn.Parameter(torch.ones(3)), "gradient"),
        (lambda: torch.ones(3, requires_grad=True) * 2, "gradient"),
        (lambda: torch.ones(3).as_subclass(OwnDlpack), "mine, with"),
        (lambda: torch.eye(3).to_sparse(), "strided"),
        (lambda: torch.ones(3, dtype=torch.cfloat).conj(), "conjugation"),
        (lambda: torch.ones(3, dtype=torch.cfloat).conj().imag, "negation"),
        (lambda: torch.ones((), dtype=torch.cfloat).conj().imag, "negation"),
        (lambda: torch.ones(2, 3).T, "contiguous"),
        (lambda: torch.ones(6)[::2], "contiguous"),
        (lambda: torch.ones(1).expand(3), "contiguous"),
        (lambda: torch.ones((1,) * 9), "8 dimensions, got 9"),
    ],
)
def test_wrong_tensors_are_refused(host, make, message, role):
    x, good = make(), np.zeros(3, "f4")
    x, out = (x, good) if role != "out" else (good, x)
    with pytest.raises(gpuos.InvalidArgument, match=f"copy: {role}.*{message}"):
        host.submit("copy", x, out=out)


@pytest.mark.filterwarnings("ignore")  # torch warns of what this test does
def test_tensors_without_memory_are_refused(host):
    mode = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensorMode
    with mode():
        fake = torch.ones(5)
        part = fake[2:]
    for x in (fake, part, torch._efficientzerotensor(5)):
        with pytest.raises(gpuos.InvalidArgument, match="null address"):
            host.submit("copy", x, out=torch.zeros(x.shape))
    with pytest.raises(NotImplementedError):
        host.submit("copy", Wrapper(torch.ones(3)), out=torch.zeros(3))


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda"], indirect=True)
def test_tensors_of_another_device_are_refused(rt, host):
    with pytest.raises(gpuos.InvalidArgument, match="host memory: torch"):
        rt.submit("copy", torch.ones(3), out=rt.zeros(3))
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA")
    x, out = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    torch.cuda.synchronize()
    rt.wait(rt.submit("add", x, x, out=out))
    assert out.tolist() == [2, 2, 2]
    with pytest.raises(gpuos.InvalidArgument, match="device memory: torch"):
        host.submit("copy", x, out=host.zeros(3))


EXAMPLES = Path(__file__).parents[3] / "examples"


def run(name, device):
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
    done = python("-W", "error", str(EXAMPLES / f"{name}.py"), variables=hidden)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("pytorch_batch_demo", 1),
        ("pytorch_scheduler_demo", 1),
        ("pytorch_scheduler_advanced_demo", 6),
        ("pytorch_reduce_demo", 7),
    ],
)
def test_results_are_those_of_eager(device, name, results):
    printed = run(name, device)
    assert printed.count("as PyTorch's") == results
    if name == "pytorch_scheduler_demo":
        assert f"1200 of 1200 operations were taken on {device}" in printed
