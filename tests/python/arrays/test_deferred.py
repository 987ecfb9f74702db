"""Operators of arrays are collected into one task until a result is read.

An operation reads the values at the time when it was written.
"""

import itertools
import resource
import sys

import numpy as np
import pytest

import gpuos

NAMES = (f"minus_one_{i}" for i in itertools.count())
START = np.arange(1, 25, dtype="f4").reshape(4, 6)


def tasks(rt) -> int:
    return rt.stats()["tasks_submitted"]


LINES = [
    "np.sqrt(x * x + 1).sum()",
    "(x - x.mean(axis=1, keepdims=True)) / x.std()",
    "np.where(x > 3, x, -x).max(axis=0) * 2",
    "x + x * 2 - x[0]",
    "(lambda y: (y, y * 2, y.sum()))(x + 1)",
]


@pytest.mark.parametrize("line", LINES)
def test_deferred_lines_make_the_tasks_of_a_fused_function(rt, line):
    x = rt.array(START)
    function = eval(f"lambda x, row: {line.replace('x[0]', 'row')}", {"np": np})
    before = tasks(rt)
    rt.fuse(function)(x, x[0])
    fused = tasks(rt) - before
    made = function(x, x[0])
    assert tasks(rt) == before + 2 * fused
    assert fused <= 2
    wanted = function(START, START[0])
    for got, want in zip(flat(made), flat(wanted), strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)


def test_unrelated_operations_are_separate_tasks(rt):
    x = rt.array(START)
    before = tasks(rt)
    made = [x * 2, x + x]
    assert tasks(rt) == before + 2
    np.testing.assert_array_equal(made[0].numpy(), made[1].numpy())


def flat(made):
    return made if isinstance(made, tuple) else (made,)


def test_unread_results_are_not_computed(rt):
    x = rt.array(START)
    before = tasks(rt)
    y = x * 2
    z = y + 1
    del y, z
    assert tasks(rt) == before
    y = x * 2
    z = y + 1
    del y
    np.testing.assert_array_equal(z.numpy(), START * 2 + 1)
    assert tasks(rt) == before + 1


def test_a_kept_intermediate_result_is_written(rt):
    x = rt.array(START)
    before = tasks(rt)
    y = x * 2
    z = y + 1
    np.testing.assert_array_equal(z.numpy(), START * 2 + 1)
    np.testing.assert_array_equal(y.numpy(), START * 2)
    assert tasks(rt) == before + 1


# ---- Writes to an operand, after an operation that reads it was recorded.


def by_dlpack(rt, x):
    view = np.from_dlpack(x) if rt.backend == "host" else None
    if view is None:
        torch = pytest.importorskip("torch")
        torch.from_dlpack(x).fill_(-1)
    else:
        view[...] = -1


def by_numpy(_rt, x):
    x.numpy(copy=False)[...] = -1


def by_interface(_rt, x):
    np.asarray(Interface(x))[...] = -1


class Interface:
    def __init__(self, x):
        self.__array_interface__ = x.__array_interface__


def by_expression(rt, x):
    op = rt.define(next(NAMES), "o = 0 * x - 1")
    rt.submit(op, rt.zeros(x.shape), out=x)


def by_in_place(_rt, x):
    x *= 0
    x -= 1


def by_items(_rt, x):
    x[...] = -1


def by_rows(_rt, x):
    for i in range(len(x)):
        x[i, ...].fill(-1)


def by_mask(_rt, x):
    x[x > -9] = -1


WRITERS = {
    "copy_from": lambda _rt, x: x.copy_from(np.full(x.shape, -1, "f4")),
    "DLPack": by_dlpack,
    "NumPy": by_numpy,
    "interface": by_interface,
    "submit": lambda rt, x: rt.submit("fill", out=x, value=-1),
    "expression": by_expression,
    "copy": lambda rt, x: rt.submit("copy", rt.full(x.shape, -1, "f4"), out=x),
    "submit_many": lambda rt, x: rt.submit_many(
        "copy", rt.full(x.shape, -1, "f4"), out=x
    ),
    "fused": lambda rt, x: rt.fuse(lambda y: y * 0 - 1)(
        rt.zeros(x.shape), out=x
    ),
    "out=": lambda rt, x: np.subtract(rt.zeros(x.shape), 1, out=x),
    "where=": lambda rt, x: np.negative(
        rt.full(x.shape, 1, "f4"), out=x, where=x > -9
    ),
    "in place": by_in_place,
    "items": by_items,
    "rows": by_rows,
    "mask": by_mask,
    "fill": lambda _rt, x: x.fill(-1),
}
# The parts of one memory that are written and read.
PARTS = {
    "whole": lambda x: x,
    "rows": lambda x: x[1:3],
    "flat": lambda x: x.reshape(24)[5:],
}


@pytest.mark.never(
    lambda backend, writer: (
        backend != "host" and writer in ("NumPy", "interface")
    ),
    reason="NumPy sees the memory of the processor only",
)
@pytest.mark.parametrize("writer", WRITERS)
def test_an_operand_is_read_as_it_was(rt, writer):
    for read, written in itertools.product(PARTS.values(), repeat=2):
        x = rt.array(START)
        seen, target = read(x), written(x)  # views of before
        y = seen * 2 + 1
        z = y - seen
        WRITERS[writer](rt, target)
        wanted = read(START)
        np.testing.assert_array_equal(z.numpy(), wanted + 1)
        np.testing.assert_array_equal(y.numpy(), wanted * 2 + 1)
        after = START.copy()
        written(after)[...] = -1
        np.testing.assert_array_equal(x.numpy(), after)


@pytest.mark.never(
    lambda backend: backend != "host", reason="of the memory of the processor"
)
@pytest.mark.parametrize("writer", ["DLPack", "NumPy", "interface"])
def test_an_exported_address_may_be_written_later(rt, writer):
    """Memory that other code can write is read at once."""
    x = rt.array(START)
    part = x[1:]
    outside = {
        "DLPack": np.from_dlpack,
        "NumPy": lambda x: x.numpy(copy=False),
        "interface": lambda x: np.asarray(Interface(x)),
    }[writer](part)
    y = x + 1
    outside[...] = 0
    np.testing.assert_array_equal(y.numpy(), START + 1)


def test_a_long_chain_uses_flat_memory(rt):
    # No compiler is loaded meanwhile.
    with gpuos.Runtime(rt.backend, compile_programs_after=0) as quiet:
        y = quiet.array(START)
        a, b = quiet.full(START.shape, 0.5, "f4"), quiet.ones(START.shape)
        for n in (5000, 100_000):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(n):
                y = y * a + b
            np.testing.assert_allclose(y.numpy(), 2)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 8 << 10, "KiB"


def test_deferred_work_beyond_one_task_is_split(rt):
    """40 operands and 40 results, then 100 of each other."""
    xs = [rt.full(5, i, "f8") for i in range(40)]
    total = xs[0]
    sums = [total]
    for x in xs[1:]:
        total = total + x
        sums.append(total)
    wanted = np.cumsum(np.arange(40.0))
    for got, want in zip(sums, wanted, strict=True):
        assert got.tolist() == [want] * 5
    y = xs[1]
    for i in range(100):
        y = y + 0.5 * i
    assert y.tolist() == [1 + 0.5 * sum(range(100))] * 5


def test_freed_and_closed_operands_are_computed_before(rt):
    x = rt.array(START)
    y, z = x + 1, x + 2
    x.free()
    np.testing.assert_array_equal(y.numpy(), START + 1)
    z.free()
    with pytest.raises(gpuos.InvalidArgument, match="freed"):
        z + 1
    with gpuos.Runtime(rt.backend) as other:
        late = other.array(START) * 3
    if rt.backend == "host":
        np.testing.assert_array_equal(late.numpy(), START * 3)


def test_arguments_live_no_longer_than_the_caller_keeps_them(rt):
    class Axis(int):
        pass

    axis = Axis(0)
    before = sys.getrefcount(axis)
    assert rt.ones((2, 3)).all(axis).tolist() == [True] * 3
    assert sys.getrefcount(axis) == before


def test_results_without_room_raise_when_read(rt):
    x, y = rt.zeros(1 << 10, "f8"), rt.zeros(1 << 17, "f8")
    before = tasks(rt)
    # 128 PiB: more than an address of today's processors can reach.
    large = x + x[:, None] + y[:, None, None] + y[:, None, None, None]
    small = x + 1
    for _ in range(2):
        with pytest.raises((MemoryError, gpuos.Error)):
            large.numpy()
        with pytest.raises((MemoryError, gpuos.Error)):
            large + 1
    assert small[:2].tolist() == [1, 1]
    # The program does not hold x + x[:, None], which would have room.
    assert tasks(rt) == before + 1
