"""Tutorials do what they say; their times may be others."""

import importlib
import sys
from pathlib import Path

import pytest
from conftest import has_cuda
from test_docs import need_nvrtc, need_torch

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
measured = importlib.import_module("measured")
sys.path.pop(0)

PAGES = {
    page.stem: measured.blocks(page.read_text(encoding="utf-8"))
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))
}
PAGES = {name: blocks for name, blocks in PAGES.items() if blocks}


def test_each_tutorial_has_times():
    assert set(PAGES) == {"numpy", "cuda", "rl", "own_kernels"}
    for name, blocks in PAGES.items():
        assert any(block.is_measured for block in blocks), name


@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_prints_what_it_says(name):
    blocks = [b for b in PAGES[name] if has_cuda() or not b.needs_gpu]
    codes = tuple(block.code for block in blocks)
    need_nvrtc(codes)
    need_torch(codes)
    try:
        printed = measured.outputs(codes)
    except RuntimeError as error:
        if "BackendUnavailable" in str(error).splitlines()[-1]:
            pytest.skip(str(error).splitlines()[-1])
        raise
    for block, output in zip(blocks, printed, strict=True):
        if block.is_measured:
            shape = measured.shape_of
            assert shape(output) == shape(block.output), block.code
        else:
            assert output == block.output, block.code


def test_blocks_for_a_gpu_are_python():
    codes = [b.code for page in PAGES.values() for b in page if b.needs_gpu]
    assert codes
    for code in codes:
        compile(code, "block", "exec")


PAGE = """# A page

```python
print("took", 0.5, "us")
```

```text measured
took ? us
(not measured yet)
```

```python gpu
print("the GPU took", 7)
```

```text measured
the GPU took 3
(another machine)
```

```python
print("always", 1)
```

```text
always 1
```
"""


@pytest.mark.parametrize("gpu", ["", "a GPU"])
def test_numbers_are_those_of_this_machine(monkeypatch, gpu):
    monkeypatch.setattr(measured, "gpu", lambda: gpu)
    place = measured.machine()
    assert f", {gpu or 'no GPU'}, 2" in place
    page = measured.with_numbers_of_here(PAGE)
    expected = PAGE.replace(
        "took ? us\n(not measured yet)", f"took 0.5 us\n{place}"
    )
    if gpu:
        expected = expected.replace(
            "took 3\n(another machine)", f"took 7\n{place}"
        )
    assert page == expected
    # New measurements are put in the same places.
    assert measured.with_numbers_of_here(page) == page


def test_a_block_that_fails_says_why():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        measured.with_numbers_of_here("```python\n1 / 0\n```\n")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a  12.5 us", "a # us"),
        ("a 1,024 us, ? ms", "a # us, # ms"),
        ("no number", "no number"),
        ("one 1 two 2", "one # two #"),
    ],
)
def test_a_shape_is_a_text_without_its_numbers(text, shape):
    assert measured.shape_of(text) == shape
