"""A fused function as the rows of `bench programs` call it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import gpuos
from gpuos.bench.context import WAIT_S
from gpuos.bench.program_peers import Peer
from gpuos.bench.row import Unavailable, check_right

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpuos.bench.program_work import Work


@dataclass(kw_only=True)
class Ours(Peer):
    """Calls of a fused function that write the same output."""

    fused: gpuos.Fused
    out: gpuos.Array

    def compile(self) -> None:
        """Have the program compiled now, or raise Unavailable."""
        try:
            self.fused.compile(*self.inputs)
        except gpuos.BackendUnavailable as error:
            raise Unavailable(str(error)) from error

    def check(
        self,
        expected: npt.NDArray[np.generic],
        relative: float = 0.0,
        absolute: float = 0.0,
    ) -> None:
        """Run once over a poisoned output and compare every element.

        Raises
        ------
        ValueError
            Saying how many elements are further from `expected`.
        """
        self.out.copy_from(np.full(self.out.shape, -1, self.out.dtype))
        self.once()
        got = self.out.numpy()
        if relative or absolute:
            room = absolute + relative * np.abs(expected)
            # Written so that NaN is wrong.
            wrong = ~(np.abs(got - expected) <= room)
        else:
            wrong = got != expected
        check_right(int(np.count_nonzero(wrong)), repr(self.fused))


def make_ours(rt: gpuos.Runtime, work: Work) -> Ours:
    """Fuse the function and call it once."""
    fused = rt.fuse(work.ours)
    inputs = tuple(rt.array(x) for x in work.inputs)
    out = fused(*inputs)
    return Ours(
        partial(fused, out=out),
        inputs,
        partial(rt.synchronize, WAIT_S),
        fused=fused,
        out=out,
    )


def exact(work: Work) -> npt.NDArray[np.float64]:
    """Return what NumPy computes in float64."""
    inputs = (x.astype(np.float64) for x in work.inputs)
    return np.asarray(work.numpy(*inputs))
