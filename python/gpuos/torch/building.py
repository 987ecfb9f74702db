"""Compiling the bridge against the PyTorch that is installed.

PyTorch's C++ interface changes with every version, so where no gpuos-runtime-torch has
a bridge that fits it is built on the user's machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import gpuos
from gpuos import choosing
from gpuos.torch.build_process import BuildProcess, Lock
from gpuos.torch.build_worker import REFUSAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OWN_HEADER = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
LIBRARIES = ("-ltorch_cpu", "-ltorch_python", "-lc10")
DEADLINE_S = 3600  # by the lowest priority, on a busy machine
REFUSED_S = 3600  # how long one in the background is not tried again
LOWEST_PRIORITY = 19
# Python compiles this, so that it shows how quick the processor is; and how
# often the compilers of C++ take as long as that, as measured.
PROBE = "def f(a, b):\n    return [a * x for x in b if x.y]\n" * 60
PROBES = 29_000
SHARE_IN_PARALLEL = 0.6
LOOK_S = 0.05


def build(report: Callable[[str], None] | None = None) -> Path:
    """Compile the bridge unless a matching one exists.

    It does so with `GPUOS_TORCH=off` too.

    Parameters
    ----------
    report : callable, optional
        Called with a line of text for each step.

    Returns
    -------
    Path
        The extension module of gpuos-runtime-torch or in the cache.

    Raises
    ------
    gpuos.BackendUnavailable
        There is no C++ compiler, or this PyTorch was never tested.
    gpuos.CompileError
        The compiler failed; the message has its output.
    """
    report = report or (lambda _line: None)
    is_told = False
    while (found := choosing.find()) is None:
        process = start()
        if process is None:
            if not is_told:
                report("waiting for another process that compiles it")
            is_told = True
            time.sleep(LOOK_S)
            continue
        report(
            f"compiling the bridge for PyTorch {torch.__version__} "
            f"with {choosing.compiler()}, once"
        )
        try:
            _follow(process, report)
        finally:
            process.stop()
    return found


def estimate(in_background: bool = False) -> float:
    """Return about how many seconds it takes while processors are idle."""

    def probe() -> float:
        begin = time.thread_time()
        compile(PROBE, "<probe>", "exec")
        return time.thread_time() - begin

    seconds = PROBES * min(probe() for _ in range(5))
    in_parallel = not in_background and (os.cpu_count() or 1) > 1
    return seconds * (SHARE_IN_PARALLEL if in_parallel else 1)


def start(in_background: bool = False) -> BuildProcess | None:
    """Compile the bridge in another process, unless one is at it already.

    Parameters
    ----------
    in_background : bool
        By one compiler at a time, of the lowest priority, and also when this
        process has ended; unless that was refused within the last hour.

    Raises
    ------
    gpuos.BackendUnavailable
        There is no compiler, or no place.
    gpuos.CompileError
        It was refused.
    """
    target = choosing.place()
    try:
        lock = Lock(target.parent)
    except OSError as error:
        text = (
            f"gpuos.torch: expected to write into {target.parent}: {error}; "
            "set GPUOS_CACHE_DIR to a folder that can be written"
        )
        raise gpuos.BackendUnavailable(text) from None
    try:
        if not lock.acquire() or target.exists():
            return None
        if in_background:
            _check_refusal(target.with_suffix(REFUSAL))
        return BuildProcess(_plan(target, in_background), lock)
    finally:
        lock.close()


def compile_into(
    folder: Path, linker_flags: list[str], report: Callable[[str], None]
) -> Path:
    """Compile a bridge for a gpuos-runtime-torch, see scripts/wheel.

    Parameters
    ----------
    folder : Path
        Its folder; the file has the name that is searched.
    linker_flags : list of str
        Additional words of the link.
    """
    choosing.check_tried()
    target = folder / f"{choosing.name()}.so"
    # Removes bridges of other sources for the same PyTorch and Python.
    for old in folder.glob(f"{choosing.name().rpartition('-')[0]}-*.so"):
        old.unlink()
    plan = _plan(target)
    plan["trailing"] += linker_flags
    lock = Lock(folder)
    process = BuildProcess(plan, lock)
    try:
        _follow(process, report)
    finally:
        process.stop()
        lock.close()
    return target


def is_built() -> bool:
    """Return whether a bridge exists, so that a scheduler could defer at once."""
    try:
        return not choosing.is_off() and choosing.find() is not None
    except gpuos.Error:
        return False


def _follow(process: BuildProcess, report: Callable[[str], None]) -> None:
    told = 0
    while True:
        has_ended = process.has_ended()
        lines = process.lines()
        for line in lines[told:]:
            if "done" in line:
                report(f"{line['says']}{line['done']} of {line['of']}")
        told = len(lines)
        if has_ended:
            break
        time.sleep(LOOK_S)
    process.check()


def _check_refusal(refusal: Path) -> None:
    try:
        if time.time() - refusal.stat().st_mtime > REFUSED_S:
            return
        text = f"gpuos.torch: compiling the bridge: {refusal.read_text()}"
    except FileNotFoundError:
        return
    raise gpuos.CompileError(text)


def _plan(target: Path, in_background: bool = False) -> dict[str, Any]:
    """Return the plan for build_worker.py."""
    compiler = choosing.compiler()
    libraries = Path(torch.__file__).parent / "lib"
    return {
        "target": str(target),
        "units": _units(),
        "compile": [compiler, *_flags(), "-c"],
        # No call waits for the loader. PyTorch and gpuos are loaded before, so
        # the file does not contain their paths.
        "link": [compiler, "-shared", "-Wl,-z,now"],
        "trailing": [f"-L{libraries}", *LIBRARIES, gpuos.get_library()],
        "at_a_time": 1 if in_background else os.cpu_count() or 1,
        "nice": LOWEST_PRIORITY if in_background else 0,
        "outlives": in_background,
        "deadline_s": DEADLINE_S,
    }


def _units() -> dict[str, str]:
    """Group the files, because headers take most of the compile time.

    Files that use Python's objects need the slower headers of PyTorch.
    """
    units = dict.fromkeys(("python.cpp", "others.cpp"), "")
    for source in sorted(choosing.SOURCES.glob("*/*.cpp")):
        knows = _includes_header(source, "torch/csrc/")
        name = "python.cpp" if knows else "others.cpp"
        units[name] += f'#include "{source}"\n'
    return units


def _flags() -> list[str]:
    abi = int(torch.compiled_with_cxx11_abi())
    return [
        *choosing.FLAGS,
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        f'-DGPUOS_BRIDGE_NAME="{choosing.name()}"',
        *_includes(),
    ]


def _includes_header(path: Path, folder: str) -> bool:
    text = path.read_text()
    if f"#include <{folder}" in text:
        return True
    own = [choosing.SOURCES / name for name in OWN_HEADER.findall(text)]
    return any(_includes_header(one, folder) for one in own if one.exists())


def check_with(program: str, *options: str) -> int:
    """Run clang-tidy on the files, with the options of the compilation.

    Returns
    -------
    int
        0 if it found nothing.
    """
    with tempfile.TemporaryDirectory() as scratch:
        files = []
        for name, text in _units().items():
            files.append(str(Path(scratch) / name))
            Path(files[-1]).write_text(text)
        command = [program, *options, *files, "--", *_flags()]
        return subprocess.run(command, check=False).returncode


def _includes() -> Iterator[str]:
    root = Path(torch.__file__).parent / "include"
    yield f"-I{choosing.SOURCES}"
    yield f"-I{gpuos.get_include()}"
    for path in (
        root,
        root / "torch" / "csrc" / "api" / "include",
        sysconfig.get_paths()["include"],
    ):
        yield f"-isystem{path}"  # their warnings are not ours
