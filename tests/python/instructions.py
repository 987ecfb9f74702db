"""Instructions, counted by valgrind: what a busy machine does not change."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deadlines import COMPILE_S

# Tolerance above the count with CPython 3.11. From 3.12 on each reference costs
# more, because Python checks whether its object is immortal.
ROOM = 1.03 if sys.version_info < (3, 12) else 1.08


def instructions_of(modules: list[Path], dump: Path) -> int:
    """Sum callgrind's counts in the modules themselves, without callees."""
    ours = {f"ob={module}" for module in modules}
    total = 0
    is_ours = is_call = False
    for line in dump.read_text().splitlines():
        if line.startswith("ob="):
            is_ours = line in ours
        elif line.startswith("calls="):
            is_call = True  # the next line is the callee
        elif line[:1].isdigit():
            if is_ours and not is_call:
                total += int(line.split()[1])
            is_call = False
    return total


def count(folder: Path, modules, script: str, kinds, calls, **environment):
    """Return the cost of each kind of calls of a script in the modules.

    The script calls getppid() before and after `calls` calls of each kind.
    Callgrind then writes its counts and starts again.
    """
    if shutil.which("valgrind") is None:
        pytest.skip("no valgrind")
    compilers = re.findall(rb"GCC: \([^)]*\) (\d+)", modules[0].read_bytes())
    if platform.machine() != "x86_64" or b"12" not in compilers:
        pytest.skip("the numbers are those of g++ 12 on x86-64")
    subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--separate-threads=yes",
            "--compress-strings=no",
            "--compress-pos=no",
            "--dump-before=getppid",
            f"--callgrind-out-file={folder}/out",
            sys.executable,
            "-c",
            script,
        ],
        check=True,
        timeout=COMPILE_S,
        env={**os.environ, **environment},
    )
    # Two dumps for each kind of call, each with a file for each thread.
    return {
        what: instructions_of(modules, folder / f"out.{2 * i + 2}-01") / calls
        for i, what in enumerate(kinds)
    }
