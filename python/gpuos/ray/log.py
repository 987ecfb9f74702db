"""The changes of a pool, in order. Versions are numbered here alone."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from typing import Any

from gpuos import _core
from gpuos.ray.engine import CONTROL, PREPARE_S, raise_cause, ray
from gpuos.ray.subscribers import Guest, Request
from gpuos.ray.versions import Entry, Table

KEPT = 1024  # versions that a member can still be asked for


class Log:
    """Numbers versions and stores them, as an actor that does not compute.

    A version is proposed to all members, which prepare it, and then appended
    here. From that moment on the version exists. Numbers are assigned once, and
    a refused version leaves a gap. A known number therefore has a known
    meaning, and no message about acceptance is needed.
    """

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._members: list[Any] = []
        self._prepares: list[Any] = []  # the same method of each
        self._tables: dict[int, Table] = {0: {}}
        self._newest = 0
        self._last = 0  # the newest number that was given
        self._guests: dict[str, Guest] = {}
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()  # replaced at each version

    async def begin(self, members: list[Any]) -> None:
        """Take down the members, once they are up."""
        self._members = members
        self._prepares = [
            member.prepare.options(concurrency_group=CONTROL)
            for member in members
        ]

    async def members(self) -> list[Any]:
        """Return the members' handles."""
        return self._members

    async def newest(self) -> int:
        """Return the number of the newest version."""
        return self._newest

    async def table(self, version: int) -> Table:
        """Return the table of a version."""
        if version not in self._tables:
            raise _core.InvalidArgument(
                f"pool {self._pool!r}: expected one of its newest {KEPT} "
                f"versions, got {version}; the newest is {self._newest}"
            )
        return self._tables[version]

    async def follow(self, version: int, seconds: float) -> int:
        """Return the newest version once it is newer, or after a time."""
        if self._newest <= version:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._news.wait(), seconds)
        return self._newest

    async def attend(
        self, who: str, answers: dict[int, Any], seconds: float
    ) -> tuple[int, list[Request]]:
        """Return the newest version and the requests for a joined runtime.

        `answers` maps each version that it prepared to None or to an exception.
        """
        guest = self._guests.setdefault(who, Guest(who))
        guest.take(answers)
        requests = await guest.next(seconds)
        return self._newest, requests

    async def leave(self, who: str) -> None:
        """Forget a runtime that joined."""
        guest = self._guests.pop(who, None)
        if guest is not None:
            guest.leave()

    async def propose(self, changes: bytes) -> int:
        """Make a version that all members have completely, or none.

        `changes` is a pickled list of Change, which the log does not read.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            The first error of a member; all others have dropped the version.
        Timeout
            If a member does not answer.
        """
        async with self._turn:
            self._last += 1
            version, before = self._last, self._newest
            self._guests = {
                who: guest
                for who, guest in self._guests.items()
                if not guest.is_gone
            }
            members = [
                self._prepared(index, version, before, changes)
                for index in range(len(self._members))
            ]
            guests = [
                guest.prepared(version, before, changes)
                for guest in self._guests.values()
            ]
            answers: list[Any] = await asyncio.gather(
                *members, *guests, return_exceptions=True
            )
            for answer in answers:
                if isinstance(answer, BaseException):
                    self._drop(version)
                    raise answer
            changed = pickle.loads(answers[0])
            if changed:
                self._write(version, changed)
            else:  # it was all there
                self._drop(version)
            return self._newest

    def _drop(self, version: int) -> None:
        """Make all members forget a version, without waiting."""
        for member in self._members:
            member.drop.options(concurrency_group=CONTROL).remote(version)
        for guest in self._guests.values():
            guest.drop(version)

    async def _prepared(
        self, index: int, version: int, before: int, changes: bytes
    ) -> Any:
        call = self._prepares[index].remote(version, before, changes)
        try:
            return await asyncio.wait_for(call, PREPARE_S)
        except asyncio.TimeoutError:
            raise _core.Timeout(
                f"member {index} of pool {self._pool!r}: expected a version to "
                f"be prepared within {PREPARE_S:g} s"
            ) from None
        except ray().exceptions.RayTaskError as error:
            raise_cause(error)

    def _write(
        self, version: int, changed: dict[str, _core.Definition]
    ) -> None:
        table = dict(self._tables[self._newest])
        for name, definition in changed.items():
            table[name] = Entry(version, definition)
        self._tables[version] = table
        self._newest = version
        if len(self._tables) > KEPT:
            del self._tables[min(self._tables)]
        self._news.set()
        self._news = asyncio.Event()
        for guest in self._guests.values():
            guest.wake()
