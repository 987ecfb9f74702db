"""Views in a fused function: part of its one task, as NumPy makes them."""

import sys

import numpy as np
import pytest
import small_views
from fuse_support import run

import gpuos


def array(*shape, dtype="float32"):
    return (np.arange(np.prod(shape)).reshape(shape) ** 2).astype(dtype)


def five_points(x):
    inner = x[1:-1, 1:-1]
    return x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * inner


def halves(x):
    gate, value = np.split(x, 2, axis=-1)
    return gate * value


def differences(x):
    return x[:, 1:] - x[:, :-1]


def centered_rows(x):
    return (x - x.mean(axis=1, keepdims=True))[1:, ::-1]


def columns_and_rows(x):
    return x[0] * x[:, :1], x[1:].max(axis=1), np.diff(x).sum(axis=1)


def rotary(x):
    low, high = np.split(x, 2, axis=-1)
    return x + np.concatenate([-high, low], axis=-1) * 3


def stacked(x):
    return np.stack([x, x * 2, x * x], axis=1)


FUNCTIONS = [
    five_points,
    halves,
    differences,
    centered_rows,
    rotary,
    stacked,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_views_are_one_task_for_all_shapes(rt, function):
    fused = rt.fuse(function)
    for shape in [(5, 6), (3, 4), (6, 8), (2, 2)]:
        x = array(*shape)  # of an even number of columns
        on = rt.array(x)
        rt.synchronize()
        before = rt.stats()["tasks_submitted"]
        made = fused(on)
        assert rt.stats()["tasks_submitted"] - before <= 1
        np.testing.assert_allclose(made.numpy(), function(x), rtol=1e-5)
    assert len(fused.programs()) == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled_views_give_the_same(rt, function):
    fused = rt.fuse(function)
    on = rt.array(array(5, 6))
    interpreted = fused(on).numpy()
    fused.compile(on)
    np.testing.assert_array_equal(fused(on).numpy(), interpreted)


def test_several_results(rt):
    x = array(3, 4)
    made = rt.fuse(columns_and_rows)(rt.array(x))
    for got, wanted in zip(made, columns_and_rows(x), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)


def test_slices_of_one_size_are_one_pass(rt):
    """Results of x[1:], x[:-1] and halves have one shape, known before."""

    def both(x):
        low, high = np.split(x, 2)
        return low - high, high * 2, x[1:] - x[:-1], x[1:] + x[:-1]

    x = array(6)
    on = rt.array(x)
    rt.synchronize()
    before = rt.stats()["tasks_submitted"]
    made = rt.fuse(both)(on)
    assert rt.stats()["tasks_submitted"] - before == 2
    for got, wanted in zip(made, both(x), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)


def test_every_view_of_small_values(rt):
    assert small_views.first_finding(rt) == ""


def test_every_shape_of_small_values(rt):
    assert small_views.first_finding_of_shapes(rt) == ""


def test_small_joins_match_numpy(rt):
    assert small_views.first_finding_of_joins(rt) == ""


def first_last(x):
    return np.concatenate([-x[..., 1:], x[..., :1]], -1)


def test_parts_of_unequal_length_are_two_tasks(rt):
    x = array(3, 4)
    on = rt.array(x)
    fused = rt.fuse(first_last)
    rt.synchronize()
    before = rt.stats()["tasks_submitted"]
    made = fused(on)
    assert rt.stats()["tasks_submitted"] - before == 2
    np.testing.assert_array_equal(made.numpy(), first_last(x))
    assert len(fused.programs()) == 1
    assert len(fused.programs()[0].outputs) == 1


def test_a_concatenation_writes_into_out(rt):
    x = array(3, 4)
    out = rt.array(np.full((8, 3), -1, "float32"))
    rt.fuse(first_last)(rt.array(x), out=out[::2].T)
    wanted = np.full((8, 3), -1, "float32")
    wanted[::2] = first_last(x).T
    np.testing.assert_array_equal(out.numpy(), wanted)
    with pytest.raises(gpuos.InvalidArgument, match="3 elements along dim"):
        rt.fuse(first_last)(rt.array(x), out=rt.zeros((4, 4)))


def test_an_index_in_a_tuple_is_static(rt):
    fused = rt.fuse(lambda x, at: x[at])
    x = array(3, 4)
    for at in [(0,), (2, 1), (-1, slice(None))]:
        if any(isinstance(part, slice) for part in at) and sys.version_info < (
            3,
            12,
        ):
            continue  # which have no hash
        np.testing.assert_array_equal(fused(rt.array(x), at).numpy(), x[at])


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: x[3:][0], "an axis with elements for place 0, got one"),
        (lambda x: x.T.reshape(-1), "reshape the results of the call, or a"),
        (lambda x: (x * x[0]).ravel(), "reshape the arguments, or the results"),
        (
            lambda x: np.concatenate([x[:, :1], x[:, :0]], 1) + x,
            "expected 1 elements along the joined axis, got 4",
        ),
        (lambda x: x[1:] + x, "a view of input 0 and 3 for dimension 0 of inp"),
    ],
)
def test_impossible_shapes_are_refused_at_the_call(rt, function, told):
    fused = rt.fuse(function)
    on = rt.array(array(3, 4))
    with pytest.raises(gpuos.InvalidArgument, match=told):
        fused(on)


def test_an_output_that_overlaps_a_view_is_refused(rt):
    x = rt.array(array(6))
    with pytest.raises(gpuos.InvalidArgument, match="overlaps"):
        rt.fuse(lambda x: x[1:] - x[:-1])(x, out=x[1:])
    np.testing.assert_array_equal(x.numpy(), array(6))


def test_an_output_may_be_an_input_view(rt):
    x = rt.array(array(6))
    rt.fuse(lambda x: x[1:] * 2)(x, out=x[1:])
    wanted = array(6)
    wanted[1:] *= 2
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_outputs_may_swap_input_views(rt):
    x = rt.array(array(2, 4))
    swapped = rt.fuse(lambda x: (x[1] + 0, x[0] + 0))
    swapped(x, out=(x[0], x[1]))
    np.testing.assert_array_equal(x.numpy(), array(2, 4)[::-1])


def test_read_only_memory_may_be_read_by_views():
    with gpuos.Runtime("host") as rt:
        x = array(3, 4)
        x.flags.writeable = False
        made = rt.fuse(lambda x: x[1:, ::-1] * 2)(x).numpy()
        np.testing.assert_array_equal(made, x[1:, ::-1] * 2)


def test_views_of_arrays_are_views(rt):
    x = rt.array(array(4, 6))
    whole = x.numpy()
    flipped = np.flip(x, 1)
    parts = np.split(x, 2) + np.split(x, [1, 3], axis=1)
    x[...] = 0
    for view in (flipped, *parts):
        assert not view.numpy().any()
    x[...] = whole
    np.testing.assert_array_equal(flipped.numpy(), np.flip(whole, 1))
    wanted = np.split(whole, 2) + np.split(whole, [1, 3], axis=1)
    for got, want in zip(parts, wanted, strict=True):
        np.testing.assert_array_equal(got.numpy(), want)


def test_views_of_numbers_and_short_floats(rt):
    x = array(2, 3)
    checks = [
        lambda x: np.broadcast_to(x.sum(), (2, 2)),
        lambda x: x.sum().reshape(1, 1),
        lambda x: x[:1].squeeze(0).clip(2, 3),
        lambda x: x.copy().clip(None, 3),
        lambda x: x.flatten() + x.ravel(),
        lambda x: (x + 1)[None][:, 0, ..., None],
        lambda x: x[None][1:],
        lambda x: x.sum(axis=1, keepdims=True)[:, 1:],
    ]
    for function in checks:
        wanted = function(x)
        got = run(rt, function, x)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_array_equal(got, wanted)
