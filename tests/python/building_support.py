"""A compiler that does what a test says, and programs that use gpuos.torch."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deadlines import COMPILE_S, WAIT_S
from program_support import python_path

if TYPE_CHECKING:
    from collections.abc import Iterator

# The script records its process and priority, leaves a file, and waits for
# permission to continue. It waits in a child process, like a compiler's driver.
# Its output is the bridge that the tests use.
COMPILER = """#!/bin/sh
[ "$1" = --version ] && echo 1.0 && exit
echo "$$ $(nice)" >>"$FOLDER/started"
echo "$@" >>"$FOLDER/words"
echo >"$TMPDIR/left"
while [ ! -e "$FOLDER/go" ]; do sleep 0.02; done &
wait
if [ -e "$FOLDER/refuse" ]; then echo "expected a wonder" >&2; exit 1; fi
while [ $# != 0 ]; do [ "$1" = -o ] && made="$2"; shift; done
cp "$BRIDGE" "$made"
"""
COMMANDS = 3  # two units and the link
PRELUDE = f"""
import os, pathlib, sys, threading, time, warnings
import torch
import gpuos
import gpuos.torch as gt

FOLDER = pathlib.Path(os.environ["FOLDER"])

def touch(name):
    (FOLDER / name).touch()

def until(question):
    end = time.monotonic() + {WAIT_S}
    while not question():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)

def started():
    lines = FOLDER / "started"
    return lines.read_text().count("\\n") if lines.exists() else 0

def error_of(kind, use, *given, **named):
    "The text of the error that a call must raise."
    try:
        use(*given, **named)
    except kind as error:
        return str(error)
    raise AssertionError(use)

def defers(**options):
    "Whether a scheduler does; what is computed is right."
    with torch.no_grad(), gt.scheduler(auto_flush_ms=60_000, **options):
        x = torch.arange(4.0)
        y = (x + x).relu()
        waiting = gt.pending()
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert gt.pending() == 0
    return waiting > 0
"""


class Site:
    """A machine of one user: a compiler and an empty cache."""

    def __init__(self, folder: Path, bridge: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        compiler = folder / "compiler"
        compiler.write_text(COMPILER)
        compiler.chmod(0o700)
        self.variables = {
            "FOLDER": str(folder),
            "BRIDGE": str(bridge),
            "CXX": str(compiler),
            "GPUOS_CACHE_DIR": str(self.cache),
        }

    def take_compiler(self) -> None:
        """Leave no compiler on the machine, nor anything else."""
        self.variables |= {"CXX": "/nowhere/c++", "PATH": "/nowhere"}

    def has_packages(self, folder: Path) -> None:
        """Make programs find the packages of a folder first."""
        self.variables["PYTHONPATH"] = python_path(folder)

    def start(self, text: str, **variables: str) -> subprocess.Popen[str]:
        """Run a program concurrently with the test."""
        return subprocess.Popen(
            [sys.executable, "-c", PRELUDE + text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.variables, **variables},
        )

    def run(self, text: str, **variables: str) -> str:
        """Run a program that succeeds; return its output."""
        with self.start(text, **variables) as process:
            return output_of(process)

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def started(self) -> list[tuple[int, int]]:
        """Return process and priority of each command of the compiler."""
        try:
            lines = (self.folder / "started").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [tuple(map(int, line.split())) for line in lines]

    def process_ids(self) -> list[int]:
        """Return the processes that run on this machine."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                environment = (path / "environ").read_bytes()
            except OSError:
                continue  # it has ended
            if f"FOLDER={self.folder}\0".encode() in environment:
                found.append(int(path.name))
        return found

    def left(self) -> list[str]:
        """Return the files of the cache of bridges."""
        return sorted(path.name for path in self.cache.glob("bridge/*"))


def output_of(process: subprocess.Popen[str]) -> str:
    """Wait for a program that succeeds; return its output."""
    output, errors = process.communicate(timeout=COMPILE_S)
    assert (process.returncode, errors) == (0, ""), errors
    return output


def installed_files() -> list[importlib.metadata.PackagePath]:
    """The files of the gpuos that is installed; none in a build's own folder."""
    try:
        return importlib.metadata.files("gpuos-runtime") or []
    except importlib.metadata.PackageNotFoundError:
        return []


def is_copied() -> bool:
    """Return whether the package's files were installed, not a link to them."""
    return any(file.name == "__main__.py" for file in installed_files())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    from gpuos.torch import readiness  # noqa: PLC0415

    made = Site(tmp_path, Path(readiness.bridge().__file__))
    yield made
    made.touch("go")  # what a test that failed has left ends
