"""One line on a terminal that is written over and over."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

REFRESH_S = 0.1
WIDTH = 30


class ProgressLine:
    """Shows a text during long work, if `stream` is a terminal.

    Parameters
    ----------
    stream : text stream or None
        None: standard error.
    after_s : float
        Seconds before the first text.
    """

    def __init__(
        self, stream: TextIO | None = None, *, after_s: float = 0.0
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = self._stream.isatty()
        self._next = time.monotonic() + after_s
        self._length = 0

    def show(self, text: str) -> None:
        """Write `text` over the last one, at most ten times a second."""
        now = time.monotonic()
        if not self._is_shown or now < self._next:
            return
        self._next = now + REFRESH_S
        self._stream.write("\r" + text.ljust(self._length))
        self._stream.flush()
        self._length = len(text)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._length:
            self._stream.write("\r" + " " * self._length + "\r")
            self._stream.flush()
            self._length = 0
            self._next = 0.0  # the next text is another one's beginning


def bar(part: float) -> str:
    """Return "[####------]  40 %" for a part of 0.4."""
    filled = round(WIDTH * part)
    return f"[{'#' * filled}{'-' * (WIDTH - filled)}] {100 * part:3.0f} %"
