"""Runs an operator over arrays that need not fit in memory, in chunks."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    import numpy.typing as npt

    import gpuos

CHUNKS_IN_FLIGHT = 2


class Place(Protocol):
    """Where a chunk is worked on."""

    def start(self, begin: int, end: int) -> None:
        """Queue elements `begin` to `end`."""

    def finish(self) -> None:
        """Wait until they are in the output."""


class HostPlace:
    """Works on the files' pages themselves."""

    def __init__(
        self,
        rt: gpuos.Runtime,
        op: gpuos.Operator,
        inputs: Sequence[npt.NDArray[Any]],
        out: npt.NDArray[Any],
        params: Mapping[str, float],
    ) -> None:
        self._rt = rt
        self._op = op
        self._inputs = inputs
        self._out = out
        self._params = params
        self._ticket: gpuos.Ticket | None = None

    def start(self, begin: int, end: int) -> None:
        """Queue elements `begin` to `end`."""
        self._ticket = self._rt.submit(
            self._op,
            *(array[begin:end] for array in self._inputs),
            out=self._out[begin:end],
            **self._params,
        )

    def finish(self) -> None:
        """Wait until they are in the output."""
        if self._ticket is not None:
            self._rt.wait(self._ticket)
            self._ticket = None


class DevicePlace:
    """Copies a chunk to the device and its result back."""

    def __init__(
        self,
        rt: gpuos.Runtime,
        op: gpuos.Operator,
        inputs: Sequence[npt.NDArray[Any]],
        out: npt.NDArray[Any],
        params: Mapping[str, float],
        elements: int,
    ) -> None:
        self._rt = rt
        self._op = op
        self._inputs = inputs
        self._out = out
        self._params = params
        self._on_device = [rt.empty(elements, out.dtype) for _ in inputs]
        self._result = rt.empty(elements, out.dtype)
        self._range: tuple[int, int] | None = None

    def start(self, begin: int, end: int) -> None:
        """Queue elements `begin` to `end`."""
        views = [array[: end - begin] for array in self._on_device]
        for view, array in zip(views, self._inputs, strict=True):
            view.copy_from(array[begin:end])
        self._rt.submit(
            self._op,
            *views,
            out=self._result[: end - begin],
            **self._params,
        )
        self._rt.flush()
        self._range = (begin, end)

    def finish(self) -> None:
        """Wait until they are in the output."""
        if self._range is not None:
            begin, end = self._range
            self._out[begin:end] = self._result[: end - begin].numpy()
            self._range = None


def run_in_chunks(
    rt: gpuos.Runtime,
    op: gpuos.Operator,
    inputs: Sequence[npt.NDArray[Any]],
    out: npt.NDArray[Any],
    params: Mapping[str, float],
    elements: int,
) -> Iterator[int]:
    """Run `op` over whole arrays; yield how many elements are done.

    Parameters
    ----------
    inputs, out : ndarray, shape (n,)
        May be memory maps.
    params : dict
        The operator's scalars.
    elements : int
        Of one chunk; two are worked on at a time.
    """
    total = out.size
    elements = max(1, min(elements, total))
    places: deque[Place] = deque()
    for _ in range(CHUNKS_IN_FLIGHT):
        if rt.backend == "host":
            places.append(HostPlace(rt, op, inputs, out, params))
        else:
            places.append(DevicePlace(rt, op, inputs, out, params, elements))
    for begin in range(0, total, elements):
        # The other place's chunk runs while this one is read.
        places[0].finish()
        places[0].start(begin, min(begin + elements, total))
        places.rotate(-1)
        yield max(0, begin - elements * (CHUNKS_IN_FLIGHT - 1))
    for place in places:
        place.finish()
    yield total
