"""Runtimes that joined a pool, as its log sees them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, NamedTuple

from gpuos import _core
from gpuos.ray.engine import PREPARE_S

LEASE_S = 10.0  # after which one that is not heard of is gone
ATTEND_S = 2.0  # the longest wait for a request
_LOOK_S = 0.5


class Request(NamedTuple):
    """A version to prepare, or one to drop if there are no changes: as
    pickled for Log.propose()."""

    version: int
    before: int
    changes: bytes | None


class Guest:
    """A joined runtime. It cannot be called, so it polls for requests."""

    def __init__(self, who: str) -> None:
        self.who = who
        self._requests: list[Request] = []
        self._has_some = asyncio.Event()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._heard = 0.0

    @property
    def is_gone(self) -> bool:
        """Return whether it has been silent for too long."""
        return _now() - self._heard > LEASE_S

    def take(self, answers: dict[int, Any]) -> None:
        """Record that the guest is alive, and the answers to its requests."""
        self._heard = _now()
        for version, answer in answers.items():
            waiting = self._answers.pop(version, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def leave(self) -> None:
        """End all waits for its answers."""
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_result(None)

    async def next(self, seconds: float) -> list[Request]:
        """Return the pending requests, at the latest after a time."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._has_some.wait(), seconds)
        self._heard = _now()
        self._has_some.clear()
        requests, self._requests = self._requests, []
        return requests

    def wake(self) -> None:
        """Wake its poll, because there is a version."""
        self._has_some.set()

    def drop(self, version: int) -> None:
        """Make the guest drop a prepared version."""
        self._requests.append(Request(version, 0, None))
        self._has_some.set()

    async def prepared(self, version: int, before: int, changes: bytes) -> Any:
        """Make the guest prepare a version; return None if it is gone.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            The exception that the guest raised.
        Timeout
            If it is alive but does not answer.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[version] = answer
        self._requests.append(Request(version, before, changes))
        self._has_some.set()
        end = _now() + PREPARE_S
        while not (await asyncio.wait([answer], timeout=_LOOK_S))[0]:
            if self.is_gone:
                return None
            if _now() > end:
                raise _core.Timeout(
                    f"{self.who}: expected a version to be prepared within "
                    f"{PREPARE_S:g} s"
                )
        if isinstance(answer.result(), Exception):
            raise answer.result()
        return answer.result()


def _now() -> float:
    return asyncio.get_running_loop().time()
