"""Programs that tests start: their output, and their module path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deadlines import COMPILE_S

if TYPE_CHECKING:
    from collections.abc import Mapping


def captured(
    *command: Any,
    timeout: float = COMPILE_S,
    check: bool = False,
    variables: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its status and its output as text.

    `variables` are added to those of this process.
    """
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=check,
        env={**os.environ, **(variables or {})},
        **options,
    )


def python(*words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python with these words; see captured()."""
    return captured(sys.executable, *words, **options)


def gpuos_command(
    *words: Any, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run `python -m gpuos`, where a warning is an error."""
    return python("-W", "error", "-m", "gpuos", *map(str, words), **options)


def python_path(*folders: Path) -> str:
    """Return a PYTHONPATH of folders, followed by that of this process.

    The latter may be needed to find gpuos.
    """
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [*map(str, folders), *filter(None, found)]
    return os.pathsep.join(dict.fromkeys(paths))
