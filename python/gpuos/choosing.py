"""Find the bridge that fits the installed PyTorch.

Nothing here imports PyTorch, which takes seconds.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import gpuos

if TYPE_CHECKING:
    from collections.abc import Collection

# bridge/pytorch/private_parts.h fits these versions.
TRIED = ("2.11", "2.13")
SOURCES = Path(__file__).parent / "torch/bridge"
# The distribution with prebuilt bridges, and its package.
DISTRIBUTION = "gpuos-runtime-torch"
PACKAGE = "gpuos_torch"
FLAGS = (
    "-std=c++20",
    "-O2",
    "-DNDEBUG",
    "-fPIC",
    "-fno-plt",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-invalid-offsetof",  # for bridge/pytorch/private_parts.h
)
VERSION_TIMEOUT_S = 60


class UntriedPyTorch(gpuos.BackendUnavailable):
    """Reports that the bridge does not support this PyTorch's internals."""


def is_off() -> bool:
    """Return whether GPUOS_TORCH switches gpuos.torch off in this process."""
    return _switch() == "off"


def may_compile() -> bool:
    """Return whether a bridge may be compiled in the background."""
    return _switch() != "ready"


@functools.cache
def _switch() -> str:
    value = os.environ.get("GPUOS_TORCH", "")
    if value not in ("", "on", "off", "ready"):
        text = f"GPUOS_TORCH: expected on, off or ready, got {value!r}"
        raise gpuos.InvalidArgument(text)
    return value


def check_tried() -> None:
    """Refuse an untested version of PyTorch.

    Raises
    ------
    UntriedPyTorch
    """
    version, _ = _pytorch()
    if ".".join(version.split(".")[:2]) not in TRIED:
        text = (
            f"gpuos.torch: expected PyTorch {' or '.join(TRIED)}, which were "
            f"tried, got {version}"
        )
        raise UntriedPyTorch(text)


def _pytorch() -> tuple[str, bool]:
    """Return PyTorch's version, and whether it uses the C++11 library ABI."""
    if torch := sys.modules.get("torch"):
        return str(torch.__version__), torch.compiled_with_cxx11_abi()
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        text = "gpuos.torch: expected PyTorch to be installed, got none"
        raise gpuos.BackendUnavailable(text)
    folder = Path(spec.origin).parent
    said = (folder / "version.py").read_text()
    [version] = re.findall(r"^__version__ = ['\"](.+)['\"]", said, re.MULTILINE)
    return version, b"__cxx11" in (folder / "lib/libc10.so").read_bytes()


@functools.cache
def name() -> str:
    """Return the name of the bridges that fit, without its suffix.

    The name contains PyTorch's version with its kind (CUDA or CPU), and
    Python's binary interface. It ends with a digest of the sources, headers,
    flags and the ABI of C++.
    """
    digest = hashlib.sha256()
    files = (
        *sorted(SOURCES.glob("*/*.[ch]*")),
        *sorted(Path(gpuos.get_include()).glob("gpuos/*.h")),
    )
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    python = sysconfig.get_config_var("SOABI")
    version, has_new_abi = _pytorch()
    for text in (version, python, str(int(has_new_abi)), *FLAGS):
        digest.update(text.encode() + b"\0")
    return f"bridge-{version}-{python}-{digest.hexdigest()[:16]}"


def prebuilt(refused: Collection[Path] = ()) -> Path | None:
    """Return the bridge of an installed gpuos-runtime-torch if one fits.

    A package of this name without our metadata belongs to another project.
    """
    try:
        found = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return None
    wanted = PurePosixPath(PACKAGE, f"{name()}.so")
    is_ours = f"gpuos-runtime=={gpuos.__version__}" in (found.requires or ())
    if not is_ours or wanted not in (found.files or ()):
        return None
    path = Path(str(found.locate_file(wanted)))
    return path if path not in refused and path.exists() else None


def cached(refused: Collection[Path] = ()) -> Path | None:
    """Return a bridge of the current compiler from this machine's folder.

    Without a compiler return any bridge there, because a machine with a
    compiler may share the folder. Also search the read-only level of the cache.
    """
    try:
        found = [place()]
    except gpuos.BackendUnavailable:
        found = sorted(folder().glob(f"{name()}-*.so"))
    if shared := gpuos.cache.info().read_only.folder:
        found += sorted(Path(shared, "bridge").glob(f"{name()}-*.so"))
    return next((p for p in found if p.exists() and p not in refused), None)


def find(refused: Collection[Path] = ()) -> Path | None:
    """Return a bridge that fits, if there is one.

    Parameters
    ----------
    refused : collection of Path
        Bridges that could not be loaded.

    Raises
    ------
    UntriedPyTorch
    """
    check_tried()
    return prebuilt(refused) or cached(refused)


def describe() -> str:
    """Describe the bridge that schedulers use here, or why they use none."""
    try:
        if is_off():
            return "off: GPUOS_TORCH=off"
        if path := find():
            return f"{'compiled' if path == cached() else 'prebuilt'}: {path}"
        return f"the first scheduler has it compiled by {compiler()}"
    except gpuos.Error as error:
        return f"none: {error}"


def place() -> Path:
    """Return the file of the bridge that is compiled on this machine.

    Raises
    ------
    gpuos.BackendUnavailable
        There is no compiler.
    """
    return folder() / f"{name()}-{_identity(compiler())}.so"


@functools.cache
def _identity(path: str) -> str:
    # The digest includes the path, because a script may add its own options.
    version = subprocess.run(
        [path, "--version"],
        capture_output=True,
        text=True,
        timeout=VERSION_TIMEOUT_S,
        check=False,
    ).stdout
    return hashlib.sha256(f"{path}\0{version}".encode()).hexdigest()[:8]


@functools.cache
def compiler() -> str:
    """Return the C++ compiler's path.

    Raises
    ------
    gpuos.BackendUnavailable
        There is none.
    """
    for found in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if found and (path := shutil.which(found)):
            return path
    text = (
        "gpuos.torch: expected a C++20 compiler as c++, g++, clang++ or CXX, "
        f"found none, nor a {DISTRIBUTION} with {name()}.so"
    )
    raise gpuos.BackendUnavailable(text)


def folder() -> Path:
    """Return the folder of bridges that are compiled on this machine.

    Raises
    ------
    gpuos.BackendUnavailable
        The cache is off, and the folder used instead does not belong to this user.
    """
    own = gpuos.cache.info().own
    if own.folder:
        return Path(own.folder) / "bridge"
    # Each user has a folder that lasts until a restart. Another user may have
    # taken its name first.
    path = Path(tempfile.gettempdir()) / f"gpuos-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        text = (
            f"gpuos.torch: expected {path} to be a folder that only this user "
            f"may write, got mode {stat.S_IMODE(status.st_mode):o} of user "
            f"{status.st_uid}"
        )
        raise gpuos.BackendUnavailable(text)
    return path / "bridge"
