"""Run the programs of pages for their numbers, on the machine of the site.

A text block with the mark `measured` follows the Python that printed it. Its
last line says where and when. The site has the numbers of its own machine. The
page in the repository has stored numbers.
"""

import functools
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"^```python( gpu)?\n(.*?)^```\n(?:\n```text( measured)?\n(.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
MEASURED = re.compile(r"^```text measured$", re.MULTILINE)
# "?" stands for a number without a measurement.
NUMBER = re.compile(r"\d+(?:[.,]\d+)*|\?")
SPACES = re.compile(r" +")
END = "--- the end of a block ---\n"
LIMIT_S = 600  # includes the compilation of PyTorch's bridge
PRINT_DEVICE = """
import gpuos
print(*[f.version for f in gpuos.diagnose() if f.found and f.what == "device 0"])
"""


class Block(NamedTuple):
    """Python code of a page, and its output."""

    needs_gpu: bool
    code: str
    is_measured: bool
    output: str


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page. Drop the last line of measured outputs."""
    found = []
    for gpu, code, measured, output in BLOCK.findall(page):
        kept = output
        if measured:
            kept = "".join(output.splitlines(keepends=True)[:-1])
        found.append(Block(bool(gpu), code, bool(measured), kept))
    return found


def shape_of(output: str) -> str:
    """Return a measured output without its numbers."""
    return SPACES.sub(" ", NUMBER.sub("#", output))


@functools.cache
def gpu() -> str:
    """Return the name of the first GPU, or ""."""
    done = python(PRINT_DEVICE)
    return done.stdout.strip()


def machine() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    name = model[1] if model else os.uname().machine
    count = len(os.sched_getaffinity(0))
    today = datetime.now(tz=timezone.utc).date()
    return f"({name}, {count} processors, {gpu() or 'no GPU'}, {today})"


def python(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd="/",
    )


@functools.cache
def outputs(codes: tuple[str, ...]) -> list[str]:
    """Run the blocks of a page one after the other, and return their outputs.

    Raises
    ------
    RuntimeError
        If a block fails or takes too long. The text is Python's error.
    """
    try:
        done = python(f"print({END[:-1]!r})\n".join([*codes, ""]))
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(str(error)) from error
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(done.stderr)
    return done.stdout.split(END)[:-1]


def with_numbers_of_here(page: str) -> str:
    """Return a page with the outputs of its blocks on this machine.

    Without a GPU, blocks that need one keep the stored output.
    """
    is_run = [bool(gpu()) or not block.needs_gpu for block in blocks(page)]
    runs = [b.code for b, run in zip(blocks(page), is_run, strict=True) if run]
    printed = iter(outputs(tuple(runs)))
    asked = iter(is_run)

    def replaced(found: re.Match[str]) -> str:
        if not next(asked):
            return found[0]
        output = next(printed)
        if not found[3]:
            return found[0]
        begin = found.start(4) - found.start()
        return f"{found[0][:begin]}{output}{machine()}\n```"

    return BLOCK.sub(replaced, page)
