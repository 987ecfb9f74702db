"""Programs over more elements than 32 bits can count."""

from __future__ import annotations

import numpy as np
import pytest

import gpuos

ROWS, COLUMNS = 65_536, 65_541
assert ROWS * COLUMNS > 2**32


@pytest.fixture
def column_and_row(rt):
    x = (np.arange(ROWS) % 251).astype(np.uint8)
    y = (np.arange(COLUMNS) % 241).astype(np.uint8)
    x[-1] = y[-1] = 255
    return rt.array(x[:, None]), rt.array(y[None, :])


def pairs(x, y):
    """Return how many pairs of elements are equal."""
    counts = [
        np.bincount(z.numpy().ravel(), minlength=256).astype(np.int64)
        for z in (x, y)
    ]
    return int(counts[0] @ counts[1])


@pytest.mark.parametrize("is_compiled", [False, True])
def test_reductions_count_past_32_bits(rt, column_and_row, is_compiled):
    x, y = column_and_row
    equal = rt.fuse(lambda x, y: (x == y).sum())
    if is_compiled:
        try:
            equal.compile(x, y)
        except gpuos.BackendUnavailable as error:
            pytest.skip(str(error))
    assert equal(x, y).numpy() == pairs(x, y)
    last = rt.fuse(lambda x, y: ((x == 255) & (y == 255)).argmax())
    assert last(x, y).numpy() == ROWS * COLUMNS - 1


def test_results_have_more_elements_than_32_bits_count(cuda):
    # On the device alone: 4 GiB for a result is much for a processor's memory.
    x = (np.arange(ROWS) % 251).astype(np.uint8)
    y = (np.arange(COLUMNS) % 241).astype(np.uint8)
    add = cuda.fuse(lambda x, y: x + y)
    total = cuda.fuse(lambda z: z.astype("int64").sum())
    operands = cuda.array(x[:, None]), cuda.array(y[None, :])
    for is_compiled in (False, True):
        if is_compiled:
            add.compile(*operands)
        z = add(*operands)
        assert z.shape == (ROWS, COLUMNS)
        for i in (0, 1, ROWS // 2, ROWS - 1):
            assert (z[i].numpy() == x[i] + y).all()
        # A row: one dimension whose length needs more than 32 bits.
        rows = np.bincount(x, minlength=256)
        expected = sum(
            int(rows[value]) * int((np.uint8(value) + y).sum(dtype=np.int64))
            for value in range(256)
        )
        assert total(z.reshape(-1)).numpy() == expected
        del z


@pytest.mark.parametrize("residency", ["burst", "resident"])
@pytest.mark.parametrize(
    "shape", [(100_003, 17), (2_049, 1_025), (9, 1 << 18), (2, 1_500_001)]
)
def test_workers_share_the_rows_of_slices(backend, residency, shape):
    # Each worker has several rounds, in several concurrent calls.
    x = (np.arange(np.prod(shape)) % 251).astype(np.float32).reshape(shape)
    functions = (
        lambda x: x[:, 1:] - x[:, :-1],
        lambda x: x[1:] * 2 - x[:-1],
        lambda x: np.concatenate([-x[:, 1:], x[:, :1]], -1),
    )
    with gpuos.Runtime(backend, residency=residency) as rt:
        on = rt.array(x)
        fused = [rt.fuse(function) for function in functions]
        for each in fused:
            try:
                each.compile(on)
            except gpuos.BackendUnavailable as error:
                pytest.skip(str(error))
        made = [(each(on), each(on)) for each in fused]
        for function, results in zip(functions, made, strict=True):
            for result in results:
                np.testing.assert_array_equal(result.numpy(), function(x))
