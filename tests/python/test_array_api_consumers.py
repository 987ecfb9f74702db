"""Libraries that dispatch on the array API standard."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from deadlines import COMPILE_S

SCRIPT = Path(__file__).with_name("array_api_consumers.py")


@pytest.mark.parametrize("library", ["scipy", "sklearn"])
def test_functions_take_and_give_arrays(backend, library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    ended = subprocess.run(
        [sys.executable, SCRIPT, library, backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=COMPILE_S,
    )
    assert ended.returncode == 0, ended.stdout
