"""How long tests wait for what must come.

Only a failure takes as long: it is many times what the slowest machine needs
while its processors are busy with something else. What must not come is no
matter of time; a test counts steps instead.
"""

from __future__ import annotations

WAIT_S = 120.0
COMPILE_S = (
    5 * WAIT_S
)  # where a compiler, or a process with PyTorch, is waited for
