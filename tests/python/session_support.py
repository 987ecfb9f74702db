"""Sessions with host code, and what they print."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import COMPILE_S
from program_support import captured

import gpuos

PRINT = "#include <iostream>\n"


def make_session(rt):
    try:
        session = rt.session()
        session.run("int compiler_is_there;")
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    session.undo()
    return session


def words_of_one_file(folder: Path, text: str) -> list[str]:
    """Return what the C++ compiler's program of `text` prints."""
    (folder / "all.cpp").write_text(text)
    compiler = os.environ.get("CXX", "c++")
    subprocess.run(
        [compiler, "-std=c++20", "-w", "all.cpp", "-o", "all"],
        cwd=folder,
        check=True,
        timeout=COMPILE_S,
    )
    run = captured(folder / "all", check=True, timeout=60)
    return run.stdout.split()


def has_device(session) -> bool:
    session.run("int found = cudaDeviceSynchronize();")
    return session["found"] == 0


class Printed:
    """Runs cells and returns what they print to file descriptor 1."""

    def __init__(self, session: gpuos.Session, capfd: Any) -> None:
        self.session = session
        self.capfd = capfd

    def __call__(self, text: str) -> str:
        self.capfd.readouterr()
        self.session.run(PRINT + text)
        return self.capfd.readouterr().out

    def of(self, expression: str) -> str:
        # A cell of another test may have left its format to std::cout.
        plain = "std::cout.precision(6); std::cout << std::defaultfloat"
        return self(f"{plain} << ({expression});")


class FakeShell:
    """The parts of IPython that the magic uses."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {"In": [""] * 8}
        self.execution_count = 8  # as IPython 9 counts
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, func, magic_kind, magic_name):
        assert magic_kind == "cell"
        self.magics[magic_name] = func

    def run(self, source: str) -> None:
        if source.startswith("%%"):
            line, cell = source.split("\n", 1)
            magic, _, rest = line.removeprefix("%%").partition(" ")
            self.magics[magic](rest, cell)
            return
        if source.startswith("%load_ext gpuos"):
            gpuos.load_ipython_extension(self)
            source = source.split("\n", 1)[1]
        exec(compile(source, "cell", "exec"), self.user_ns)  # noqa: S102
