"""Callbacks of tickets, and `await ticket`."""

import asyncio
import sys
import threading

import pytest
from conftest import NAP
from deadlines import WAIT_S, until
from program_support import python

import gpuos
from gpuos import awaiting

MS = 1_000_000
FAILS = """
GPUOS_OPERATOR(fails) {
  if (lane.index() == 0) task.pointer<float>(0)[100] = 1;
}
"""


@pytest.fixture
def nap(rt):
    op = rt.define(
        "nap", source=NAP, inputs=0, params={"ns": "int64"}, elementwise=False
    )
    return lambda ns: rt.submit(op, out=rt.empty(1), ns=ns)


def failing(rt):
    op = rt.define(
        "fails", source=FAILS, inputs=0, elementwise=False, checked=True
    )
    return rt.submit(op, out=rt.empty(1))


# The states of a ticket when it is queried.
TICKETS = {
    "empty": lambda rt, _: rt.submit("fill", out=rt.zeros(0), value=1),
    "small": lambda rt, _: rt.submit("fill", out=rt.zeros(9), value=1),
    "many": lambda rt, _: rt.submit_many("add", *[rt.zeros((50, 9))] * 3),
    "long": lambda _, nap: nap(20 * MS),
    "behind a long one": lambda rt, nap: (
        nap(20 * MS),
        rt.submit("fill", out=rt.zeros(9), value=1),
    )[1],
}


def called(*tickets):
    """Return what callbacks were called with, once there are all of them."""
    got, is_all = [], threading.Event()

    def note(ticket):
        got.append((ticket, threading.current_thread().name))
        if len(got) == len(tickets):
            is_all.set()

    for ticket in tickets:
        ticket.add_done_callback(note)
    assert is_all.wait(WAIT_S)
    return got


@pytest.mark.parametrize("kind", TICKETS)
def test_callbacks_are_called_once_it_is_done(rt, nap, kind):
    ticket = TICKETS[kind](rt, nap)
    assert [t for t, _ in called(ticket)] == [ticket]
    assert ticket.done
    # At once, in this thread.
    assert called(ticket) == [(ticket, threading.current_thread().name)]


@pytest.mark.parametrize("kind", TICKETS)
def test_awaited(rt, nap, kind):
    async def main():
        ticket = TICKETS[kind](rt, nap)
        await ticket
        assert ticket.done
        await ticket

    asyncio.run(asyncio.wait_for(main(), WAIT_S))


def test_many_that_are_pending_together(rt, nap):
    first = nap(50 * MS)
    x = rt.zeros(8)
    tickets = [first] + [rt.submit("add", x, x, out=x) for _ in range(3000)]
    got = called(*tickets)
    assert {t for t, _ in got} == set(tickets)
    assert len(got) == len(tickets)

    async def main():
        async def one(ticket):
            await ticket
            return ticket.done

        nap(50 * MS)
        tickets = [rt.submit("add", x, x, out=x) for _ in range(3000)]
        return await asyncio.gather(*map(one, tickets))

    assert all(asyncio.run(main()))


def test_awaiting_a_failed_task_raises(rt):
    ticket = failing(rt)
    assert [t for t, _ in called(ticket)] == [ticket]

    async def main():
        with pytest.raises(gpuos.TaskError, match="fails"):
            await ticket

    asyncio.run(main())


def test_several_runtimes(backend):
    with gpuos.Runtime(backend=backend) as a, gpuos.Runtime("host") as b:
        tickets = [
            rt.submit("fill", out=rt.zeros(9), value=1)
            for rt in (a, b)
            for _ in range(100)
        ]
        assert {t for t, _ in called(*tickets)} == set(tickets)


def test_closing_a_runtime_calls_pending_callbacks(backend):
    got = threading.Event()
    with gpuos.Runtime(backend=backend) as rt:
        op = rt.define(
            "nap",
            source=NAP,
            inputs=0,
            params={"ns": "int64"},
            elementwise=False,
        )
        ticket = rt.submit(op, out=rt.empty(1), ns=20 * MS)
        ticket.add_done_callback(lambda _: got.set())
    assert got.wait(WAIT_S)


def test_a_cancelled_wait_leaves_the_task(rt, nap, gate):
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(gate.submit(rt.empty(1))), 0.01)
        gate.open()
        # The loop goes on, and so does the task.
        ticket = nap(1 * MS)
        await ticket
        return ticket.done

    async def wait(ticket):
        await ticket

    assert asyncio.run(main())


def test_a_loop_may_close_before_the_task_is_done(rt, nap):
    async def main():
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0.01)
        task.cancel()

    async def wait():
        await nap(50 * MS)

    asyncio.run(main())
    rt.synchronize()
    assert called(nap(1 * MS))


def test_a_cancelled_wait_gets_no_result_later(rt, nap, gate):
    seen = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: seen.append(context)
        )
        ticket = gate.submit(rt.empty(1))
        task = asyncio.ensure_future(wait(ticket))
        await asyncio.sleep(0)  # so that it waits
        assert not task.done()
        task.cancel()
        gate.open()
        rt.synchronize(WAIT_S)
        last = nap(1 * MS)
        await last  # reported after the first
        await asyncio.sleep(0.01)
        assert task.cancelled()

    async def wait(ticket):
        await ticket

    asyncio.run(main())
    assert seen == []


def test_a_callback_that_raises(rt, nap, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)

    def fail(_):
        raise ValueError("mine")

    for ticket in (rt.submit("fill", out=rt.zeros(0), value=1), nap(9 * MS)):
        ticket.add_done_callback(fail)
        called(ticket)
    until(lambda: len(raised) >= 2)
    assert [str(one.exc_value) for one in raised] == ["mine", "mine"]


def test_a_raising_hook_does_not_stop_other_callbacks(nap, monkeypatch):
    told = threading.Event()

    def hook(_):
        told.set()
        raise SystemExit

    def fail(_):
        raise ValueError

    monkeypatch.setattr(sys, "unraisablehook", hook)
    nap(9 * MS).add_done_callback(fail)
    assert told.wait(WAIT_S)
    called(nap(9 * MS))


def test_wrong_callbacks_are_refused(rt):
    ticket = rt.submit("fill", out=rt.zeros(9), value=1)
    with pytest.raises(TypeError, match="expected a function, got int"):
        ticket.add_done_callback(1)


def test_the_end_of_a_program_waits_for_no_callback():
    text = f"""
import gpuos, os
rt = gpuos.Runtime("host")
op = rt.define("nap", source='''{NAP}''', inputs=0, params={{"ns": "int64"}},
               elementwise=False)
out = rt.empty(1)
rt.submit(op, out=out, ns=50_000_000).add_done_callback(lambda _: None)
child = os.fork()
if child == 0:
    mine = gpuos.Runtime("host")
    op = mine.define("nap", source='''{NAP}''', inputs=0,
                     params={{"ns": "int64"}}, elementwise=False)
    import threading
    called = threading.Event()
    ticket = mine.submit(op, out=mine.empty(1), ns=1_000_000)
    ticket.add_done_callback(lambda _: called.set())
    assert called.wait({WAIT_S})
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    # Newer Pythons warn of a fork where there are threads.
    quietly = ("-W", "ignore:This process:DeprecationWarning")
    done = python(*quietly, "-c", text, timeout=WAIT_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_loop_polls_short_tasks_itself(rt, monkeypatch):
    """To be told by a thread costs more than such a task."""
    monkeypatch.setattr(
        awaiting, "perf_counter", lambda: 0.0
    )  # it goes on asking
    monkeypatch.setattr(awaiting._watcher, "add", None)
    x = rt.zeros(64)

    async def main():
        for _ in range(200):
            await rt.submit("add", x, x, out=x)

    asyncio.run(main())


def test_a_loop_is_not_held(rt, gate):
    async def main():
        ticket = gate.submit(rt.empty(1))
        turns = asyncio.ensure_future(take_turns())
        await ticket
        await turns

    async def take_turns():
        for _ in range(1000):
            await asyncio.sleep(0)
        gate.open()

    asyncio.run(asyncio.wait_for(main(), WAIT_S))
