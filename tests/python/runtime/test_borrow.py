"""Memory and operators that other code releases in the middle of a call."""

import fractions
import gc
import threading
import time
import weakref

import numpy as np
import pytest
from deadlines import WAIT_S

import gpuos

# Its own mapping of the system's: what uses it after free() ends the process.
LARGE = 1 << 24  # elements


class Between:
    """Runs another thread's work in the middle of a call that reads this."""

    def __init__(self, work):
        self.work = work

    def _run(self):
        thread = threading.Thread(target=self.work)
        thread.start()
        thread.join(WAIT_S)
        assert not thread.is_alive()


class Number(Between):
    def __float__(self):
        self._run()
        return 2.0


class Source(Between):
    def __array__(self, dtype=None, copy=None):
        self._run()
        return np.full(LARGE, 3, "f4")


def pending(rt, nap, array):
    """Have a task work on `array` for as long as a thread needs to begin."""
    rt.submit(nap, out=array, ns=200_000_000)


def freed_meanwhile(rt, array, use):
    """Call `use` in a thread that then waits, free the array, return the result."""
    results = []
    begun = threading.Event()

    def body():
        begun.set()
        try:
            results.append(use())
        except gpuos.InvalidArgument as error:
            results.append(error)  # free() came first

    thread = threading.Thread(target=body)
    thread.start()
    begun.wait(WAIT_S)
    thread.join(0.02)  # now it waits without the GIL
    array.free()
    while thread.is_alive():
        rt.empty(1)  # an allocation releases freed memory
    return results[0]


READERS = {
    "numpy": lambda a: a.numpy(),
    "strided": lambda a: a[::2].numpy(),
    "array": lambda a: np.array(a, copy=True),
}
VIEWS = {
    "view": lambda a: a.numpy(copy=False),
    "asarray": np.asarray,
    "interface": lambda a: a.__array_interface__,
    "dlpack": np.from_dlpack,
    "part": lambda a: a[1:].numpy(copy=False),
}


@pytest.mark.parametrize("name", READERS)
def test_a_copy_outlasts_free(rt, nap, name):
    array = rt.array(np.full(LARGE, 7, "f4"))
    pending(rt, nap, array)
    got = freed_meanwhile(rt, array, lambda: READERS[name](array))
    if isinstance(got, gpuos.InvalidArgument):
        return
    assert got[0] == 1
    assert (got[1:] == 7).all()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_outlasts_free(host, nap_source, name):
    rt = host
    op = rt.define(
        "nap", source=nap_source, params={"ns": "int64"}, inputs=0,
        elementwise=False,
    )  # fmt: skip
    array = rt.array(np.full(LARGE, 7, "f4"))
    pending(rt, op, array)
    got = freed_meanwhile(rt, array, lambda: VIEWS[name](array))
    if isinstance(got, np.ndarray):
        assert (got[-LARGE // 2 :] == 7).all()


def test_a_copy_in_outlasts_free(rt, nap):
    array = rt.array(np.full(LARGE, 7, "f4"))
    pending(rt, nap, array)
    source = np.full(LARGE, 9, "f4")
    freed_meanwhile(rt, array, lambda: array.copy_from(source))
    assert repr(array).endswith(", freed)")


def test_free_while_the_source_is_read(rt):
    array = rt.array(np.full(LARGE, 7, "f4"))
    array.copy_from(Source(array.free))
    with pytest.raises(gpuos.InvalidArgument, match="was freed"):
        array.numpy()


def test_free_while_a_number_of_a_submission_is_read(rt):
    x = rt.array(np.full(LARGE, 7, "f4"))
    out = rt.zeros(LARGE)
    scale = rt.define("scale", "o = a * x", params={"a": "float32"})

    def free():
        x.free()

    with pytest.raises(gpuos.InvalidArgument, match="was freed"):
        rt.submit(scale, x, out=out, a=Number(free))


class Evil:
    """An array that runs `work` when it is asked for its memory."""

    def __init__(self, work, elems):
        self.work = work
        self.array = np.ones(elems, "f4")

    def __dlpack_device__(self):
        self.work()
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def test_free_while_other_arguments_are_read(host):
    """The first one is borrowed already: its memory stays for the task."""
    x = host.array(np.full(LARGE, 7, "f4"))
    out = host.zeros(LARGE)
    host.submit("add", x, Evil(x.free, LARGE), out=out)
    assert (out.numpy() == 8).all()
    x = host.array(np.full((4, LARGE // 4), 7, "f4"))
    out = host.zeros((4, LARGE // 4))
    evil = [Evil(x.free, LARGE // 4) for _ in range(4)]
    host.submit_many("add", x, evil, out=out)
    assert (out.numpy() == 8).all()
    x = host.array(np.full(LARGE, 7, "f4"))
    out = host.fuse(lambda a, b: a + b)(x, Evil(x.free, LARGE))
    assert (out.numpy() == 8).all()


@pytest.mark.parametrize("form", ["name", "operator", "alias"])
@pytest.mark.parametrize("many", [False, True])
def test_an_operator_may_vanish_while_parameters_are_read(rt, form, many):
    names = [f"p{i}" for i in range(10)]
    x = rt.zeros(1)

    def submit(op, **numbers):
        if many:
            return rt.submit_many(op, [x], out=[x], **numbers)
        return rt.submit(op, x, out=x, **numbers)

    for _ in range(20):
        op = rt.define(
            "f",
            "o = x + " + " + ".join(names),
            params=dict.fromkeys(names, "float32"),
        )
        numbers = dict.fromkeys(names, 1.0)
        target = {"name": "f", "operator": op}.get(form)
        if form == "alias":
            target = rt.alias("g", op)
        del op  # or it would be held by this

        def undefine(form=form):
            if form != "alias":
                rt.undefine("f")
            else:
                rt.undefine("g")
                rt.undefine("f")
            # The next allocation reuses the operator's memory.
            rt.define("h", "o = x + q", params={"q": "float32"})
            gc.collect()

        numbers["p3"] = Number(undefine)
        # The error has its name, which is also the operator's.
        with pytest.raises(gpuos.InvalidArgument, match=r"\b[fg]\b"):
            submit(target, **numbers)
        rt.undefine("h")


def test_submissions_run_during_definitions(rt):
    """By name, with a number that lets other threads run."""
    stops = threading.Event()
    x = rt.zeros(1)

    def redefine():
        while not stops.is_set():
            rt.define("f", "o = x + p", params={"p": "float32"})
            rt.undefine("f")

    thread = threading.Thread(target=redefine)
    thread.start()
    try:
        for _ in range(2000):
            try:
                rt.submit("f", x, out=x, p=fractions.Fraction(1, 2))
            except gpuos.InvalidArgument:
                continue
    finally:
        stops.set()
        thread.join(WAIT_S)
    assert not thread.is_alive()
    rt.synchronize(timeout=WAIT_S)


class Name(str):
    __slots__ = ("work",)

    def __del__(self):
        if hasattr(self, "work"):
            self.work()


def test_a_name_may_submit_in_its_finalizer(rt):
    """Names are remembered by their objects; letting one go may run code."""
    x = rt.array([2.0], dtype="float32")
    out = rt.zeros(1)
    for _ in range(200):
        name = Name("add")
        name.work = lambda: rt.submit("sub", x, x, out=out)
        rt.submit(name, x, x, out=out)
        del name
    rt.define("f", "o = x")
    rt.undefine("f")
    for name, wanted in (("add", 4), ("sub", 0), ("mul", 4), ("div", 1)):
        rt.submit(name, x, x, out=out)
        assert out.numpy()[0] == wanted


class Holder(np.ndarray):
    """An array that can hold other objects."""


@pytest.mark.parametrize(
    "what", ["runtime", "ticket", "memory", "result", "alias"]
)
def test_cycles_through_an_array_are_collected(host, what):
    del host
    gone = []
    for _ in range(5):
        runtime = gpuos.Runtime("host")
        x = np.ones(8, "f4").view(Holder)
        ticket = runtime.submit("add", x, x, out=np.zeros(8, "f4"))
        if what == "runtime":
            x.held = runtime
        elif what == "ticket":
            x.held = ticket
        elif what == "memory":
            x.held = runtime.empty(8)
        elif what == "result":
            x.held = runtime.fuse(lambda a: a + a)(x)
        else:
            x.held = runtime.alias("sum", "add")
        ticket.wait(timeout=WAIT_S)
        # Memory of a task without waiters is also released when it is done.
        runtime.submit("add", x, x, out=np.zeros(8, "f4"))
        runtime.flush()
        gone.append(weakref.ref(x))
        del x, ticket, runtime
    end = time.monotonic() + WAIT_S
    while any(ref() is not None for ref in gone) and time.monotonic() < end:
        gc.collect()
    assert [ref() for ref in gone] == [None] * 5


def test_collecting_waits_for_the_tasks(host, nap_source):
    del host
    runtime = gpuos.Runtime("host")
    op = runtime.define(
        "nap", source=nap_source, params={"ns": "int64"}, inputs=0,
        elementwise=False,
    )  # fmt: skip
    x = np.zeros(1, "f4").view(Holder)
    keep = x.view(np.ndarray)  # the same memory
    x.runtime = runtime
    runtime.submit(op, out=x, ns=100_000_000)
    gone = weakref.ref(x)
    del x, runtime
    gc.collect()
    assert gone() is None
    assert keep[0] == 1
