"""An end for a run that hangs in a call that has no deadline of its own."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_CODE = 3


class Watchdog:
    """Ends the process when a measurement takes too long.

    Parameters
    ----------
    limit_s : float
        Seconds from one feed() to the next.
    last_words : callable
        Called with a text before the end, to save what there is.
    """

    def __init__(
        self, limit_s: float, last_words: Callable[[str], None]
    ) -> None:
        self._limit_s = limit_s
        self._last_words = last_words
        self._timer: threading.Timer | None = None

    def feed(self) -> None:
        """Start the time again."""
        self.stop()
        self._timer = threading.Timer(self._limit_s, self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        try:
            self._last_words(f"did not end within {self._limit_s:g} s")
        finally:
            os._exit(EXIT_CODE)  # the other threads may never come back
