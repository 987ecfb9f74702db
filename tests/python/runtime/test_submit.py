import array as std_array
import gc
import inspect
import weakref

import numpy as np
import pytest
from deadlines import WAIT_S

import gpuos

DTYPES = ["float32", "float64", "int32", "int64"]


def operands(dtype, shape=(5, 7)):
    rng = np.random.default_rng(0)
    return tuple(rng.integers(1, 100, shape).astype(dtype) for _ in range(2))


def test_a_ticket_is_a_value(rt):
    out = rt.zeros(4)
    ticket = rt.submit("fill", out=out, value=1)
    other = rt.submit("fill", out=out, value=2)
    assert ticket != other
    assert ticket == ticket  # noqa: PLR0124
    assert len({ticket, other, ticket}) == 2
    assert (ticket == 3) is False
    ticket.wait(WAIT_S)
    ticket.wait(timeout=None)
    rt.wait(other)
    assert ticket.done
    assert other.done
    with pytest.raises(TypeError):
        gpuos.Ticket()


def test_numpy_arrays_are_used_in_place(host):
    x, y = operands("float32")
    out = np.zeros_like(x)
    host.wait(host.submit("add", x, y, out=out))
    np.testing.assert_array_equal(out, x + y)


def test_numpy_arrays_are_released_after_the_task(host):
    refs = []
    for _ in range(300):
        x = np.ones(1000, dtype="f4")
        refs.append(weakref.ref(x))
        ticket = host.submit("add", x, x, out=host.empty(1000))
    del x
    host.wait(ticket)
    host.synchronize()
    gc.collect()
    assert not any(ref() is not None for ref in refs)


def test_buffers_of_the_standard_library_are_taken(host):
    x = std_array.array("f", [1, 2, 3])
    out = np.zeros(3, dtype="f4")
    host.wait(host.submit("add", x, memoryview(x), out=out))
    assert out.tolist() == [2, 4, 6]


class DlpackOnly:
    """An array that speaks nothing but DLPack."""

    def __init__(self, array, *, knows_versions=True):
        self.array = array
        self.knows_versions = knows_versions

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None):
        if max_version is None:
            return self.array.__dlpack__()
        if not self.knows_versions:
            message = "max_version"
            raise TypeError(message)
        return self.array.__dlpack__(max_version=max_version)


@pytest.mark.parametrize("knows_versions", [True, False])
def test_dlpack_objects_are_taken(rt, knows_versions):
    a, out = rt.array([1.0, 2.0]), rt.zeros(2, "float64")
    x = DlpackOnly(a, knows_versions=knows_versions)
    y = DlpackOnly(out, knows_versions=knows_versions)
    rt.wait(rt.submit("add", x, x, out=y))
    assert out.numpy().tolist() == [2, 4]


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda"], indirect=True)
def test_cuda_array_interface_is_taken(rt):
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a, out = rt.array([1.0, 2.0]), rt.zeros(2, "float64")
    rt.wait(rt.submit("add", Foreign(a), Foreign(a), out=Foreign(out)))
    assert out.numpy().tolist() == [2, 4]


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda"], indirect=True)
def test_host_memory_is_refused_on_the_device(rt, host):
    device = rt.zeros(2)
    with pytest.raises(gpuos.InvalidArgument, match=r"rt.array|Runtime.array"):
        rt.submit("copy", np.zeros(2, dtype="f4"), out=device)
    of_host = "expected an array of this runtime's cuda:0, got one of host"
    with pytest.raises(gpuos.InvalidArgument, match=of_host):
        rt.submit("copy", host.zeros(2), out=device)
    of_device = "expected an array of this runtime's host, got one of cuda:0"
    with pytest.raises(gpuos.InvalidArgument, match=of_device):
        host.submit("copy", device, out=host.zeros(2))


def test_arrays_of_another_host_runtime_are_taken(host):
    with gpuos.Runtime(backend="host") as other:
        a = other.array([1.0, 2.0])
        out = host.zeros(2, "float64")
        ticket = host.submit("add", a, a, out=out)
        a.free()
        host.wait(ticket)
        assert out.numpy().tolist() == [2, 4]


def test_wrong_numpy_arrays_are_refused(host):
    x = np.zeros((4, 4), dtype="f4")
    out = np.zeros((4, 4), dtype="f4")
    read_only = x.copy()
    read_only.flags.writeable = False
    cases = [
        (x.T[:2], "contiguous"),
        (x[:, ::2], "contiguous"),
        (x.astype(">f4"), "native"),
        (x.astype(np.clongdouble), "complex256"),
        (np.zeros((1,) * 9, dtype="f4"), "8 dimensions"),
        ([1.0, 2.0], "list"),
        (2.0, "float"),
        (None, "NoneType"),
    ]
    for wrong, match in cases:
        with pytest.raises(gpuos.InvalidArgument, match=match):
            host.submit("copy", wrong, out=out)
        with pytest.raises(gpuos.InvalidArgument, match="out"):
            host.submit("copy", x, out=wrong)
    with pytest.raises(gpuos.InvalidArgument, match="read-only"):
        host.submit("copy", x, out=read_only)
    host.wait(host.submit("copy", read_only, out=out))


def test_wrong_arguments_queue_nothing(rt):
    a, out = rt.zeros((2, 3)), rt.zeros((2, 3))
    before = rt.stats()["tasks_submitted"]
    cases = [
        (lambda: rt.submit("nope", a, out=out), "nope"),
        (lambda: rt.submit("add", a, out=out), "2 inputs"),
        (lambda: rt.submit("copy", rt.empty((3, 2)), out=out), r"\(3, 2\)"),
        (lambda: rt.submit("copy", rt.empty(6, "int64"), out=out), "int64"),
        (lambda: rt.submit("copy", a), "out="),
        (lambda: rt.submit("fill", out=out), "value"),
        (lambda: rt.submit("fill", out=out, value=1, beta=2), "beta"),
        (lambda: rt.submit("add", *[a] * 20, out=out), "2 inputs, got 20"),
        (lambda: rt.submit("fill", out=rt.empty(2, "int32"), value=1.5), "1.5"),
    ]
    for use, match in cases:
        with pytest.raises(gpuos.InvalidArgument, match=match):
            use()
    assert rt.stats()["tasks_submitted"] == before
    with pytest.raises(TypeError, match="operator"):
        rt.submit()
    with pytest.raises(TypeError, match="int"):
        rt.submit(3, a, out=out)
    with pytest.raises(TypeError):
        rt.submit("fill", out=out, value="x")


def odd_one(dtype, values, shift):
    """Return an array whose address is not aligned to its elements."""
    elems = np.asarray(values, dtype)
    raw = np.zeros(elems.nbytes + 16, dtype="u1")
    start = -raw.ctypes.data % 16 + shift
    odd = raw[start : start + elems.nbytes].view(dtype).reshape(elems.shape)
    odd[...] = elems
    return odd


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "f2", "u1", "c8"])
def test_unaligned_numpy_inputs_are_accepted(host, dtype, shift):
    x = odd_one(dtype, [[1, 2, 3], [4, 5, 6]], shift)
    expected = x * x + x
    outs = [np.zeros_like(x, order="C") for _ in range(3)]
    square = host.fuse(lambda x: x * x + x)
    op = host.define("square_odd", "o = x * x + x", dtype=dtype)
    host.wait(host.submit(op, x, out=outs[0]))
    square(x.copy(), out=outs[1])
    square(x, out=outs[2])
    host.synchronize()
    for out in (*outs, square(x).numpy(), gpuos.fuse(lambda x: x * x + x)(x)):
        assert (out == expected).all()
    op = host.define("rows_odd", "o = x - y", dtype=dtype)
    y, rows = odd_one(dtype, [[1, 1, 1], [4, 4, 4]], shift), np.zeros_like(x)
    host.wait(host.submit_many(op, x, y, out=rows))
    assert (rows == x - y).all()
    outs = [np.zeros_like(x) for _ in range(2)]
    host.wait(host.submit_many(op, [x, x.copy()], [y, y], out=outs))
    assert (outs == np.stack([x - y] * 2)).all()


LATE = """
#include <time.h>
GPUOS_OPERATOR(late) {
  const timespec pause{0, 20000000};
  nanosleep(&pause, nullptr);
  for (auto i = lane.index(); i < task.count; i += lane.count())
    task.pointer<unsigned char>(0)[i] = task.pointer<unsigned char>(1)[i];
}
"""


def test_writers_of_an_unaligned_input_run_first(host):
    x, out = odd_one("f4", np.zeros(16), 1), np.zeros(16, "f4")
    late = host.define("late", source=LATE, dtype="u1", inputs=1)
    for k in range(1, 6):
        given = np.full(16, k, "f4").view("u1")
        host.submit(late, given, out=x.view("u1"))
        host.wait(host.submit("copy", x, out=out))
        assert (out == k).all()


def test_a_misaligned_output_is_refused(host):
    odd = odd_one("f4", np.zeros(8), 1)
    with pytest.raises(gpuos.InvalidArgument, match="multiple of 4"):
        host.submit("copy", np.zeros(8, dtype="f4"), out=odd)
    with pytest.raises(gpuos.InvalidArgument, match="multiple of 4"):
        host.fuse(lambda x: x + 1)(np.zeros(8, dtype="f4"), out=odd)


def test_null_is_refused(host):
    zeros = np.zeros(1, dtype="u8")
    with pytest.raises(gpuos.InvalidArgument, match="null"):
        host.submit_many("copy", zeros, zeros, sizes=4, dtype="float32")


def test_parameters_are_converted(rt):
    out = rt.zeros(4, "float64")
    for value in (3, 2.5, np.float32(1.5), np.int64(7), True, 10**20):
        rt.submit("fill", out=out, value=value)
        assert (out.numpy() == float(value)).all()


def test_names_need_not_be_interned(rt):
    out = rt.zeros(4)
    name, value, target = (
        bytes(word).decode() for word in (b"fill", b"value", b"out")
    )
    options = {value: 4.0, target: out}
    rt.wait(rt.submit(name, **options))
    assert (out.numpy() == 4).all()


def test_streams_of_other_libraries_are_understood(rt):
    class Torch:
        cuda_stream = 0

    class Cupy:
        ptr = 0

    class Protocol:
        def __cuda_stream__(self):
            return (0, 0)

    out = rt.zeros(4)
    rt.submit("fill", out=out, value=1, stream=None)
    rt.flush(None)
    for stream in (0, Torch(), Cupy(), Protocol()):
        if rt.backend == "host":
            with pytest.raises(gpuos.InvalidArgument, match="stream 0"):
                rt.submit("fill", out=out, value=1, stream=stream)
        else:
            rt.submit("fill", out=out, value=1, stream=stream)
            rt.flush(stream)
    rt.synchronize(WAIT_S)
    assert (out.numpy() == 1).all()
    with pytest.raises(TypeError, match="stream"):
        rt.submit("fill", out=out, value=1, stream="x")


def test_the_signature_can_be_read():
    assert "out" in (gpuos.Runtime.submit.__text_signature__ or "")
    assert "sizes" in (gpuos.Runtime.submit_many.__text_signature__ or "")
    for call in (gpuos.Runtime.define, gpuos.Runtime.replace, gpuos.Definition):
        assert {"source", "params"} <= {*inspect.signature(call).parameters}
    assert "std='c++20'" in str(inspect.signature(gpuos.JitOptions))


TASKS, SIZE = 300, 33


@pytest.fixture
def columns(rt):
    rng = np.random.default_rng(0)
    x, y = (rng.random((TASKS, SIZE), dtype=np.float32) for _ in range(2))
    return x, y, rt.array(x), rt.array(y), rt.zeros((TASKS, SIZE))


def addresses(array):
    step = array.nbytes // len(array)
    return array.ptr + step * np.arange(len(array), dtype=np.uint64)


def test_rows_are_tasks(rt, columns):
    x, y, a, b, c = columns
    rt.wait(rt.submit_many("add", a, b, c), timeout=WAIT_S)
    np.testing.assert_array_equal(c.numpy(), x + y)
    rt.wait(rt.submit_many("sub", a, b, out=c))
    np.testing.assert_array_equal(c.numpy(), x - y)


def test_sequences_are_taken(rt, columns):
    x, y, a, b, c = columns
    rows = [list(a), tuple(b), list(c)]
    rt.wait(rt.submit_many("add", *rows))
    np.testing.assert_array_equal(c.numpy(), x + y)


def test_sizes_may_differ_in_a_sequence(rt):
    sizes = [1, 0, 5, 1000]
    ins = [rt.array(np.full(n, n, dtype="f4")) for n in sizes]
    outs = [rt.zeros(n) for n in sizes]
    rt.wait(rt.submit_many("add", ins, ins, outs))
    for n, out in zip(sizes, outs, strict=True):
        assert (out.numpy() == 2 * n).all()


def test_rows_and_sequences_mix(rt, columns):
    x, y, a, b, c = columns
    rt.wait(rt.submit_many("add", a, list(b), c))
    np.testing.assert_array_equal(c.numpy(), x + y)


def test_addresses_are_taken(rt, columns):
    x, y, a, b, c = columns
    tables = [addresses(array) for array in (a, b, c)]
    rt.wait(rt.submit_many("add", *tables, sizes=SIZE, dtype="float32"))
    np.testing.assert_array_equal(c.numpy(), x + y)
    sizes = np.full(TASKS, SIZE, dtype=np.int64)
    sizes[::2] = 1
    rt.submit("fill", out=c, value=0)
    signed = [table.astype(np.int64) for table in tables]
    rt.wait(rt.submit_many("add", *signed, sizes=sizes, dtype=np.float32))
    assert not c.numpy()[::2, 1:].any()
    np.testing.assert_array_equal(c.numpy()[1::2], (x + y)[1::2])


def test_many_tasks_share_their_parameters(rt):
    out = rt.zeros((TASKS, SIZE))
    rt.wait(rt.submit_many("fill", out, value=2.5))
    assert (out.numpy() == 2.5).all()


def test_numpy_rows_and_lists_are_taken(host):
    x = np.arange(12, dtype="f4").reshape(4, 3)
    out = np.zeros_like(x)
    host.wait(host.submit_many("add", x, x, out))
    np.testing.assert_array_equal(out, 2 * x)
    host.wait(host.submit_many("add", list(x), list(x), list(out)))
    np.testing.assert_array_equal(out, 2 * x)


def test_wrong_columns_are_refused(rt, columns):
    _, _, a, b, c = columns
    table = addresses(a)
    many = rt.submit_many
    cases = [
        (lambda: many("add", a, b[:10], c), "300 tasks, got 10"),
        (lambda: many("add", a, rt.empty((TASKS, 3)), c), "33 elements"),
        (lambda: many("add", a, rt.empty((TASKS, SIZE), "int32"), c), "int32"),
        (lambda: many("add", a, rt.empty(()), c), "first axis"),
        (lambda: many("add", a, c), "2 inputs"),
        (lambda: many("add"), "columns"),
        (lambda: many("add", a, [3] * TASKS, c), "input 1"),
        (lambda: many("add", table, table, table, sizes=3), "dtype="),
        (
            lambda: many("copy", table, table[:3], sizes=3, dtype="f4"),
            "300 addresses, got 3",
        ),
        (
            lambda: many("copy", table, table[::-1], sizes=3, dtype="f4"),
            "addresses",
        ),
        (lambda: many("copy", a, c, sizes=3, dtype="f4"), "addresses"),
        (
            lambda: many("copy", table, table, sizes=-3, dtype="f4"),
            "-3",
        ),
    ]
    for use, match in cases:
        with pytest.raises(gpuos.InvalidArgument, match=match):
            use()


def test_a_read_only_output_is_refused(host):
    x = np.zeros((4, 3), dtype="f4")
    x.flags.writeable = False
    with pytest.raises(gpuos.InvalidArgument, match="read-only"):
        host.submit_many("copy", x, x)
    with pytest.raises(gpuos.InvalidArgument, match="read-only"):
        host.submit_many("copy", x, list(x))


def test_many_changes_of_the_list_do_no_harm(host):
    rows = [host.zeros(8) for _ in range(50)]
    outs = [host.zeros(8) for _ in range(50)]
    ticket = host.submit_many("copy", rows, outs)
    rows.clear()
    host.wait(ticket)
