"""Memory that its owner closes or resizes while a task is pending."""

from __future__ import annotations

import mmap
from multiprocessing import shared_memory

import numpy as np
import pytest
from conftest import Gate

import gpuos

BYTES = 4096


class OfSharedMemory:
    def __init__(self):
        self.owner = shared_memory.SharedMemory(create=True, size=BYTES)
        self.memory = self.owner.buf

    def close(self):
        self.owner.close()

    def end(self):
        self.owner.unlink()


class OfMapping:
    def __init__(self):
        self.owner = self.memory = mmap.mmap(-1, BYTES)

    def close(self):
        self.owner.close()

    def end(self):
        pass


class OfBytearray(OfMapping):
    def __init__(self):
        self.owner = self.memory = bytearray(BYTES)

    def close(self):
        self.owner.extend(bytes(1 << 20))


VIEWS = {
    "whole": lambda memory: np.ndarray((1024,), "f4", buffer=memory),
    "a part": lambda memory: np.ndarray((1024,), "f4", buffer=memory)[8:],
    "a view of a part": lambda memory: np.ndarray((1024,), "f4", buffer=memory)[
        8:
    ].reshape(8, -1)[2:],
}
# How a program sees that the task is done.
SEEN = {
    "wait": lambda ticket, _: ticket.wait(),
    "done": lambda ticket, _: until(lambda: ticket.done),
    "synchronize": lambda ticket, _: ticket.wait() or None,
    "numpy": lambda _, out: out.numpy(),
}


def until(is_so):
    while not is_so():
        pass


@pytest.fixture
def rt():
    with gpuos.Runtime(backend="host") as runtime:
        yield runtime


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", [OfSharedMemory, OfMapping, OfBytearray])
def test_who_closes_it_under_a_task_is_told(rt, kind, view, seen):
    owner = kind()
    array = VIEWS[view](owner.memory)
    array[...] = 3
    gate, busy = Gate(rt), rt.empty(1)
    first = gate.submit(busy)
    out = rt.empty(array.shape)
    ticket = rt.submit("add", array, array, out=out)
    with pytest.raises((BufferError, ValueError)):
        owner.close()
    gate.open()
    first.wait()
    SEEN[seen](ticket, out)
    assert float(out.sum()) == 6 * array.size
    del array
    owner.close()
    owner.end()
