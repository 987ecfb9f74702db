"""Arrays in parts, each in Ray's object store."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.ray.engine import ray, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt


class Sharded:
    """An array, or results, in parts: from shard() and Pool.map().

    Attributes
    ----------
    refs : tuple of ray.ObjectRef
        One for each part, in order.
    axis : int
        Along which the parts are of one array.
    version : int or None
        That of the pool at which map() computes it; None: of shard().
    """

    def __init__(
        self, refs: Sequence[Any], axis: int = 0, version: int | None = None
    ) -> None:
        self.refs = tuple(refs)
        self.axis = axis
        self.version = version

    def __len__(self) -> int:
        return len(self.refs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.refs)

    def __repr__(self) -> str:
        return f"gpuos.ray.Sharded({len(self)} parts, axis={self.axis})"

    def parts(self, timeout: float | None = None) -> list[Any]:
        """Return what each part is, once all are there.

        Parameters
        ----------
        timeout : float or None
            Seconds; None waits as long as the calls take.

        Raises
        ------
        Timeout
            If they are not there in time.
        Exception
            What the first of them that failed raised.
        """
        found: list[Any] = value_of([*self.refs], timeout, "gather")
        return found

    def gather(self, timeout: float | None = None) -> npt.NDArray[Any]:
        """Return one array of all parts; those of too few axes are stacked.

        Parameters
        ----------
        timeout : float or None
            As of parts().

        Returns
        -------
        ndarray
            The parts side by side along `axis`; where they lack it, as numbers
            do, along a new first axis.

        Raises
        ------
        TypeError
            If a part is no array, but such as a tuple or a dict: take parts().
        Timeout, Exception
            As parts().
        """
        parts = self.parts(timeout)
        for part in parts:
            if isinstance(part, (tuple, list, dict, str)) or part is None:
                raise TypeError(
                    f"gather: expected arrays, got {type(part).__name__}; "
                    "parts() returns what there is"
                )
        arrays = [np.asarray(part) for part in parts]
        if all(array.ndim > self.axis for array in arrays):
            return np.concatenate(arrays, axis=self.axis)
        return np.stack(arrays)


def shard(
    array: npt.ArrayLike, parts: int | None = None, axis: int = 0
) -> Sharded:
    """Put an array into Ray's object store, in parts of about one size.

    Parameters
    ----------
    array : array_like, of one axis or more
    parts : int or None
        How many; None: one for each processor that Ray has.
    axis : int
        Which axis is cut.

    Returns
    -------
    Sharded
        Parts that are empty are there too, if there are more than elements.

    Raises
    ------
    InvalidArgument
        If there is no such axis, or less than one part.
    BackendUnavailable
        If Ray is not installed.
    """
    module = ray()
    whole = np.asarray(array)
    if not -whole.ndim <= axis < whole.ndim:
        raise _core.InvalidArgument(
            f"shard: axis: expected one of {whole.ndim} axes, got {axis}"
        )
    if parts is None:
        parts = max(1, int(module.cluster_resources().get("CPU", 1)))
    parts = operator.index(parts)
    if parts < 1:
        raise _core.InvalidArgument(
            f"shard: parts: expected 1 or more, got {parts}"
        )
    pieces = np.array_split(whole, parts, axis)
    refs = [module.put(np.ascontiguousarray(piece)) for piece in pieces]
    return Sharded(refs, axis % whole.ndim)
