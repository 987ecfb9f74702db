"""Ends the process when a case hangs, with the case and the stacks."""

import atexit
import contextlib
import faulthandler
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

DEADLINE_S = 100.0  # of a case; some wait for compilers, or for tasks 60 s


class Watch:
    """One thread that checks the time for all cases."""

    def __init__(self) -> None:
        # The start of the case, and the function that describes it. They are one
        # object, so that the thread never sees parts of two cases.
        self._running: tuple[float, Callable[[], str]] | None = None
        self._beat()
        atexit.register(faulthandler.cancel_dump_traceback_later)
        threading.Thread(target=self._look, daemon=True).start()

    @contextlib.contextmanager
    def case(self, text: Callable[[], str]) -> Iterator[None]:
        """While it runs; `text` writes it down should it not end."""
        self._running = time.monotonic(), text
        try:
            yield
        finally:
            self._running = None

    def _beat(self) -> None:
        """Postpone the end; code that blocks the interpreter prevents this."""
        faulthandler.dump_traceback_later(
            DEADLINE_S, exit=True, file=sys.__stderr__
        )

    def _look(self) -> None:
        while True:
            time.sleep(1.0)
            self._beat()
            running = self._running
            if running and time.monotonic() - running[0] > DEADLINE_S:
                sys.stdout.write(
                    f"did not end within {DEADLINE_S:.0f} s\n\n{running[1]()}\n"
                )
                sys.stdout.flush()
                faulthandler.dump_traceback(sys.__stderr__, all_threads=True)
                os._exit(1)


@functools.cache
def watch() -> Watch:
    return Watch()
