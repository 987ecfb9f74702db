"""Many threads in all of the module at once, on what they share.

Under a Python without a GIL they run at the same time; under one with a GIL they
take turns as often as it can be had. NumPy says what is right.
"""

import gc
import random
import sys
import threading
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from deadlines import WAIT_S
from program_support import python
from threads_support import in_threads

import gpuos

THREADS = 16
ROUNDS = 60
SIZE = 96
SCALES = (2.0, 3.0, 5.0)


IMPORTS = """
import sys, numpy
has_gil = getattr(sys, "_is_gil_enabled", lambda: True)
before = has_gil()
import gpuos, gpuos.array_api, gpuos.functions
rt = gpuos.Runtime("host")
assert (rt.ones(3) + 1).numpy().tolist() == [2, 2, 2]
print(before == has_gil())
"""


def has_gil() -> bool:
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def test_importing_gpuos_leaves_the_gil_as_it_was():
    told = python("-W", "error", "-c", IMPORTS, timeout=WAIT_S)
    assert (told.stdout, told.stderr) == ("True\n", "")


@pytest.fixture(autouse=True)
def _take_turns_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class World:
    """Holds the objects that all threads share."""

    def __init__(self, backend: str) -> None:
        self.rt = gpuos.Runtime(backend)
        self.other = gpuos.Runtime(backend)
        random_numbers = np.random.default_rng(5)
        self.a, self.b = random_numbers.random((2, SIZE, SIZE), dtype="f4")
        self.x, self.y = self.rt.array(self.a), self.rt.array(self.b)
        self.scale = self.rt.define("scale", _scaling(SCALES[0]))
        self.alias = self.rt.alias("by", self.scale)
        self.part = self.rt.fuse(lambda x: x * SCALES[0])
        self.part.__name__ = "part"
        self.whole = self.rt.fuse(lambda x, y: self.part(x) + y)
        self.polynomial = gpuos.fuse(lambda x, y, c: (x + c) * y - x)
        self.tree = gpuos.fuse(
            lambda pair: {
                "sum": pair[0] + pair[1],
                "product": pair[0] * pair[1],
            }
        )
        self.deferred = self.x * self.y + self.x
        self.deferred_sum = self.deferred.sum(axis=0)

    def close(self) -> None:
        self.rt.close()
        self.other.close()


def _scaling(scale: float) -> str:
    return f"o = x * {scale}"


def is_scaled(of: np.ndarray, made: np.ndarray, plus: float = 0.0) -> bool:
    """Return whether all of it is of one version."""
    return any(
        np.allclose(of * scale + plus, made, rtol=1e-6) for scale in SCALES
    )


# ---- Functions that a thread repeats: `number` is the number of the thread.


def submit(w: World, number: int) -> None:
    out = w.rt.empty((SIZE, SIZE))
    ticket = w.rt.submit("add", w.x, w.y, out=out)
    w.rt.submit("mul", out, w.y, out=out)
    if number % 2:
        ticket.wait(timeout=WAIT_S)
        assert ticket.done
    assert np.array_equal(out.numpy(), (w.a + w.b) * w.b)


def submit_of_numpy(w: World, number: int) -> None:
    given = np.full(SIZE, number, "f4")
    if w.rt.backend == "host":
        out = np.zeros(SIZE, "f4")
    else:  # of which a GPU takes a copy only
        given, out = w.rt.array(given), w.rt.zeros(SIZE)
    w.rt.wait(w.rt.submit("add", given, given, out=out), timeout=WAIT_S)
    made = out if isinstance(out, np.ndarray) else out.numpy()
    assert (made == 2 * number).all()


def submit_many(w: World, number: int) -> None:
    rows = [w.x[i] for i in range(8)]
    outs = w.rt.empty((8, SIZE))
    w.rt.submit_many("add", rows, rows, [outs[i] for i in range(8)])
    w.rt.submit_many("add", outs, outs, outs)
    assert np.array_equal(outs.numpy(), 4 * w.a[:8])
    assert number < THREADS


def define(w: World, number: int) -> None:
    rt = w.other if number % 2 else w.rt
    name = f"own_{number}"
    op = rt.define(name, "o = x * k + 1", params={"k": "float32"})
    x = rt.array(w.a[0])
    out = rt.empty(SIZE)
    rt.submit(op if number % 3 else name, x, out=out, k=number)
    assert np.allclose(out.numpy(), w.a[0] * np.float32(number) + 1, rtol=1e-6)
    assert name in rt.operators()
    rt.undefine(op)
    with pytest.raises(gpuos.InvalidArgument):
        rt.submit(name, x, out=out, k=number)


def replace(w: World, number: int) -> None:
    if number % 4 == 0:
        w.rt.replace(w.scale, _scaling(random.choice(SCALES)))
    out = w.rt.empty((SIZE, SIZE))
    given = (w.scale, "scale", w.alias, "by")[number % 4]
    w.rt.submit(given, w.x, out=out)
    assert is_scaled(w.a, out.numpy())
    assert w.scale.version > 0


def change_together(w: World, number: int) -> None:
    names = [f"one_{number}", f"two_{number}"]
    with w.rt.transaction() as change:
        for name in names:
            change.define(name, "o = x + 1")
    out = w.rt.empty(SIZE)
    w.rt.submit(names[0], w.x[3], out=out)
    w.rt.submit(names[1], out, out=out)
    assert np.allclose(out.numpy(), w.a[3] + 2)
    for name in names:
        w.rt.undefine(name)


def compute(w: World, number: int) -> None:
    c = float(number)
    made = (w.x + c) * w.y - w.x
    column = made.sum(axis=1)
    del made
    expected = ((w.a + np.float32(c)) * w.b - w.a).sum(axis=1)
    assert np.allclose(column.numpy(), expected, rtol=1e-4)
    made = w.x + w.y
    made += 1
    assert np.allclose((made > 1.5).numpy(), w.a + w.b + 1 > 1.5)


def look_at_shared_results(w: World, number: int) -> None:
    product = w.a * w.b + w.a
    if number % 4 == 0:  # for the others
        w.deferred = w.x * w.y + w.x
        w.deferred_sum = w.deferred.sum(axis=0)
    assert np.allclose(w.deferred.numpy(), product)
    assert np.allclose(w.deferred_sum.numpy(), product.sum(axis=0), rtol=1e-5)
    assert np.allclose((w.deferred[1] + 1).numpy(), product[1] + 1)


def drop_results(w: World, number: int) -> None:
    results = [w.x[i] + number for i in range(6)]
    total = results[0] + results[1]
    del results[:3]
    assert np.allclose(total.numpy(), w.a[0] + w.a[1] + 2 * number)


def fuse(w: World, number: int) -> None:
    rows = 1 + number % 5
    x, y = w.x[:rows], w.y[:rows]
    c = float(number) if number % 2 else number
    made = w.polynomial(x, y, c)
    a, b = w.a[:rows], w.b[:rows]
    assert np.allclose(made.numpy(), (a + np.float32(c)) * b - a, atol=1e-4)
    out = w.rt.empty((rows, SIZE))
    w.polynomial(x, y, c, out=out)
    assert np.array_equal(out.numpy(), made.numpy())
    assert w.polynomial(a, b, c).shape == (rows, SIZE)  # NumPy's


def replace_fused(w: World, number: int) -> None:
    if number % 4 == 0:
        scale = random.choice(SCALES)
        w.part.replace(lambda x: x * scale)
    made = w.whole(w.x, w.y)
    assert is_scaled(w.a, made.numpy() - w.b) or any(
        np.allclose(w.a * scale + w.b, made.numpy()) for scale in SCALES
    )
    assert w.part.version > 0
    assert w.whole.programs() is not None


def fuse_trees(w: World, number: int) -> None:
    x, y = w.x[number], w.y[number]
    a, b = w.a[number], w.b[number]
    pair = [x, y] if number % 2 else (x, y)
    made = w.tree(pair)
    assert np.allclose(made["sum"].numpy(), a + b)
    assert np.allclose(made["product"].numpy(), a * b)
    own = gpuos.fuse(lambda x: x - number)
    assert np.allclose(own(x).numpy(), a - number)
    assert len(w.tree.programs()) > 0


def look_at_views(w: World, number: int) -> None:
    assert np.array_equal(w.x[number:, ::2].numpy(), w.a[number:, ::2])
    assert np.array_equal(w.x.T[number].numpy(), w.a.T[number])
    assert np.array_equal(w.x.reshape(-1).numpy(), w.a.reshape(-1))
    assert w.x.shape == w.a.shape
    assert w.x.runtime is w.rt


def exchange(w: World, number: int) -> None:
    own = w.rt.array(w.a)
    if w.rt.options["backend"] == "host":
        shared = np.from_dlpack(w.y)
        assert np.array_equal(shared, w.b)
        assert np.array_equal(np.asarray(own), w.a)
        assert own.__array_interface__["shape"] == w.a.shape
    capsule = own.__dlpack__()
    own.free()
    with pytest.raises(gpuos.InvalidArgument):
        own.numpy()
    del capsule
    # Arrays of another runtime.
    out = w.other.empty(SIZE)
    w.other.submit("add", w.x[number], w.y[number], out=out)
    assert np.allclose(out.numpy(), w.a[number] + w.b[number])


def look_on(w: World, number: int) -> None:
    if number % 8 == 0:
        gc.collect(0)  # a process of many tests has much to collect
    rt = w.other if number % 2 else w.rt
    rt.flush()
    stats = rt.stats()
    assert stats["tasks_submitted"] >= 0
    if number % 3 == 0:
        rt.synchronize(WAIT_S)
    assert "scale" in w.rt.operators()
    with gpuos.Runtime("host", workers=1) as own:
        assert (own.zeros(4) + 1).numpy().tolist() == [1, 1, 1, 1]


WORKS = [
    submit,
    submit_of_numpy,
    submit_many,
    define,
    replace,
    change_together,
    compute,
    look_at_shared_results,
    drop_results,
    fuse,
    replace_fused,
    fuse_trees,
    look_at_views,
    exchange,
    look_on,
]


@pytest.fixture
def world(backend):
    made = World(backend)
    yield made
    made.close()


def run_threads(body):
    """Run body(number) in all threads from one moment on."""
    start = threading.Barrier(THREADS)

    def run(number):
        start.wait(WAIT_S)
        body(number)

    in_threads(*(partial(run, number) for number in range(THREADS)))


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_threads_do_the_same_at_once(world, work):
    had_gil = has_gil()

    def body(number):
        for _ in range(ROUNDS):
            work(world, number)

    run_threads(body)
    assert has_gil() == had_gil


def test_threads_call_everything_concurrently(world):
    def body(number):
        chosen = random.Random(number)
        for _ in range(3):
            for work in chosen.sample(WORKS, len(WORKS)):
                work(world, number)

    run_threads(body)


def test_threads_trace_and_wait_for_each_other(rt):
    """The function of a fused function may wait for another thread."""
    x = rt.ones(4)
    turns = [threading.Event() for _ in range(4)]

    def function(x, number):
        if number is None:
            return x
        turns[len(number)].set()
        # This loop never releases a lock by itself.
        while not all(turn.is_set() for turn in turns):
            pass
        return x + len(number)

    fused = rt.fuse(function)
    made = {}

    def body(number):
        if number < len(turns):
            made[number] = fused(x, "." * number).numpy()
        else:
            assert fused(x, None).numpy().tolist() == [1, 1, 1, 1]

    run_threads(body)
    for number in range(len(turns)):
        assert (made[number] == 1 + number).all()


def test_order_of_one_thread_stays_while_others_submit(rt):
    """Later tasks of one thread run after its earlier ones."""
    counters = [rt.zeros(1) for _ in range(THREADS)]

    def body(number):
        seen = []
        for _ in range(20):
            for _ in range(10):
                rt.submit("add", counters[number], rt_one, out=counters[number])
            seen.append(float(counters[number].numpy()[0]))
        assert all(b - a == 10 for a, b in pairwise(seen))

    rt_one = rt.ones(1)
    rt_one.numpy()
    run_threads(body)
