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
    """Contains an array or results in parts, from shard() or Pool.map().

    Attributes
    ----------
    refs : tuple of ray.ObjectRef
        One for each part, in order.
    axis : int
        The axis along which the array is cut.
    version : int or None
        The pool's version at which map() computes it; None for shard().
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
        """Wait for all parts and return their values.

        Parameters
        ----------
        timeout : float or None
            Seconds; None waits as long as the calls take.

        Raises
        ------
        Timeout
            If they are not ready in time.
        Exception
            The exception of the first part that failed.
        """
        found: list[Any] = value_of([*self.refs], timeout, "gather")
        return found

    def gather(self, timeout: float | None = None) -> npt.NDArray[Any]:
        """Return one array of all parts; those of too few axes are stacked.

        Parameters
        ----------
        timeout : float or None
            See parts().

        Returns
        -------
        ndarray
            The parts joined along `axis`. Parts without that axis, such as
            numbers, are stacked along a new first axis.

        Raises
        ------
        TypeError
            If a part is not an array, such as a tuple; use parts().
        Timeout, Exception
            See parts().
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
        The number of parts; None: one for each processor of Ray.
    axis : int
        The axis to cut.

    Returns
    -------
    Sharded
        Some parts are empty if there are more parts than elements.

    Raises
    ------
    InvalidArgument
        If the axis does not exist, or `parts` is below 1.
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
