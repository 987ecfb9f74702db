"""The programs of docs/processes.md, each as it is started there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from deadlines import COMPILE_S

PAGE = Path(__file__).parents[2] / "docs" / "processes.md"
PROGRAM = re.compile(
    r"^## (\S[^\n]*)\n(?:(?!^## ).)*?^```py\n(.*?)^```\n\n```text\n(.*?)^```",
    re.MULTILINE | re.DOTALL,
)
PROGRAMS = {
    name: (text, output)
    for name, text, output in PROGRAM.findall(PAGE.read_text("utf-8"))
}
RANKS = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
# The commands that run them, and the packages that they need.
STARTS = {
    "One process": ([], "numpy"),
    "multiprocessing": ([], "cloudpickle"),
    "torchrun": (RANKS, "torch"),
    "Dask": ([], "distributed"),
}
MARKS = {"torchrun": pytest.mark.torch, "Dask": pytest.mark.dask}


def test_all_of_them_are_run():
    assert list(PROGRAMS) == list(STARTS)
    assert PAGE.read_text("utf-8").count("```py\n") == len(PROGRAMS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, ())) for name in STARTS]
)
def test_a_program_prints_what_the_page_says(name, tmp_path):
    start, needed = STARTS[name]
    pytest.importorskip(needed)
    text, output = PROGRAMS[name]
    path = tmp_path / "sums.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, *start, path],
        capture_output=True,
        text=True,
        timeout=COMPILE_S,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == output
