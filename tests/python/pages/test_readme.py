import re
from pathlib import Path

import pytest
from test_docs import need_nvrtc, need_torch

README = Path(__file__).parents[3] / "README.md"
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
def test_the_readmes_python_prints_what_it_says(number, printed_by):
    text, output = blocks()[number]
    need_nvrtc([text])
    need_torch([text])
    done = printed_by(text)
    if output:
        assert done == output


MEASURED = (README.parent / "docs/measurements.md").read_text(encoding="utf-8")


def factors(section, skipped="busy"):
    """Yield the name and the least factor of each row of a table."""
    rows = MEASURED.partition(f"<!-- bench {section} -->")[2]
    for row in rows.partition("<!-- end -->")[0].splitlines():
        name, _, rest = row.strip("| ").partition(" | ")
        found = re.findall(r"[\d.]+", rest.partition(" |")[0])
        if " x" in rest and skipped not in name:
            yield name, min(map(float, found))


def test_losses_are_those_of_the_tables():
    text = " ".join(README.read_text(encoding="utf-8").split())
    found = re.search(
        r"lose up to (\d+) % on a GPU and (\d+) % on CPU tensors. On a busy machine "
        r"CPU programs lose up to (\d+) %, and one block took ([\d.]+) times",
        text,
    )
    busy, block = re.search(
        r"busy machine; worst block \| ([\d.]+) to [\d.]+; ([\d.]+)", MEASURED
    ).groups()
    assert [float(x) for x in found.groups()] == [
        round(100 - 100 * min(x for _, x in factors("torch"))),
        round(100 - 100 * min(x for _, x in factors("torch-cpu"))),
        round(100 - 100 * float(busy)),
        round(1 / float(block), 1),
    ]


def test_times_in_the_text_are_those_of_the_tables():
    text = " ".join(README.read_text(encoding="utf-8").split())
    pause = re.search(r"pauses for (\d+) us \(worst (\d+)\)", text).groups()
    assert f"median; worst | {pause[0]} us; {pause[1]} us |" in MEASURED
    launch = re.search(r"a launch costs (\d+) to (\d+) us", text).groups()
    tutorial = README.parent / "docs/tutorials/cuda.md"
    counted = re.search(r"\| one launch ([\d.]+) \|", MEASURED)[1]
    seen = re.search(
        r"^launches: ([\d.]+) us", tutorial.read_text(), re.MULTILINE
    )[1]
    assert launch == (f"{float(counted):.0f}", f"{float(seen):.0f}")


def test_a_gain_that_a_page_names_is_in_the_readmes_table():
    table = README.read_text(encoding="utf-8").partition("<!-- gains -->")[2]
    cells = re.split(r"[|*\s]+", table.partition("<!-- end -->")[0])
    named = [
        number
        for page in (README, README.parent / "docs/index.md")
        for number in re.findall(
            r"run ([\d.]+)\s+times\s+as\s+fast",
            page.read_text(encoding="utf-8"),
        )
    ]
    assert named
    assert set(named) <= set(cells)


def test_the_first_screen_has_what_decides():
    """It states what gpuos is, where it ran, and how to get, see and disable it."""
    first = "\n".join(README.read_text(encoding="utf-8").splitlines()[:43])
    for word in (
        *("gpuos is a runtime", "alpha", "H200", "GPUOS_TORCH=off"),
        *("gpuos.torch.scheduler()", "eager:", "git clone", "minutes"),
        *("pip install . && python -m gpuos demo", "gains-dark.svg"),
        *("task is lost", "not in every bit"),
    ):
        assert word in first, word
