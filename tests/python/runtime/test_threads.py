import threading
import time
from collections import Counter, deque

import pytest
from deadlines import WAIT_S
from threads_support import in_threads

import gpuos


def test_a_wait_lets_other_threads_run(rt, gate):
    out = rt.zeros(1)
    rt.synchronize()
    ticket = gate.submit(out)
    rt.flush()
    seen = []

    def look():
        time.sleep(0.1)  # the other one waits by then
        seen.append(ticket.done)
        gate.open()

    in_threads(look, lambda: rt.wait(ticket, timeout=WAIT_S))
    assert seen == [False]


def test_a_submit_that_waits_for_room_lets_other_threads_run(rt, gate):
    out = rt.zeros(1)
    room = rt.options["queue_capacity"]
    done = threading.Event()
    beats = Counter()

    def fill():
        gate.submit(out)
        for _ in range(room + 10):
            rt.submit("fill", out=out, value=1)
        done.set()

    def beat():
        while not done.is_set():
            count = rt.stats()["tasks_submitted"]
            beats[count] += 1
            if count > room / 2 and beats[count] > 50:
                gate.open()
            time.sleep(0.005)

    in_threads(fill, beat)
    # Nothing can be submitted while the queue is full, but others run.
    assert max(beats.values()) > 3
    rt.synchronize(WAIT_S)


def test_close_while_others_submit(backend):
    rt = gpuos.Runtime(backend=backend)
    arrays = [rt.zeros(64) for _ in range(3)]
    started = threading.Event()

    def submit():
        rt.submit("fill", out=arrays[0], value=1)
        started.set()

    def submit_for_ever():
        with pytest.raises(gpuos.QueueClosed):
            deque(iter(submit, "never"), maxlen=0)

    def close():
        assert started.wait(WAIT_S)
        rt.close()

    in_threads(submit_for_ever, submit_for_ever, close)
    assert rt.is_closed


def test_free_while_others_submit(host):
    for _ in range(50):
        x, out = host.zeros(1024), host.zeros(1024)

        def submit(x=x, out=out):
            try:
                for _ in range(20):
                    host.submit("copy", x, out=out)
            except gpuos.InvalidArgument as error:
                assert "freed" in str(error)  # noqa: PT017

        in_threads(submit, x.free)
    host.synchronize(WAIT_S)
