import gc
from collections.abc import Iterable

import numpy as np
import pytest
from fuse_support import DTYPES

import gpuos


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_array_copies_in_and_out(rt, dtype):
    source = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    array = rt.array(source)
    source[:] = 0
    assert array.shape == (2, 3, 4)
    assert array.dtype == np.dtype(dtype)
    assert (array.ndim, array.size, len(array)) == (3, 24, 2)
    assert array.nbytes == 24 * np.dtype(dtype).itemsize
    result = array.numpy()
    np.testing.assert_array_equal(result.ravel(), np.arange(24))
    assert result.dtype == np.dtype(dtype)


def test_array_converts_if_asked(rt):
    assert rt.array([1, 2], dtype="float32").dtype == np.float32
    assert rt.array([1.5, 2.5], dtype=np.int64).numpy().tolist() == [1, 2]


def test_array_of_a_transposed_source_is_in_c_order(rt):
    source = np.arange(6, dtype="f4").reshape(2, 3).T
    np.testing.assert_array_equal(rt.array(source).numpy(), source)


def test_array_refuses_other_dtypes(rt):
    with pytest.raises(gpuos.InvalidArgument, match="complex256"):
        rt.array(np.zeros(2, dtype=np.clongdouble))
    with pytest.raises(gpuos.InvalidArgument, match="float128"):
        rt.empty(2, np.longdouble)
    with pytest.raises(gpuos.InvalidArgument, match=">f4"):
        rt.array(np.zeros(2, dtype=">f4"))


def test_zeros_are_zero(rt):
    for dtype in DTYPES:
        for shape in ((3, 5), (1,), (0,)):
            assert not rt.zeros(shape, dtype).numpy().any()


@pytest.mark.parametrize("shape", [0, (0, 3), (), 7, (2, 1, 2)])
def test_any_shape_can_be_made(rt, shape):
    array = rt.zeros(shape)
    expected = np.zeros(shape, dtype="f4")
    assert array.shape == expected.shape
    np.testing.assert_array_equal(array.numpy(), expected)


def test_wrong_shapes_are_refused(rt):
    with pytest.raises(gpuos.InvalidArgument, match=r"\(-1, 2\)"):
        rt.empty((-1, 2))
    with pytest.raises(gpuos.InvalidArgument, match="8 dimensions"):
        rt.empty((1,) * 9)
    with pytest.raises(gpuos.InvalidArgument, match="bytes"):
        rt.empty((1 << 40, 1 << 40))


def test_rows_and_slices_share_memory(rt):
    array = rt.array(np.arange(12, dtype="f4").reshape(4, 3))
    assert array[1].shape == (3,)
    assert array[-1].numpy().tolist() == [9, 10, 11]
    assert array[1:3].shape == (2, 3)
    assert array[4:].shape == (0, 3)
    assert array[2][1].shape == ()
    array[0].copy_from(np.full(3, 7, dtype="f4"))
    assert array.numpy()[0].tolist() == [7, 7, 7]
    assert [row.numpy().sum() for row in array] == [21, 12, 21, 30]


def test_wrong_indices_are_refused(rt):
    array = rt.zeros((4, 3))
    with pytest.raises(IndexError, match="index 4"):
        array[4]
    with pytest.raises(
        IndexError, match="index -4 is out of bounds for axis 1"
    ):
        array[0, -4]
    with pytest.raises(IndexError, match="2-dimensional, but 3 were indexed"):
        array[0, 1, 2]
    with pytest.raises(IndexError, match="single ellipsis"):
        array[..., ...]
    arrays = [np.array([True]), np.array([0, 1]), np.zeros((2, 2), int)]
    # NumPy takes these, and refuses the following ones.
    masks = [True, np.True_]
    for index in ([0, 1], *masks, *arrays, *((0, None, a) for a in arrays)):
        with pytest.raises(TypeError):
            array[index]
    for index in ("x", 1.0, {}, (0, "x"), np.float32(1)):
        with pytest.raises(IndexError, match="expected integers, slices"):
            array[index]
    with pytest.raises(ValueError, match="zero"):
        array[::0]
    with pytest.raises(gpuos.InvalidArgument, match="8 dimensions"):
        array[(None,) * 7]
    with pytest.raises(TypeError, match="no rows"):
        rt.zeros(())[0]


def test_copy_from_checks_shape_and_dtype(rt):
    array = rt.zeros((2, 3))
    with pytest.raises(gpuos.InvalidArgument, match=r"\(2, 3\).*\(3, 2\)"):
        array.copy_from(np.zeros((3, 2), dtype="f4"))
    with pytest.raises(gpuos.InvalidArgument, match=r"float32.*float64"):
        array.copy_from(np.zeros((2, 3)))
    array.copy_from(np.arange(12, dtype="f4").reshape(2, 6)[:, ::2])
    assert array.numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    number = rt.zeros(())
    number.copy_from(np.float32(3))
    assert number.numpy() == 3


def test_a_freed_array_is_refused_everywhere(rt):
    array, other = rt.zeros(4), rt.zeros(4)
    array.free()
    array.free()
    assert "freed" in repr(array)
    uses = [
        array.numpy,
        lambda: array.ptr,
        lambda: array[0],
        lambda: array.copy_from(np.zeros(4, dtype="f4")),
        array.__dlpack__,
        lambda: rt.submit("add", array, other, out=other),
        lambda: rt.submit("add", other, other, out=array),
    ]
    for use in uses:
        with pytest.raises(gpuos.InvalidArgument, match="freed"):
            use()


def test_a_row_outlives_the_freed_whole(rt):
    whole = rt.array(np.arange(6, dtype="f4").reshape(2, 3))
    row = whole[1]
    whole.free()
    assert row.numpy().tolist() == [3, 4, 5]


def test_memory_of_pending_tasks_is_not_reused(rt):
    rng = np.random.default_rng(1)
    a, b = (rng.random((1 << 16,), dtype=np.float32) for _ in range(2))
    results = []
    for _ in range(200):
        x, y, out = rt.array(a), rt.array(b), rt.empty(a.size)
        rt.submit("add", x, y, out=out)
        results.append(out)
        del x, y
        if len(results) == 8:
            for result in results:
                np.testing.assert_array_equal(result.numpy(), a + b)
            results.clear()


def test_results_can_be_read_after_close(host):
    out = host.empty(3)
    host.submit("fill", out=out, value=2)
    host.close()
    assert out.numpy().tolist() == [2, 2, 2]
    with pytest.raises(gpuos.QueueClosed):
        host.empty(3)


def test_arrays_may_outlive_their_runtime(backend):
    out = gpuos.Runtime(backend=backend).zeros(3)
    gc.collect()
    assert out.numpy().tolist() == [0, 0, 0]


def test_numpy_is_a_copy_unless_asked(host):
    array = host.zeros(3)
    copy, view = array.numpy(), array.numpy(copy=False)
    host.wait(host.submit("fill", out=array, value=1))
    assert copy.tolist() == [0, 0, 0]
    assert view.tolist() == [1, 1, 1]
    array.free()
    del array
    gc.collect()
    view[0] = 5
    assert view.tolist() == [5, 1, 1]


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cuda"], indirect=True)
def test_a_device_array_cannot_be_a_view(rt):
    array = rt.zeros(3)
    with pytest.raises(gpuos.InvalidArgument, match="copy=True"):
        array.numpy(copy=False)
    assert not hasattr(array, "__array_interface__")
    interface = array.__cuda_array_interface__
    assert interface["data"] == (array.ptr, False)
    assert interface["shape"] == (3,)
    assert interface["typestr"] == "<f4"
    assert array.device == "cuda:0"
    assert array.__dlpack_device__() == (2, 0)


def test_numpy_takes_an_array(rt):
    array = rt.array([1.0, 2.0])
    assert np.asarray(array).tolist() == [1, 2]
    assert np.array(array, dtype="f4").dtype == np.float32
    assert np.add(array, array).tolist() == [2, 4]
    assert array.__array__(copy=True).tolist() == [1, 2]


def test_dlpack_exports_without_a_copy(host):
    array = host.zeros((2, 3), "int64")
    view = np.from_dlpack(array)
    assert view.shape == (2, 3)
    view[1, 2] = 9
    assert array.numpy()[1, 2] == 9
    array.free()
    del array
    gc.collect()
    assert view[1, 2] == 9


class Copied:
    """Requests a copy, which NumPy before 2.1 cannot do."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__(copy=True)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_copies_on_request(host):
    array = host.zeros(3).reshape(3, 1)[::-1]
    copy = np.from_dlpack(Copied(array))
    array[0] = 9
    assert copy.tolist() == [[0], [0], [0]]
    assert array.tolist() == [[9], [0], [0]]


def test_dlpack_refuses_a_foreign_device(rt):
    array = rt.zeros(3)
    with pytest.raises(BufferError, match="device"):
        array.__dlpack__(dl_device=(99, 0))
    assert "dltensor_versioned" in repr(array.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(array.__dlpack__())


@pytest.mark.parametrize(
    "shape", [(), (0,), (3,), (2, 3), (1001,), (40, 2, 30)]
)
def test_repr_prints_values_as_numpy_does(rt, shape):
    values = np.arange(np.prod(shape)).reshape(shape).astype("int32")
    x = rt.array(values)
    device = "cuda:0" if rt.backend == "cuda" else "host"
    numbers = np.array2string(values, separator=", ", prefix="gpuos.Array(")
    assert repr(x) == (
        f"gpuos.Array({numbers}, shape={shape}, dtype=int32, device={device})"
    )
    assert str(x) == f"{x}" == str(values)


def test_arrays_cannot_be_made_or_subclassed(rt):
    with pytest.raises(TypeError):
        type(rt.zeros(1))()
    with pytest.raises(TypeError):
        type("Mine", (gpuos.Array,), {})


VALUES = [7.25, [1.5, -2.5], [[1, 2, 3], [4, 5, 6]]]
ASKED = {
    "iterable": np.iterable,
    "a list": lambda x: [np.asarray(row).tolist() for row in x],
    "unpacked": lambda x: [np.asarray(row).tolist() for row in (*x,)],
    "Iterable": lambda x: isinstance(x, Iterable),
    "reversed": lambda x: [np.asarray(row).tolist() for row in reversed(x)],
    "f-string": lambda x: f"{x}",
    ".3f": lambda x: f"{x:.3f}",
    "+e": lambda x: format(x, "+e"),
    "str.format": "{}".format,
}


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("value", VALUES)
def test_protocols_of_python_answer_as_in_numpy(rt, value, what):
    """It answers as NumPy's, or refuses as that does."""
    answers = []
    for x in (rt.array(value, "f4"), np.array(value, "f4")):
        if what in (".3f", "+e") and x.ndim == 0 and isinstance(x, np.ndarray):
            x = x[()]  # noqa: PLW2901 (which stands for NumPy's numbers)
        try:
            answers.append(ASKED[what](x))
        except TypeError:
            answers.append(TypeError)
    assert answers[0] == answers[1]


def test_round_requires_one_number(rt):
    x = rt.array([2.567, 1.0])
    assert round(x.sum(), 1) == 3.6
    assert round(x.max()) == 3
    assert type(round(x.max())) is int
    with pytest.raises(TypeError, match=r"got shape \(2,\); x.round\(\)"):
        round(x)
