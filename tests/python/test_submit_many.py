from __future__ import annotations

import numpy as np
import pytest
from deadlines import WAIT_S

import gpuos

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


def test_parameters_are_the_same_for_all(rt):
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
