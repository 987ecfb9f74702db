"""Objects that report wrong metadata, or change during a call."""

import itertools

import numpy as np
import pytest
from deadlines import WAIT_S
from dlpack_support import Liar

import gpuos

ITEM = 4  # bytes
EXTENTS = (-(2**63), -8, -1, 0, 1, 2, 2**31, 2**32, 2**61 + 1, 2**62, 2**63 - 1)
STRIDES = (0, 1, -1, 2**31, 2**61, -(2**61), 2**63 - 1, -(2**63))


def is_impossible(shape, strides=None):
    """With integers that do not wrap."""
    if any(extent < 0 for extent in shape):
        return True
    size = ITEM
    for extent in shape:
        size *= max(1, extent)
    span = ITEM + sum(
        (extent - 1) * abs(stride) * ITEM
        for extent, stride in zip(shape, strides or (), strict=False)
        if extent > 1
    )
    return max(size, span) >= 2**63


SHAPES = [
    shape
    for rank in (1, 2, 3)
    for shape in itertools.product(EXTENTS, repeat=rank)
    if is_impossible(shape)
]
STRIDED = [
    (shape, strides)
    for shape in itertools.product((2, 3, 2**31), repeat=2)
    for strides in itertools.product(STRIDES, repeat=2)
    if is_impossible(shape, strides) and not is_impossible(shape)
]


@pytest.fixture(scope="module")
def shared(backend):
    with gpuos.Runtime(backend) as runtime:
        yield runtime


def uses(rt):
    """Each way to give an array to a runtime, as input and as output."""
    out = rt.zeros(8)
    total = rt.fuse(lambda x: x.sum())
    double = rt.fuse(lambda x: x * 2)
    return {
        "submit": lambda liar: rt.submit("copy", liar, out=out),
        "submit to": lambda liar: rt.submit("copy", out, out=liar),
        "submit both": lambda liar: rt.submit("copy", liar, out=liar),
        "many": lambda liar: rt.submit_many("copy", liar, liar),
        "many in lists": lambda liar: rt.submit_many("copy", [liar], [liar]),
        "fuse": total,
        "fuse to": lambda liar: double(out, out=liar),
        "fuse both": lambda liar: double(liar, out=liar),
    }


def test_every_form_that_cannot_be_is_refused(shared):
    array = shared.zeros(8)
    ways = uses(shared)
    assert len(SHAPES) > 500
    lies = [(shape, None) for shape in SHAPES] + STRIDED
    for shape, strides in lies:
        liar = Liar(array, shape, strides)
        for name, use in ways.items():
            try:
                use(liar)
            except gpuos.InvalidArgument:
                continue
            pytest.fail(f"{name}: {shape}, {strides} was taken")
    shared.synchronize(timeout=WAIT_S)
    assert (array.numpy() == 0).all()


@pytest.mark.parametrize("ndim", [-(2**31), -1, 9, 100, 2**31 - 1])
def test_numbers_of_axes_that_cannot_be(shared, ndim):
    liar = Liar(shared.zeros(8), (1,) * 8, ndim=ndim)
    for use in uses(shared).values():
        with pytest.raises(gpuos.InvalidArgument, match="0 to 8 dimensions"):
            use(liar)


def test_axes_without_sizes(shared):
    liar = Liar(shared.zeros(8), None, ndim=1)
    for use in uses(shared).values():
        with pytest.raises(gpuos.InvalidArgument, match="without sizes"):
            use(liar)


@pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
def test_versions_of_another_layout(shared, major):
    liar = Liar(shared.zeros(8), (8,))
    liar.managed.major = major
    for use in uses(shared).values():
        with pytest.raises(gpuos.InvalidArgument, match=f"version {major}"):
            use(liar)


def test_wrong_devices_are_refused(shared):
    liar = Liar(shared.zeros(8), (8,))
    kind, number = liar.place
    for other in [(3 - kind, number), (99, number)]:
        tensor = liar.managed.tensor
        tensor.device_type, tensor.device_id = other
        for use in uses(shared).values():
            with pytest.raises(gpuos.InvalidArgument, match="memory on the"):
                use(liar)


def test_valid_shapes_and_strides_are_accepted(shared):
    array = shared.array(np.arange(8, dtype="f4"))
    for shape, strides in [((8,), None), ((2, 4), (4, 1)), ((1, 8, 1), None)]:
        liar = Liar(array, shape, strides)
        assert shared.fuse(lambda x: x.sum())(liar).numpy() == 28


def test_rows_without_elements(shared):
    """Use the largest possible number of rows: there is no work."""
    array = shared.zeros(8)
    liar = Liar(array, (2**40, 0))
    shared.submit_many("copy", liar, liar)
    shared.submit("copy", liar, out=liar)
    shared.synchronize(timeout=WAIT_S)


class Vanishing:
    """Empties a list when it is accessed."""

    def __init__(self, host, where):
        self.array = host.zeros(4)
        self.where = where

    def __dlpack_device__(self):
        self.where.clear()
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __index__(self):
        self.where.clear()
        return 2


def test_lists_that_shrink_while_they_are_read(shared):
    rt = shared
    three = rt.fuse(lambda x: (x, x * 2, x * 3))
    x = rt.array(np.arange(4, dtype="f4"))

    def shrinking():
        items: list = []
        items += [Vanishing(rt, items), rt.zeros(4), rt.zeros(4)]
        return items

    outs = shrinking()
    kept = list(outs)
    three(x, out=outs)
    assert outs == []
    for factor, out in enumerate(kept, 1):
        array = out.array if isinstance(out, Vanishing) else out
        np.testing.assert_array_equal(array.numpy(), x.numpy() * factor)

    columns, results = shrinking(), [rt.zeros(4) for _ in range(3)]
    rt.submit_many("copy", columns, results)
    rt.synchronize(timeout=WAIT_S)

    sizes: list = []
    sizes += [Vanishing(rt, sizes), 3, 4]
    assert rt.empty(sizes).shape == (2, 3, 4)
    sizes += [Vanishing(rt, sizes), 3, 4]
    assert rt.zeros((2, 3, 4)).reshape(sizes).shape == (2, 3, 4)


class SaysMany:
    """A sequence with a wrong length."""

    def __len__(self):
        return 2**62

    def __getitem__(self, i):
        if i >= 2:
            raise IndexError(i)
        return 2


def test_wrong_lengths_are_refused(shared):
    for call in (
        lambda: shared.empty(SaysMany()),
        lambda: shared.zeros(4).reshape(SaysMany()),
        lambda: shared.zeros((2, 2)).transpose(SaysMany()),
        lambda: gpuos.JitModule("", include_dirs=SaysMany()),
        lambda: shared.define_many(SaysMany()),
    ):
        with pytest.raises((MemoryError, TypeError, gpuos.InvalidArgument)):
            call()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", None),
        ("data", (1,)),
        ("data", "ab"),
        ("data", 5),
        ("data", (-1, False)),
        ("data", (2**70, False)),
        ("shape", None),
        ("shape", 4),
        ("shape", (2**62, 4)),
        ("shape", (-4,)),
        ("strides", (1, 2)),
        ("strides", (3,)),
        ("typestr", None),
        ("typestr", "<f3"),
        ("mask", object()),
    ],
)
def test_invalid_array_interfaces_are_refused(cuda, field, value):
    array = cuda.zeros(4)

    class Producer:
        @property
        def __cuda_array_interface__(self):
            told = dict(array.__cuda_array_interface__)
            told[field] = value
            if value is None:
                del told[field]
            return told

    out = cuda.zeros(4)
    with pytest.raises((gpuos.InvalidArgument, TypeError)):
        cuda.submit("copy", Producer(), out=out)
    if field == "data":
        with pytest.raises((gpuos.InvalidArgument, TypeError)):
            gpuos.KernelArgs(Producer())
