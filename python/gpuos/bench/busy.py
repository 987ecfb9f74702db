"""Processes without an end, to keep processors busy."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nobody ends them where their parent is killed: each then ends itself. A child
# whose parent is gone has another, also where that was before its first look.
ENDLESS = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10_000):
        pass
"""


@contextlib.contextmanager
def busy_processors(count: int) -> Iterator[None]:
    """Keep so many processors busy."""
    command = [sys.executable, "-c", ENDLESS, str(os.getpid())]
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            child = stack.enter_context(subprocess.Popen(command))
            stack.callback(child.kill)
        yield
