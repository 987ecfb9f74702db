"""A call has read and written foreign memory when it returns, because its
other users do not know of tasks."""

import mmap
import operator
from multiprocessing import shared_memory
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import Gate, has_cuda
from deadlines import until

import gpuos
from gpuos import _core

NAP_NS = 3_000_000
SHAPE = (3, 4)
OPERATORS = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("lt", "le", "gt", "ge", "eq", "ne"),
]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ipow", "imod"]
UFUNCS = [
    name
    for name in dir(np)
    if isinstance(f := getattr(np, name), np.ufunc)
    and (f.nin, f.nout) == (2, 1)
    and "ff->f" in f.types
    and name in _core._operations()
]


@pytest.fixture
def late(rt, nap):
    """Return an array of ones that was not computed yet."""

    def make():
        x = rt.ones(SHAPE, "float32")
        rt.submit(nap, out=x, ns=NAP_NS)  # sets the first element to 1
        return x

    return make


# Operands other than arrays: the way to make each, and the action on it
# afterwards.


def a_numpy_array(_rt):
    made = np.full(SHAPE, 2, "float32")
    return made, lambda: made.fill(99), made.copy


def a_tensor(rt):
    torch = pytest.importorskip("torch")
    device = "cpu" if rt.backend == "host" else "cuda"
    made = torch.full(SHAPE, 2.0, device=device)
    return made, lambda: made.fill_(99), lambda: made.cpu().numpy().copy()


def an_array_of_another_runtime(rt):
    other = gpuos.Runtime(rt.backend)
    made = other.zeros(SHAPE, "float32")
    made += 2  # is pending there
    return made, lambda: made.fill(99), made.numpy


def an_array_that_numpy_has(rt):
    made = rt.full(SHAPE, 2, "float32")
    view = np.asarray(made)
    return made, lambda: view.fill(99), view.copy


def an_array_that_pytorch_has(rt):
    torch = pytest.importorskip("torch")
    made = rt.full(SHAPE, 2, "float32")
    view = torch.from_dlpack(made)
    return made, lambda: view.fill_(99), lambda: view.cpu().numpy().copy()


OTHERS = [
    a_numpy_array,
    a_tensor,
    an_array_of_another_runtime,
    an_array_that_numpy_has,
    an_array_that_pytorch_has,
]
TENSORS = (a_tensor, an_array_that_pytorch_has)
OF_THE_HOST = (a_numpy_array, an_array_that_numpy_has)

pytestmark = pytest.mark.never(
    lambda backend, other: backend != "host" and other in OF_THE_HOST,
    reason="NumPy has memory of the host",
)


def is_tensor(x):
    return type(x).__module__ == "torch"


def fused(x, y):
    return x * 3 + y


READ = {
    **{name: getattr(operator, name) for name in OPERATORS},
    **{f"np.{name}": getattr(np, name) for name in UFUNCS},
    "np.where": lambda x, y: np.where(x > 0, y, x),
    "np.isclose": np.isclose,
    "two operations": lambda x, y: (x + y) * (x - y),
}


@pytest.mark.parametrize("other", OTHERS)
def test_an_operand_is_read_before_a_call_returns(rt, late, other):
    ones, twos = np.ones(SHAPE, "float32"), np.full(SHAPE, 2, "float32")
    for name, function in READ.items():
        x = late()
        y, write, _ = other(rt)
        if is_tensor(y) and name != "add":
            continue  # its own functions and comparisons would come first
        made = function(x, y)
        write()
        np.testing.assert_allclose(
            made.numpy(), function(ones, twos), rtol=1e-6, err_msg=name
        )


@pytest.mark.never(
    lambda other: other in TENSORS, reason="it has an operator of its own"
)
@pytest.mark.parametrize("other", OTHERS)
def test_an_operand_on_the_left(rt, late, other):
    y, write, _ = other(rt)
    made = y - late()
    write()
    np.testing.assert_array_equal(made.numpy(), np.ones(SHAPE))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_an_operand_of_an_operator_in_place(rt, late, other, name):
    x = late()
    y, write, _ = other(rt)
    x = getattr(operator, name)(x, y)
    write()
    wanted = np.ones(SHAPE, "float32")
    wanted = getattr(operator, name)(wanted, np.full(SHAPE, 2, "float32"))
    np.testing.assert_array_equal(x.numpy(), wanted)


FOREIGN = OTHERS[:3]  # of explicit calls: what else is theirs they know


@pytest.mark.parametrize("other", FOREIGN)
def test_a_fused_call_reads_before_it_returns(rt, late, other):
    x = late()
    y, write, _ = other(rt)
    made = rt.fuse(fused)(x, y)
    write()
    np.testing.assert_array_equal(made.numpy(), np.full(SHAPE, 5))


WRITE = {
    "np.multiply": lambda _, x, out: np.multiply(x, 5, out=out),
    "np.add, where": lambda _, x, out: np.add(x, 4, out=out, where=x > 0),
    "fused, where": lambda rt, x, out: rt.fuse(lambda x: np.where(x > 0, 5, x))(
        x, out=out
    ),
    "fused": lambda rt, x, out: rt.fuse(fused)(x, x + 1, out=out),
}


@pytest.mark.never(
    lambda other, way: way.startswith("np.") and other in TENSORS,
    reason="NumPy takes no tensor as out",
)
@pytest.mark.parametrize("other", FOREIGN)
@pytest.mark.parametrize("way", WRITE)
def test_out_is_written_before_a_call_returns(rt, late, other, way):
    out, _, value = other(rt)
    WRITE[way](rt, late(), out)
    np.testing.assert_array_equal(value(), np.full(SHAPE, 5))


@pytest.mark.never(
    lambda backend: backend != "host", reason="NumPy has memory of the host"
)
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv"])
def test_numpys_operators_in_place(late, name):
    for part in (np.s_[:], np.s_[1], np.s_[:, ::2]):
        n = np.full(SHAPE, 6, "float32")
        wanted = n.copy()
        x = late()
        view, own = n[part], wanted[part]
        getattr(operator, name)(view, x[part])
        getattr(operator, name)(own, np.ones(SHAPE, "float32")[part])
        np.testing.assert_array_equal(n, wanted)


@pytest.mark.never(
    lambda backend: backend != "host", reason="NumPy has memory of the host"
)
def test_a_reduction_into_others(late):
    out = np.zeros(4, "float32")
    late().sum(axis=0, out=out)
    np.testing.assert_array_equal(out, [3, 3, 3, 3])


def two(x, y):
    return x * 3 + y, x - y


# Ways to call with arrays of the runtime alone.
OF_ITS_OWN = {
    "submit": lambda a: a.rt.submit("add", a.x, a.y, out=a.o),
    "submit_many": lambda a: a.rt.submit_many("add", a.x, a.y, out=a.o),
    "one result": lambda a: a.one(a.x, a.y),
    "one result, out=o": lambda a: a.one(a.x, a.y, out=a.o),
    "one result, out=(o,)": lambda a: a.one(a.x, a.y, out=(a.o,)),
    "two results": lambda a: a.two(a.x, a.y),
    "two results, out=(o, p)": lambda a: a.two(a.x, a.y, out=(a.o, a.p)),
    "two results, out=[o, p]": lambda a: a.two(a.x, a.y, out=[a.o, a.p]),
    "x + y": lambda a: a.x + a.y,
    "x += y": lambda a: operator.iadd(a.x, a.y),
    "o[:] = x": lambda a: operator.setitem(a.o, slice(None), a.x),
    "np.add": lambda a: np.add(a.x, a.y),
    "np.add, out=": lambda a: np.add(a.x, a.y, out=a.o),
    "sum": lambda a: a.x.sum(),
    "sum, out=": lambda a: a.x.sum(out=a.p[0, 0, ...]),
}


@pytest.mark.parametrize("how", OF_ITS_OWN)
def test_unrelated_tasks_are_not_waited_for(rt, gate, how):
    x, y, o, p = (rt.ones(SHAPE, "float32") for _ in range(4))
    all_own = SimpleNamespace(
        rt=rt, x=x, y=y, o=o, p=p, one=rt.fuse(fused), two=rt.fuse(two)
    )
    OF_ITS_OWN[how](all_own)  # what it compiles is there
    rt.synchronize()
    late = gate.submit(x)
    OF_ITS_OWN[how](all_own)
    assert not late.done


def test_a_submission_of_an_array_of_another_runtime(rt, nap):
    """It is read once it is computed there; the ticket says when."""
    other = gpuos.Runtime(rt.backend)
    own = other.define(nap.definition)
    x = other.zeros(4, "float32")
    other.submit(own, out=x, ns=NAP_NS)
    y = x + 1
    made = rt.empty(4, "float32")
    rt.submit("mul", y, y, out=made).wait()
    np.testing.assert_array_equal(made.numpy(), [4, 1, 1, 1])


def test_an_array_of_another_device_is_refused(host):
    with gpuos.Runtime("host") as rt:
        assert (rt.ones(2) + host.ones(2)).tolist() == [2, 2]
    if not has_cuda():
        return
    with (
        gpuos.Runtime("cuda") as cuda,
        pytest.raises(gpuos.InvalidArgument, match=r"cuda:0, got one of host"),
    ):
        cuda.ones(2) + host.ones(2)


BYTES = 4096


class OfSharedMemory:
    def __init__(self):
        self.owner = shared_memory.SharedMemory(create=True, size=BYTES)
        self.memory = self.owner.buf

    def close(self):
        self.owner.close()

    def end(self):
        self.owner.unlink()


class OfMapping:
    def __init__(self):
        self.owner = self.memory = mmap.mmap(-1, BYTES)

    def close(self):
        self.owner.close()

    def end(self):
        pass


class OfBytearray(OfMapping):
    def __init__(self):
        self.owner = self.memory = bytearray(BYTES)

    def close(self):
        self.owner.extend(bytes(1 << 20))


VIEWS = {
    "whole": lambda memory: np.ndarray((1024,), "f4", buffer=memory),
    "a part": lambda memory: np.ndarray((1024,), "f4", buffer=memory)[8:],
    "a view of a part": lambda memory: np.ndarray((1024,), "f4", buffer=memory)[
        8:
    ].reshape(8, -1)[2:],
}
# The ways in which a program sees that the task is done.
SEEN = {
    "wait": lambda ticket, _: ticket.wait(),
    "done": lambda ticket, _: until(lambda: ticket.done),
    "synchronize": lambda ticket, _: ticket.wait() or None,
    "numpy": lambda _, out: out.numpy(),
}


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", [OfSharedMemory, OfMapping, OfBytearray])
def test_closing_memory_in_use_raises(host, kind, view, seen):
    owner = kind()
    array = VIEWS[view](owner.memory)
    array[...] = 3
    gate, busy = Gate(host), host.empty(1)
    first = gate.submit(busy)
    out = host.empty(array.shape)
    ticket = host.submit("add", array, array, out=out)
    with pytest.raises((BufferError, ValueError)):
        owner.close()
    gate.open()
    first.wait()
    SEEN[seen](ticket, out)
    assert float(out.sum()) == 6 * array.size
    del array
    owner.close()
    owner.end()
