#!/usr/bin/env python3
"""Run Python in a root folder with only Python, NumPy and gpuos.

    scripts/in_empty_root.py WHEEL|installed WORD...

The script runs `python WORD...` in a new root folder. It has this Python, its
standard library, NumPy, the wheel (or the installed gpuos), and the libraries
that these link. It has no shell, compiler, CUDA, /proc or /dev. The exit code
is that of the program, or 77 if no folder can become the root.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

CANNOT = 77
# No program of an installed gpuos reads these files. Some are large.
PASSED_OVER = shutil.ignore_patterns(
    *("site-packages", "test", "tests", "__pycache__", "config-*", "*.a"),
    *("idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo"),
)
ENTER = ("unshare", "--user", "--map-root-user", "--root")


def copy(path: Path, root: Path) -> None:
    """Copy a file to the same path below the root."""
    target = root / path.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)


def linked(files: list[Path]) -> set[Path]:
    """Return the libraries that the files link, and the loader."""
    listed = subprocess.run(
        ["ldd", *files], stdout=subprocess.PIPE, text=True, check=False
    ).stdout
    found = re.findall(r"(?:=> |^\t)(/\S+) \(0x", listed, re.MULTILINE)
    return {Path(path) for path in found}


def make_root(root: Path, what: str) -> None:
    """Fill the root folder."""
    standard = Path(sysconfig.get_path("stdlib")).resolve()
    shutil.copytree(
        standard, root / standard.relative_to("/"), ignore=PASSED_OVER
    )
    python = Path(sys.executable).resolve()
    copy(python, root)
    site = root / "site"
    install("numpy", site)
    if what == "installed":
        install("gpuos-runtime", site)
    else:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "-q", "--no-deps"),
                *("--no-compile", "--target", str(site), what),
            ],
            check=True,
        )
    (root / "tmp").mkdir()
    modules = [python, *root.rglob("*.so*")]
    for library in linked(modules):
        if not library.is_relative_to(root):
            copy(library, root)


def install(name: str, site: Path) -> None:
    for file in importlib.metadata.files(name) or []:
        if ".." in file.parts or "tests" in file.parts:
            continue
        if file.suffix != ".pyc":
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)


def main() -> int:
    what, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        probe = subprocess.run(
            [*ENTER, "/", "true"], capture_output=True, check=False
        )
        if probe.returncode:
            sys.stderr.write(f"no root of our own: {probe.stderr.decode()}")
            return CANNOT
        make_root(root, what)
        python = Path(sys.executable).resolve()
        return subprocess.run(
            [*ENTER, folder, python, *words],
            env={"PYTHONPATH": "/site", "PYTHONHOME": sys.base_prefix},
            check=False,
        ).returncode


if __name__ == "__main__":
    if shutil.which("unshare", path=os.defpath) is None:
        sys.exit(CANNOT)
    sys.exit(main())
