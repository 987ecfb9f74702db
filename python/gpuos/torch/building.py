"""Compiling the bridge against the PyTorch that is installed.

PyTorch's C++ interface changes with every version, so the bridge is built on
the user's machine: at the first use, or by ``python -m gpuos build-torch``.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import torch

import gpuos

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "_bridge"
# The versions for which bridge/private_parts.h is right.
TRIED = ("2.11", "2.13")
FLAGS = (
    "-std=c++20",
    "-O2",
    "-DNDEBUG",
    "-fPIC",
    "-fno-plt",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-invalid-offsetof",  # bridge/private_parts.h
)
OWN_HEADER = re.compile(r'^#include "([^"/]+)"$', re.MULTILINE)
LIBRARIES = ("-ltorch", "-ltorch_cpu", "-ltorch_python", "-lc10")
COMPILE_TIMEOUT_S = 600


class UntriedPyTorch(gpuos.BackendUnavailable):
    """The bridge does not know the insides of this PyTorch."""


def build(report: Callable[[str], None] | None = None) -> Path:
    """Compile the bridge unless that was done before.

    Parameters
    ----------
    report : callable, optional
        Is given a line of text for each step.

    Returns
    -------
    Path
        The extension module, in the cache.

    Raises
    ------
    gpuos.BackendUnavailable
        There is no C++ compiler, or it was never tried with this PyTorch.
    gpuos.CompileError
        It refused; the message has its output.
    """
    version = ".".join(torch.__version__.split(".")[:2])
    if version not in TRIED:
        text = (
            f"gpuos.torch: expected PyTorch {' or '.join(TRIED)}, which were "
            f"tried, got {torch.__version__}"
        )
        raise UntriedPyTorch(text)
    compiler = _compiler()
    folder = _folder(compiler)
    target = folder / f"{NAME}.so"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        # Another process may be at it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _compile(compiler, target, report or _ignore)
    return target


def is_built() -> bool:
    """Whether the bridge was compiled before: its first use waits for none."""
    try:
        folder = _folder(_compiler())
    except gpuos.BackendUnavailable:
        return False
    return (folder / f"{NAME}.so").exists()


def _ignore(_line: str) -> None:
    pass


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    text = (
        "gpuos.torch: expected a C++20 compiler as c++, g++, clang++ or CXX, "
        "found none"
    )
    raise gpuos.BackendUnavailable(text)


def _write_units(folder: Path) -> list[Path]:
    """Group what is compiled together, as most of the time goes to headers.

    Files that know Python's objects need the dearer ones of PyTorch.
    """
    units = folder / "python.cpp", folder / "others.cpp"
    texts = dict.fromkeys(units, "")
    for source in sorted((Path(__file__).parent / "bridge").glob("*.cpp")):
        knows = _includes_header(source, "torch/csrc/")
        texts[units[0 if knows else 1]] += f'#include "{source}"\n'
    for unit, text in texts.items():
        unit.write_text(text)
    return list(units)


def _flags() -> list[str]:
    abi = int(torch.compiled_with_cxx11_abi())
    return [*FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *_includes()]


def _includes_header(path: Path, folder: str) -> bool:
    text = path.read_text()
    if f"#include <{folder}" in text:
        return True
    own = [path.parent / name for name in OWN_HEADER.findall(text)]
    return any(_includes_header(one, folder) for one in own if one.exists())


def check_with(program: str, *options: str) -> int:
    """Have clang-tidy look at what is compiled, as it is compiled.

    Returns
    -------
    int
        0 if it found nothing.
    """
    with tempfile.TemporaryDirectory() as scratch:
        units = _write_units(Path(scratch))
        command = [program, *options, *map(str, units), "--", *_flags()]
        return subprocess.run(command, check=False).returncode


def _folder(compiler: str) -> Path:
    """Return the place of this very bridge: another for any other input."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "bridge").glob("*.[ch]*")):
        digest.update(path.name.encode() + path.read_bytes())
    for path in sorted(Path(gpuos.get_include()).glob("gpuos/*.h")):
        digest.update(path.name.encode() + path.read_bytes())
    version = _run([compiler, "--version"]).stdout
    for text in (
        torch.__version__,
        sys.version,
        compiler,  # a script may add options of its own
        version,
        *FLAGS,
    ):
        digest.update(text.encode())
    return _cache() / f"torch-{torch.__version__}-{digest.hexdigest()[:16]}"


def _cache() -> Path:
    own = gpuos.cache.info().own
    if own.folder:
        return Path(own.folder) / "bridge"
    # The cache is off: another one for each user, that lasts until a restart.
    return Path(tempfile.gettempdir()) / f"gpuos-{os.getuid()}" / "bridge"


def _includes() -> Iterator[str]:
    root = Path(torch.__file__).parent / "include"
    yield f"-I{gpuos.get_include()}"
    for path in (
        root,
        root / "torch" / "csrc" / "api" / "include",
        sysconfig.get_paths()["include"],
    ):
        yield f"-isystem{path}"  # their warnings are not ours


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_S,
        check=False,
    )


def _check(command: list[str]) -> str:
    """Run it; return its warnings."""
    result = _run(command)
    if result.returncode != 0:
        text = f"gpuos.torch: {' '.join(command)}\n{result.stderr}"
        raise gpuos.CompileError(text)
    return result.stderr


def _compile(
    compiler: str, target: Path, report: Callable[[str], None]
) -> None:
    report(
        f"compiling the bridge for PyTorch {torch.__version__} "
        f"with {compiler}, once"
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        objects = []
        with ThreadPoolExecutor() as pool:
            jobs = []
            for unit in _write_units(Path(scratch)):
                objects.append(unit.with_suffix(".o"))
                command = [compiler, *_flags(), "-c", str(unit)]
                jobs.append(
                    pool.submit(_check, [*command, "-o", str(objects[-1])])
                )
            for done, job in enumerate(jobs, 1):
                warnings = job.result()
                report(f"{warnings}{done} of {len(jobs)}")
        libraries = Path(torch.__file__).parent / "lib"
        linked = Path(scratch) / target.name
        _check(
            [
                compiler,
                "-shared",
                *map(str, objects),
                "-o",
                str(linked),
                "-Wl,-z,now",  # no call waits for the loader
                f"-L{libraries}",
                *LIBRARIES,
                f"-Wl,-rpath,{libraries}",
            ]
        )
        linked.replace(target)
    report(f"built {target}")
