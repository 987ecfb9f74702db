from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from conftest import has_cuda

import gpuos

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(
    r"^```python( gpu)?\n(.*?)^```\n(?:\n```text\n(.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
END = "---\n"


def found(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def blocks(page):
    """Return the Python blocks and outputs of a page; "python gpu" needs a GPU."""
    return [
        (text, output)
        for gpu, text, output in found(page)
        if not gpu or has_cuda()
    ]


def need_nvrtc(texts):
    if any("JitModule(" in text for text in texts):
        try:
            gpuos.JitModule("")
        except gpuos.BackendUnavailable as error:
            pytest.skip(str(error))


def need_torch(texts):
    if any("import torch" in text for text in texts):
        pytest.importorskip("torch")
        # Those programs find the bridge, as their schedulers do not wait.
        importlib.import_module("gpuos.torch").wait_ready()


def need_ray(texts):
    if any("import ray" in text for text in texts):
        pytest.importorskip("ray")
        importlib.import_module("ray_support").start().shutdown()


PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_print_what_they_say(page, run_python):
    texts = [text for text, _ in blocks(page)]
    need_nvrtc(texts)
    need_torch(texts)
    need_ray(texts)
    done = run_python(f"print({END[:-1]!r})\n".join([*texts, ""]))
    # The page states the NVRTC that it needs, or the package to install.
    if re.search("expected NVRTC|; install those that fit", done.stderr):
        pytest.skip(done.stderr.splitlines()[-1])
    # A PyTorch for GPUs prints this on a machine without one.
    errors = re.sub(r".*No CUDA runtime is found.*\n", "", done.stderr)
    assert (done.returncode, errors) == (0, "")
    printed = done.stdout.split(END)
    assert printed == [output for _, output in blocks(page)] + [""]


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
BETWEEN = re.compile(r'"\s*\n\s*f?"')
SAID = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def test_what_the_page_of_troubles_quotes_is_said():
    """The quoted messages occur in the sources."""
    root = DOCS.parent
    texts = [
        BETWEEN.sub("", path.read_text(encoding="utf-8"))
        for folder in ("cpp", "python")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".cpp", ".h", ".py")
    ]
    said = {part for text in texts for part in LITERAL.findall(text)}
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = SAID.findall(page)
    assert len(quoted) > 10
    missing = [q for q in quoted if not any(q in part for part in said)]
    assert not missing


def test_blocks_for_a_gpu_are_python():
    texts = [text for page in PAGES for gpu, text, _ in found(page) if gpu]
    assert texts
    for text in texts:
        compile(text, "block", "exec")
