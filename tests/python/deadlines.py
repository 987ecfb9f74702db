"""Deadlines of waits in tests.

Only a failure takes as long. A deadline is many times the need of the slowest
machine under load. The absence of an event is not tested by time; a test
counts steps instead.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_S = 120.0
COMPILE_S = (
    5 * WAIT_S
)  # where a compiler, or a process with PyTorch, is waited for


def until(holds: Callable[[], Any], timeout: float = WAIT_S) -> bool:
    """Wait until `holds()` is true; a deadline that passes is a failure."""
    end = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
    return True
