"""Builds the libFuzzer targets of tests/fuzz/bytes and runs them in turn."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from corpora import ROOT, targets, unpack

BUILD = ROOT / "build" / "fuzz"
WORDS = ROOT / "tests" / "fuzz" / "bytes" / "words"
FOUND = BUILD / "findings"
LONGEST = {"cache_entries": 8192, "cubins": 8192, "elf_resources": 8192}
CASE_S = 20  # longer than any of these bytes should take


def clang() -> str | None:
    """Return the newest clang++ there is."""
    numbered = {
        int(found[1]): str(path)
        for folder in os.get_exec_path()
        for path in Path(folder).glob("clang++-*")
        if (found := re.fullmatch(r"clang\+\+-(\d+)", path.name))
    }
    return shutil.which("clang++") or numbered.get(max(numbered, default=0))


def build() -> None:
    """Configure and build; an existing build takes seconds."""
    compiler = clang()
    if compiler is None:
        sys.exit("--what bytes: expected clang, found none; install clang")
    # Only a folder that was not configured yet asks for the compiler.
    environment = os.environ | {"CXX": compiler}
    # CMake of the virtual environment, where the system's is too old.
    beside = str(Path(sys.executable).parent)
    environment["PATH"] = beside + os.pathsep + environment.get("PATH", "")
    cmake = shutil.which("cmake", path=environment["PATH"])
    if cmake is None:
        sys.exit("--what bytes: expected cmake, found none")
    jobs = str(os.cpu_count())
    for arguments in (
        ["--preset", "fuzz"],
        ["--build", "--preset", "fuzz", "-j", jobs],
    ):
        done = subprocess.run(
            [cmake, *arguments],
            cwd=ROOT,
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode != 0:
            sys.exit(f"--what bytes: {done.stdout[-6000:]}")


def run(target: str, seconds: int, count: int, seed: int) -> str:
    """Run one target; return the finding, or an empty text.

    New inputs go to a separate folder: the corpus in the repository stays
    small.
    """
    FOUND.mkdir(parents=True, exist_ok=True)
    command = [
        str(BUILD / "tests" / "fuzz" / "bytes" / f"fuzz_{target}"),
        f"-artifact_prefix={FOUND}/{target}-",
        f"-max_len={LONGEST.get(target, 2048)}",
        f"-seed={seed}",
        f"-timeout={CASE_S}",
        "-print_final_stats=1",
        f"-max_total_time={seconds}" if seconds else f"-runs={count}",
    ]
    words = WORDS / f"{target}.dict"
    if words.exists():
        command.append(f"-dict={words}")
    with tempfile.TemporaryDirectory(prefix="gpuos-fuzz-") as folder:
        learned, corpus = Path(folder, "learned"), Path(folder, "corpus")
        learned.mkdir()
        unpack(target, corpus)
        command += [str(learned), str(corpus)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    sys.stdout.write(f"{target}: {runs[1] if runs else 'no'} executions\n")
    sys.stdout.flush()
    if done.returncode == 0:
        return ""
    kept = re.search(r"Test unit written to (\S+)", done.stderr)
    where = kept[1] if kept else "(no file)"
    return (
        f"{target} of seed {seed} ended with {done.returncode}\n"
        f"{done.stderr[-6000:]}\n"
        f"again with: {command[0]} {where}\n"
    )


def first_finding(count: int, seed: int, *, seconds: float) -> str | None:
    """Return the first failing target with its error, or None."""
    build()
    each = 0
    if seconds != float("inf"):
        each = max(1, int(seconds / len(targets())))
    found = [run(target, each, count, seed) for target in targets()]
    return "\n".join(text for text in found if text) or None
