"""Deadlines of waits in tests.

Only a failure takes as long. A deadline is many times the need of the slowest
machine under load. The absence of an event is not tested by time; a test
counts steps instead.
"""

from __future__ import annotations

WAIT_S = 120.0
COMPILE_S = (
    5 * WAIT_S
)  # where a compiler, or a process with PyTorch, is waited for
