"""Runs numbered cases of a module in a child, so that a crash is a finding.

The module has `draw(dice)`, `finding(case)` and `text(case)`. Each case has its
own dice, so a single case can be drawn again.
"""

import faulthandler
import importlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH = 2000  # cases of a child
DEADLINE_S = 300  # of all of them; they take seconds
MEMORY = 6 << 30  # bytes of addresses; larger requests get a MemoryError


def child(name: str, seed: str, first: str, last: str, folder: str) -> int:
    """Run cases until one fails; say with which it begins."""
    faulthandler.enable()
    # A sanitizer takes terabytes of addresses for itself.
    if not os.environ.get("LD_PRELOAD"):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    module = importlib.import_module(name)
    begun = os.open(f"{folder}/begun", os.O_CREAT | os.O_WRONLY)
    for index in range(int(first), int(last) + 1):
        os.pwrite(begun, index.to_bytes(8, "little"), 0)
        case = module.draw(random.Random(f"{seed}:{index}"))
        if found := module.finding(case):
            Path(f"{folder}/found").write_text(found)
            break
    return 0


def run(name: str, seed: int, first: int, last: int) -> tuple[int, str]:
    """Run cases in a child; return the first failing one and its finding, or ""."""
    with tempfile.TemporaryDirectory(prefix="gpuos-fuzz-") as folder:
        words = [name, str(seed), str(first), str(last), folder]
        try:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", __file__, *words],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=DEADLINE_S,
                check=False,
            )
            what = f"ended the process with {done.returncode}\n{done.stderr}"
            is_whole = done.returncode == 0
        except subprocess.TimeoutExpired:
            what, is_whole = f"did not end within {DEADLINE_S} s", False
        begun, found = Path(f"{folder}/begun"), Path(f"{folder}/found")
        index = first
        if begun.exists():
            index = int.from_bytes(begun.read_bytes(), "little")
        if found.exists():
            return index, found.read_text()
        return index, "" if is_whole else what[-6000:]


def first_finding(
    name: str,
    count: int,
    seed: int,
    *,
    seconds: float = float("inf"),
    batch: int = BATCH,
) -> str | None:
    """Return a finding in `count` cases of a module, or None."""
    end = time.monotonic() + seconds
    first = 0
    while first < count and time.monotonic() < end:
        last = min(first + batch, count) - 1
        index, found = run(name, seed, first, last)
        if found:
            module = importlib.import_module(name)
            case = module.draw(random.Random(f"{seed}:{index}"))
            return f"seed {seed}, case {index}: {found}\n{module.text(case)}"
        first = last + 1
    sys.stdout.write(f"{first} cases\n")
    return None


if __name__ == "__main__":
    sys.exit(child(*sys.argv[1:]))
