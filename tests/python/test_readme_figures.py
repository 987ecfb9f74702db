"""scripts/readme_figures: what is measured becomes a table and two pictures."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from deadlines import WAIT_S

from gpuos.bench.report import number

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "readme_figures"
PICTURES = ROOT / "docs" / "pictures"
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
KEPT = json.loads((PICTURES / "gains.json").read_text(encoding="utf-8"))
PARTS = runpy.run_path(str(SCRIPT))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def run(tmp_path):
    """Call the script on copies; return its result and the new copies."""
    page = tmp_path / "README.md"
    shutil.copy(ROOT / "README.md", page)
    shutil.copy(PICTURES / "gains.json", tmp_path)

    def call(*arguments):
        command = [sys.executable, SCRIPT, "--page", page, "--folder", tmp_path]
        done = subprocess.run(
            [*command, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        return done, tmp_path

    return call


def a_run(**changes):
    """The file of a run in which every program takes its place's number."""
    rows = []
    for place, name in enumerate(PARTS["PROGRAMS"], 2):
        peers = {
            "eager us": 12.0,
            "CUDA graph us": 12.0 / place,
            "torch.compile default us": 24.0,
            "torch.compile default first ms": 0.001,
            "torch.compile reduce-overhead us": 6.0,
            "_foreach us": 0.5,
        }
        row = {"name": f"{name}, over eager", "value": 12.0 / place}
        row |= {"also": {"ours us": float(place)}, "peers": peers}
        rows.append(row | changes.get(name, {}))
    return {
        "device": "Some GPU",
        "date": "2027-01-02T03:04:05+00:00",
        "command": "python -m gpuos bench torch",
        "rows": rows,
    }


def test_the_readme_and_pictures_are_those_of_the_file(run):
    done, folder = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "README.md").read_text(encoding="utf-8") == README
    for theme in PARTS["THEMES"]:
        name = f"gains-{theme}.svg"
        assert (folder / name).read_bytes() == (PICTURES / name).read_bytes()
        assert f'"docs/pictures/{name}"' in README


@pytest.mark.parametrize("program", KEPT["programs"], ids=lambda x: x["name"])
def test_the_file_has_what_was_measured(program):
    """Until a run rewrites it, it has the values of the page of measurements."""
    ours = f"{number(program['over eager'])} x, {number(program['us'])} us"
    lines = re.findall(
        rf"^\| {re.escape(program['name'])},? .*$", MEASURED, re.MULTILINE
    )
    [line] = [x for x in lines if "over eager" in x]
    assert ours in line
    # The page has the best peer alone.
    if best := re.search(r"CUDA graph ([\d,.]+) us", line):
        assert best[1] == number(program["peers us"]["CUDA graph"])


def test_figures_of_the_queue_are_those_of_the_page():
    part = README.partition("<!-- queue -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(PARTS["QUEUE"])
    for name, line in zip(PARTS["QUEUE"], lines, strict=True):
        [there] = [
            x for x in MEASURED.splitlines() if x.startswith(f"| {name}")
        ]
        ours, peer = PARTS["cells_of"](line)[1:]
        assert f" {ours} |" in there
        assert peer.removeprefix("CUDA graph") in there
    # The times of a replacement on the first screen.
    pause = re.search(r"pauses ([\d,.]+) us \(worst ([\d,.]+)\)", README)
    assert pause
    assert f"| {pause[1]} us; {pause[2]} us |" in part
    assert "| 0 tasks |" in part


def test_a_row_of_the_queue_that_is_gone_is_named(run, tmp_path):
    name = "Python submit() with three arrays"
    path = tmp_path / "measurements.md"
    path.write_text(MEASURED.replace(name, "Another row"))
    done, folder = run("--measured", path)
    assert done.returncode != 0
    assert name in done.stderr
    assert (folder / "README.md").read_text(encoding="utf-8") == README


def test_a_run_becomes_the_file(run, tmp_path):
    name = "cart and pole"
    gone = {"CUDA graph us": "needs a GPU", "torch.compile default": "absent"}
    path = tmp_path / "torch.json"
    path.write_text(json.dumps(a_run(**{name: {"peers": gone}})))
    done, folder = run(path, "--commit", "abc")
    assert (done.returncode, done.stderr) == (0, "")
    content = json.loads((folder / "gains.json").read_text())
    for place, program in enumerate(content["programs"], 2):
        found = PARTS["factors"](program)
        expected = {"gpuos": 12.0 / place}
        if program["name"] != name:
            # Eager's 12 over the graph's, and over the better compiler's.
            expected |= {"CUDA graph": float(place), "torch.compile": 2.0}
        assert found == pytest.approx(expected)
    page = (folder / "README.md").read_text()
    assert "One Some GPU; all 2027-01-02, commit abc." in page
    assert "| **4** |  |  |" in page
    assert "| **6** | 2 | 2 |" in page


@pytest.mark.parametrize("gone", ["row", "value", "marker"])
def test_what_is_missing_is_named(run, tmp_path, gone):
    content = a_run()
    expected = "decode step, changing"
    [row] = [x for x in content["rows"] if x["name"].startswith(expected)]
    if gone == "row":
        content["rows"].remove(row)
    if gone == "value":
        row["value"] = None
    if gone == "marker":
        expected = "<!-- gains -->"
        (tmp_path / "README.md").write_text("# A page\n")
    path = tmp_path / "torch.json"
    path.write_text(json.dumps(content))
    done, _ = run(path, "--commit", "abc")
    assert done.returncode != 0
    assert expected in done.stderr


@pytest.mark.parametrize("theme", PARTS["THEMES"])
def test_a_picture_says_what_it_shows(theme):
    drawing = ET.fromstring((PICTURES / f"gains-{theme}.svg").read_text())
    width, height = (float(drawing.attrib[x]) for x in ("width", "height"))
    texts = [x.text for x in drawing.iter(f"{SVG}text")]
    for name in (*PARTS["ARMS"], "eager", KEPT["device"]):
        assert any(name in text for text in texts), name
    colours = PARTS["THEMES"][theme]
    marks = dict.fromkeys(colours.arms, 0)
    for kind in ("circle", "rect"):
        for one in drawing.iter(f"{SVG}{kind}"):
            x = float(one.get("cx") or one.attrib["x"])
            y = float(one.get("cy") or one.attrib["y"])
            assert 0 < x < width
            assert 0 < y < height
            # Left of the factor, which ends the line; a digit has 8 at most.
            assert x + 9 < width - 4 - 8 * len("10.1 x")
            marks[one.attrib["fill"]] += 1
    for arm, colour in zip(PARTS["ARMS"], colours.arms, strict=True):
        drawn = [p for p in KEPT["programs"] if arm in PARTS["factors"](p)]
        assert marks[colour] == len(drawn) + 1  # and one in the legend
    for program in KEPT["programs"]:
        assert PARTS["PROGRAMS"][program["name"]] in texts
