"""Callbacks of tickets, and `await ticket`.

One daemon thread of the process watches these tickets without the GIL. It begins
with the first one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gpuos import _core

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator

# A loop asks itself for a while, and then the thread tells it. Who asks runs
# small tasks itself; each time is far below what a loop may be held.
_ASKING_S = 100e-6
_AT_A_TIME_S = 20e-6
_AT_ONCE = 1024  # tickets that are looked at together
_PATIENCE_S = 1e-3  # until new ones are looked for


def add_done_callback(
    ticket: _core.Ticket, callback: Callable[[_core.Ticket], object]
) -> None:
    """Call `callback(ticket)` when the task is done or has failed."""
    if not callable(callback):
        raise TypeError(
            "add_done_callback: expected a function, got "
            f"{type(callback).__name__}"
        )
    if _core._is_over(ticket, 0):
        _call(callback, ticket)
    else:
        _watcher.add(ticket, callback)


def wait_in_loop(ticket: _core.Ticket) -> Generator[Any, None, None]:
    """Wait as a coroutine does: others run meanwhile.

    Raises what Ticket.done raises. The loop has at least one turn, so that who
    awaits many tickets that are done does not keep it.
    """
    end = perf_counter() + _ASKING_S
    is_over = False
    while not is_over and perf_counter() < end:
        is_over = _core._is_over(ticket, _AT_A_TIME_S)
        yield
    if is_over:
        _ = ticket.done
        return
    import asyncio  # noqa: PLC0415 (who awaits has it already)

    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell(_: _core.Ticket) -> None:
        with suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(_set, told)

    _watcher.add(ticket, tell)
    yield from told
    _ = ticket.done


def _set(told: asyncio.Future[None]) -> None:
    if not told.done():  # as by a cancellation
        told.set_result(None)


def _call(
    callback: Callable[[_core.Ticket], object], ticket: _core.Ticket
) -> None:
    try:
        callback(ticket)
    except BaseException as error:  # noqa: BLE001 (nobody is there to get it)
        # A hook that raises takes nothing along: other tickets are waited for.
        with suppress(BaseException):
            sys.unraisablehook(
                SimpleNamespace(
                    exc_type=type(error),
                    exc_value=error,
                    exc_traceback=error.__traceback__,
                    err_msg="Exception ignored in a callback of a gpuos.Ticket",
                    object=callback,
                )
            )


class _Watcher:
    """The tickets that have callbacks, and the thread that looks at them."""

    def __init__(self) -> None:
        self._new: SimpleQueue[tuple[_core.Ticket, Any]] = SimpleQueue()
        self._unstarted = [None]  # the thread that takes it starts the worker

    def add(self, ticket: _core.Ticket, callback: Callable[..., Any]) -> None:
        self._new.put((ticket, callback))
        try:
            self._unstarted.pop()
        except IndexError:
            return
        thread = threading.Thread(
            target=self._watch, name="gpuos tickets", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the next one tries again
            self._unstarted.append(None)
            raise

    def _watch(self) -> None:
        pending: deque[tuple[_core.Ticket, Any]] = deque()
        while True:
            self._take_new(pending)
            count = min(len(pending), _AT_ONCE)
            looked_at = [pending.popleft() for _ in range(count)]
            # Later ones, and new ones, may be done sooner.
            patience = 0.0 if pending else _PATIENCE_S
            done = _core._first_done([t for t, _ in looked_at], patience)
            for place in done:
                ticket, callback = looked_at[place]
                _call(callback, ticket)
                del ticket, callback
            # From the back, so that places stay what they are.
            for place in reversed(done):
                del looked_at[place]
            if done or not pending:
                pending.extendleft(reversed(looked_at))
            else:
                pending.extend(looked_at)

    def _take_new(self, pending: deque[tuple[_core.Ticket, Any]]) -> None:
        if not pending:
            pending.append(self._new.get())
        with suppress(Empty):
            while True:
                pending.append(self._new.get_nowait())


_watcher = _Watcher()


def _leave_watcher() -> None:
    global _watcher  # noqa: PLW0603 (its thread is the parent's)
    _watcher = _Watcher()


os.register_at_fork(after_in_child=_leave_watcher)
