"""Implement callbacks of tickets, and `await ticket`.

One daemon thread of the process watches these tickets without the GIL. The
first ticket starts it.
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

# The event loop polls a ticket for _ASKING_S. After that the thread watches it.
# A poll also runs small tasks. One poll is too short to delay the loop.
_ASKING_S = 100e-6
_AT_A_TIME_S = 20e-6
_AT_ONCE = 1024  # tickets in one check
_PATIENCE_S = 1e-3  # until the next check for new tickets


def add_done_callback(
    ticket: _core.Ticket, callback: Callable[[_core.Ticket], object]
) -> None:
    """Call `callback(ticket)` after the task is done or has failed."""
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
    """Wait as a coroutine, while other coroutines run.

    Raise what Ticket.done raises. The loop gets at least one turn. A coroutine
    that awaits many finished tickets therefore does not block the loop.
    """
    end = perf_counter() + _ASKING_S
    is_over = False
    while not is_over and perf_counter() < end:
        is_over = _core._is_over(ticket, _AT_A_TIME_S)
        yield
    if is_over:
        _ = ticket.done
        return
    import asyncio  # noqa: PLC0415 (`await` needs it anyway)

    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell(_: _core.Ticket) -> None:
        with suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(_set, told)

    _watcher.add(ticket, tell)
    yield from told
    _ = ticket.done


def _set(told: asyncio.Future[None]) -> None:
    if not told.done():  # a cancellation sets it too
        told.set_result(None)


def _call(
    callback: Callable[[_core.Ticket], object], ticket: _core.Ticket
) -> None:
    try:
        callback(ticket)
    except BaseException as error:  # noqa: BLE001 (no caller exists)
        # The thread survives a hook that raises, for the sake of other tickets.
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
    """The tickets that have callbacks, and the thread that checks them."""

    def __init__(self) -> None:
        self._new: SimpleQueue[tuple[_core.Ticket, Any]] = SimpleQueue()
        self._unstarted = [None]  # popping it starts the thread

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
        except RuntimeError:  # The next add() tries again.
            self._unstarted.append(None)
            raise

    def _watch(self) -> None:
        pending: deque[tuple[_core.Ticket, Any]] = deque()
        while True:
            self._take_new(pending)
            count = min(len(pending), _AT_ONCE)
            looked_at = [pending.popleft() for _ in range(count)]
            # Later and new tickets may be done sooner.
            patience = 0.0 if pending else _PATIENCE_S
            done = _core._first_done([t for t, _ in looked_at], patience)
            for place in done:
                ticket, callback = looked_at[place]
                _call(callback, ticket)
                del ticket, callback
            # Delete from the back, so that the other places stay valid.
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
    global _watcher  # noqa: PLW0603 (a child has no thread)
    _watcher = _Watcher()


os.register_at_fork(after_in_child=_leave_watcher)
