"""Runs an operator over files that need not fit in memory, in chunks."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, BinaryIO

    import gpuos
    from gpuos.cli.npy import NpyReader

CHUNKS_IN_FLIGHT = 2


class Work(NamedTuple):
    """Describes the work for every chunk."""

    rt: gpuos.Runtime
    op: gpuos.Operator
    inputs: Sequence[NpyReader]
    params: Mapping[str, float]


class Place:
    """Owns the memory in which one chunk is read, computed and written."""

    def __init__(self, work: Work, elements: int) -> None:
        self._work = work
        dtype = work.inputs[0].dtype
        self._inputs = [np.empty(elements, dtype) for _ in work.inputs]
        self._result = np.empty(elements, dtype)
        self._on_device: list[gpuos.Array] = []
        if work.rt.backend != "host":
            arrays = [*self._inputs, self._result]
            self._on_device = [work.rt.empty(elements, dtype) for _ in arrays]
        self._pending: tuple[gpuos.Ticket, Any] | None = None

    def start(self, elements: int) -> None:
        """Read the next `elements` and queue them."""
        work = self._work
        memories = [memory[:elements] for memory in self._inputs]
        for file, memory in zip(work.inputs, memories, strict=True):
            file.read_into(memory)
        inputs: list[Any] = memories
        out: Any = self._result[:elements]
        if self._on_device:
            *inputs, out = [array[:elements] for array in self._on_device]
            for array, memory in zip(inputs, memories, strict=True):
                array.copy_from(memory)
        ticket = work.rt.submit(work.op, *inputs, out=out, **work.params)
        work.rt.flush()
        self._pending = ticket, out

    def finish(self, file: BinaryIO) -> None:
        """Wait for the chunk, if there is one, and write it."""
        if self._pending is None:
            return
        ticket, out = self._pending
        self._pending = None
        ticket.wait()
        file.write(out.numpy() if self._on_device else out)


def run_in_chunks(work: Work, result: BinaryIO, elements: int) -> Iterator[int]:
    """Process complete files. Yield the number of written elements.

    Parameters
    ----------
    work : Work
        Its inputs are of one size and dtype.
    result : binary file
        The elements of the output are written to it.
    elements : int
        Of one chunk; two are worked on at a time.
    """
    total = work.inputs[0].size
    elements = max(1, min(elements, total))
    places = deque(Place(work, elements) for _ in range(CHUNKS_IN_FLIGHT))
    for begin in range(0, total, elements):
        # The other place's chunk runs while this one is read.
        places[0].finish(result)
        places[0].start(min(elements, total - begin))
        places.rotate(-1)
        yield max(0, begin - elements * (CHUNKS_IN_FLIGHT - 1))
    for place in places:
        place.finish(result)
    yield total
