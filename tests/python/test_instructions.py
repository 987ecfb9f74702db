"""What a submission costs its caller, in instructions of our module.

They are counted by valgrind, so they do not depend on what else the machine
does. Those of Python and NumPy are left out: they differ by release.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deadlines import COMPILE_S

from gpuos import _core

MODULE = Path(_core.__file__).resolve()

CALLS = 1000
# A call each, as counted on 2026-11-24 with g++ 12; and what more may come by
# chance, because a worker is awake or not.
COUNTED = {
    "by name": 1157,
    "by expression": 1817,
    "NumPy arrays": 2035,
    "fused": 2360,
    "fused, NumPy arrays": 3470,
}
ROOM = 1.04

# Each call needs the one before, so none looks for what it meets. Callgrind
# writes down what it counted and begins anew when getppid() is called.
SCRIPT = f"""
import os
import numpy as np
import gpuos

rt = gpuos.Runtime("host", workers=1)
submit = rt.submit
op = rt.define("f", "o = x + y")
fused = rt.fuse(lambda x, y: (x + y) * x)
x, y, o = (rt.zeros(64) for _ in range(3))
nx, ny, no = (np.zeros(64, "f4") for _ in range(3))
for call in (
    lambda: submit("add", x, y, out=o),
    lambda: submit(op, x, y, out=o),
    lambda: submit("add", nx, ny, out=no),
    lambda: fused(x, y, out=o),
    lambda: fused(nx, ny, out=no),
):
    for _ in range(2):
        for _ in range({CALLS}):
            call()
        rt.synchronize()
    os.getppid()
    for _ in range({CALLS}):
        call()
    os.getppid()
    rt.synchronize()
"""


def instructions_of_the_module(dump: Path) -> int:
    """Sum what callgrind counted in the module itself, not in what it calls."""
    total = 0
    is_ours = is_call = False
    for line in dump.read_text().splitlines():
        if line.startswith("ob="):
            is_ours = line == f"ob={MODULE}"
        elif line.startswith("calls="):
            is_call = True  # the next line is what was called
        elif line[:1].isdigit():
            if is_ours and not is_call:
                total += int(line.split()[1])
            is_call = False
    return total


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> dict[str, float]:
    if shutil.which("valgrind") is None:
        pytest.skip("no valgrind")
    compilers = re.findall(rb"GCC: \([^)]*\) (\d+)", MODULE.read_bytes())
    if platform.machine() != "x86_64" or b"12" not in compilers:
        pytest.skip("the numbers are those of g++ 12 on x86-64")
    folder = tmp_path_factory.mktemp("callgrind")
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
            SCRIPT,
        ],
        check=True,
        timeout=COMPILE_S,
    )
    # Two dumps for each kind of call, each with a file for each thread.
    return {
        what: instructions_of_the_module(folder / f"out.{2 * i + 2}-01") / CALLS
        for i, what in enumerate(COUNTED)
    }


@pytest.mark.parametrize("what", COUNTED)
def test_a_submission_costs_no_more(counted, what):
    # Less than half: not all of it was seen.
    assert COUNTED[what] / 2 < counted[what] <= COUNTED[what] * ROOM
