from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_docs import need_nvrtc, need_torch

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)


def blocks():
    if not README.exists():
        return []
    return BLOCK.findall(README.read_text(encoding="utf-8"))


def test_the_readme_has_python():
    assert README.exists()
    assert blocks()


@pytest.mark.parametrize("number", range(len(blocks())))
def test_the_readmes_python_prints_what_it_says(number, run_python):
    text, output = blocks()[number]
    need_nvrtc([text])
    need_torch([text])
    done = run_python(text)
    assert (done.returncode, done.stderr) == (0, "")
    if output:
        assert done.stdout == output


def test_the_first_screen_has_what_decides():
    """What is in it, where it ran, how it is got, seen and switched off."""
    first = "\n".join(README.read_text(encoding="utf-8").splitlines()[:43])
    for word in (
        *("gpuos is a runtime", "Alpha", "H200", "GPUOS_TORCH=off"),
        *("gpuos.torch.scheduler()", "eager:", "git clone", "minutes"),
        *("pip install . && python -m gpuos demo", "gains-dark.svg"),
        *("task is lost", "not in every bit"),
    ):
        assert word in first, word
