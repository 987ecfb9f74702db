"""Views of gpuos.Array: NumPy's basic indexing, transposes, reshapes."""

import gc

import numpy as np
import pytest

import gpuos

INDICES = [
    np.s_[...],
    np.s_[()],
    np.s_[1],
    np.s_[-1, 2],
    np.s_[0, 1, 3],
    np.s_[:, ::-1],
    np.s_[::-1, ::-2, ::3],
    np.s_[..., 2],
    np.s_[1, ..., None],
    np.s_[None, :, None, 1],
    np.s_[:, 5:, :],
    np.s_[:0, ::-1],
    np.s_[:, 2:0:-1, 3:1:-1],
    np.s_[np.int64(1), :: 2**62],
    np.s_[1:, 1:2],
]


@pytest.fixture
def source():
    return np.arange(24, dtype="f4").reshape(2, 3, 4)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_that_of_numpy(rt, source, index):
    view = rt.array(source)[index]
    expected = source[index]
    assert view.shape == expected.shape
    assert view.nbytes == expected.nbytes
    np.testing.assert_array_equal(view.numpy(), expected)
    np.testing.assert_array_equal(np.asarray(view), expected)


def test_indexing_goes_on_from_a_view(rt, source):
    view = rt.array(source)[:, ::-1, ::2][1:, :2].T[0]
    expected = source[:, ::-1, ::2][1:, :2].T[0]
    np.testing.assert_array_equal(view.numpy(), expected)
    assert view.strides == expected.strides


def test_strides_are_bytes_as_those_of_numpy(rt):
    for dtype in ("uint8", "float16", "complex64", "complex128"):
        source = np.zeros((2, 3, 4), dtype)
        array = rt.array(source)
        assert array.strides == source.strides
        assert array.T.strides == source.T.strides
        assert array[:, ::-2].strides == source[:, ::-2].strides


@pytest.mark.parametrize(
    "axes", [(), (None,), (0, 2, 1), (-1, 0, 1), (2, 1, 0)]
)
def test_transpose_is_that_of_numpy(rt, source, axes):
    expected = source.transpose(*axes)
    array = rt.array(source)
    np.testing.assert_array_equal(array.transpose(*axes).numpy(), expected)
    if len(axes) > 1:
        np.testing.assert_array_equal(array.transpose(axes).numpy(), expected)


@pytest.mark.parametrize("axes", [(0, 1), (0, 0, 1), (0, 1, 3), (0, 1, 2, 3)])
def test_wrong_axes_are_refused(rt, source, axes):
    with pytest.raises(gpuos.InvalidArgument, match="each of 3 axes once"):
        rt.array(source).transpose(axes)


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:, ::-1],
        lambda a: a[:, :, ::2],
        lambda a: a[:, :2],
        lambda a: a[:, 1:2],
        lambda a: a[1, ::-1, ::-1],
        lambda a: a[:0],
        lambda a: a[0, 0, 0, ...],
        lambda a: a[:, None, ::-1, None],
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        (-1,),
        (24,),
        (2, -1),
        (4, 3, 2),
        (2, 3, 2, 2),
        (1, 6, 1, 4),
        (2, 2, 2, 3),
        (2, 1, 6),
        (),
        (0, 7),
        (2, 3, 2),
        (2, 2, 4),
        (3, -1, 2, 1),
    ],
)
def test_reshape_is_that_of_numpy_or_refused(rt, source, make, shape):
    source_view = make(source)
    view = make(rt.array(source))
    try:
        expected = source_view.reshape(shape)
        is_view = not expected.size or np.shares_memory(expected, source)
    except ValueError:
        is_view = False
    if is_view:
        assert view.reshape(*shape).shape == expected.shape
        np.testing.assert_array_equal(view.reshape(shape).numpy(), expected)
    else:
        with pytest.raises(gpuos.InvalidArgument, match="reshape: expected a"):
            view.reshape(shape)


def test_reshape_says_that_it_never_copies(rt, source):
    with pytest.raises(gpuos.InvalidArgument, match="needs no copy, got"):
        rt.array(source).T.reshape(-1)
    with pytest.raises(gpuos.InvalidArgument, match=r"24 elements.*\(5, 5\)"):
        rt.array(source).reshape(5, 5)
    with pytest.raises(gpuos.InvalidArgument, match="8 dimensions"):
        rt.array(source).reshape((24,) + (1,) * 8)
    for shape in ((-1, -1), (-2, -12), (-1, 0), (2**62, 2**62)):
        with pytest.raises(gpuos.InvalidArgument, match="24 elements"):
            rt.array(source).reshape(shape)


def test_a_view_sees_what_tasks_write(rt):
    array = rt.zeros((3, 4))
    view = array[::-1, 1]
    rt.submit("fill", out=array[0], value=1)
    rt.submit("fill", out=array[2], value=3)
    assert view.numpy().tolist() == [3, 0, 1]


def test_a_view_keeps_the_memory(rt):
    array = rt.array(np.arange(6, dtype="f4").reshape(2, 3))
    view = array.T[1:]
    array.free()
    del array
    gc.collect()
    others = [rt.zeros(6) for _ in range(8)]
    assert view.numpy().tolist() == [[1, 4], [2, 5]]
    del others


def test_views_share_memory_with_numpy(host):
    array = host.zeros((2, 3))
    array.T[::-1].numpy(copy=False)[0, 1] = 7
    np.asarray(array[:, ::-1])[0, 0] = 5
    np.asarray(array[1])[0] = 3
    assert array.numpy().tolist() == [[0, 0, 5], [3, 0, 7]]


def test_the_interface_of_a_view_has_its_strides(host):
    array = host.zeros((2, 3), "int16")
    assert array.__array_interface__["strides"] is None
    interface = array[:, ::-1].__array_interface__
    assert interface["strides"] == (6, -2)
    assert interface["data"][0] == array.ptr + 4
    assert interface["typestr"] == "<i2"


def test_operators_refuse_views_with_gaps(rt):
    array, out = rt.zeros((2, 3)), rt.zeros((3, 2))
    with pytest.raises(gpuos.InvalidArgument, match=r"input 0.*contiguous"):
        rt.submit("copy", array.T, out=out)
    with pytest.raises(gpuos.InvalidArgument, match=r"out.*contiguous"):
        rt.submit("copy", out, out=array.T)
    for columns in ([array.T, out], [[array.T], [out]]):
        with pytest.raises(gpuos.InvalidArgument, match=r"contiguous"):
            rt.submit_many("copy", *columns)
    with pytest.raises(gpuos.InvalidArgument, match=r"copy_from.*C order"):
        array.T.copy_from(np.zeros((3, 2), "f4"))
    whole = array.T.T
    rt.wait(rt.submit("copy", whole, out=array[:, None].reshape(2, 3)))
    rt.wait(rt.submit("copy", array[:1, :2], out=out[0:1]))


def test_foreign_strides_must_be_whole_elements(host):
    records = np.zeros(4, dtype=[("a", "i1"), ("b", "f4")])
    with pytest.raises(gpuos.InvalidArgument, match=r"multiples.*4 bytes.*5"):
        host.submit("copy", records["b"], out=np.zeros(4, "f4"))
