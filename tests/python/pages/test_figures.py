"""scripts/figures: what was measured becomes tables and pictures, and names."""

import importlib
import itertools
import json
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from deadlines import WAIT_S
from program_support import python

import gpuos

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from pages import drawn, measured, names

pytestmark = pytest.mark.host

PICTURES = ROOT / "docs" / "pictures"
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
GAINS, SOURCE = drawn.read_table(README)
BENCHES = ("queue", "programs", "torch", "torch-cpu", "torch-whole", "jit")
BENCHES += ("session", "host")
SVG = "{http://www.w3.org/2000/svg}"
WHERE = {
    "date": "2026-11-25T10:00:00+00:00",
    "device": "Some GPU",
    "driver": "580.1",
    "command": "python -m gpuos bench torch",
}


def row(name, unit, value, asked=None, **more):
    """A row of a file of `bench`."""
    made = {"name": name, "unit": unit, "value": value, "asked": asked}
    made |= {"more_is_better": False, "ok": None, "note": "", "error": ""}
    return {**made, "peers": {}, "also": {}, **more}


@pytest.fixture
def write(tmp_path):
    def write(name, rows, **more):
        path = tmp_path / name
        path.write_text(json.dumps({**WHERE, **more, "rows": rows}))
        return path

    return write


# ---- measurements


@pytest.fixture
def page(tmp_path):
    """Write tables of files into a page; return lines by the table's name."""
    path = tmp_path / "page.md"
    kinds = ("queue", "torch", "torch-cpu")
    parts = [
        f"<!-- bench {name} -->\nold {name}\n<!-- end -->" for name in kinds
    ]
    path.write_text("\n".join(["# Page", *parts, "Last.\n"]))

    def run(*files):
        arguments = ["--page", str(path), "--commit", "abc", *files]
        assert measured.main(arguments) == 0
        text = path.read_text()
        assert text.endswith("<!-- end -->\nLast.\n")
        found = re.findall(r"bench (\S+) -->\n(.*?)<!-- end", text, re.DOTALL)
        return {name: table.splitlines() for name, table in found}

    return run


def test_rows_of_a_file_take_the_place_of_the_table(page, write):
    peers = {"launch": 3572.0, "CUDA graph": 927.0, "cupy": "is missing"}
    copy_peers = {"copy GB/s": 4000.0, "eager": 24.0, "graph": 25.0}
    more = {"more_is_better": True, "ok": False, "peers": copy_peers}
    rows = [
        row("adds", "ns", 5.53, 8, ok=True, peers=peers),
        row("a copy", "%", 54.3, 90, **more),
        row("points", "", 1.0),
        row("a task, late, median", "us", 5.0, 4, ok=False),
        row("a task, late, p99", "us", 6.0, 10, ok=True),
        row("a task, alone", "us", 0.5),
        *(row(f"row {i}", "us", None, error="needs a GPU") for i in range(4)),
        row("late", "us", None, error="TimeoutError: over 90 s"),
        row("other", "us", None, error="needs the cuda backend"),
    ]
    file = f"queue={write('q.json', rows)}"
    found = page(file)
    assert found["queue"] == [
        "Some GPU, driver 580.1, 2026-11-25, commit abc.",
        "",
        "| figure | measured | asked | ok | best peer |",
        "|---|---:|---:|---|---|",
        "| adds | 5.53 ns | <= 8 | yes | CUDA graph 927 |",
        "| a copy | 54.3 % | >= 90 | NO | graph 25 |",
        "| a task, late, median; p99 | 5 us; 6 us | <= 4; <= 10 | NO; yes |  |",
        "",
        "Without a limit: a task, alone 0.5 us. Not measured: 4 rows (needs a GPU), late (TimeoutError: over",
        "90 s).",
    ]
    assert found["torch"] == ["old torch"]
    assert page(file) == found  # the same file again changes nothing
    twice = page(file, file)["queue"]
    assert twice == [*found["queue"], "", *found["queue"]]


def test_rows_of_torch_are_divided_and_gains_are_one_row(page, write):
    peers = {"eager us": 900.0, "CUDA graph us": 185.0}
    peers |= {"CUDA graph first ms": 7.0}
    better = {"more_is_better": True, "ok": True}
    chain = {**better, "peers": peers, "also": {"ours us": 68.4}}
    rows = [
        row("chain, eager", "x", 12.34, 8, **chain),
        row("gain: a, over eager", "x", 18.25, 3, **better),
        row("gain: b, over eager", "x", 4.8, 3, **better),
        row("processors: a branch, over eager", "x", 1.37, 1.1, **better),
    ]
    path = write("t.json", rows)
    found = page(f"torch={path}", f"torch-cpu={path}")
    assert found["torch"][4:] == [
        "| chain, eager | 12.3 x, 68.4 us | >= 8 | yes | CUDA graph 185 us |",
        "| 2 programs that gain | 4.8 to 18.2 x |  | yes |  |",
    ]
    [branch] = found["torch-cpu"][4:]
    assert branch.startswith("| processors: a branch, over eager | 1.37 x |")


def test_whole_programs_have_a_table_of_their_own(tmp_path, write):
    counts = {"by PyTorch": 12, "flushes": 8}
    few, many = ({"deferred": 8 * n, "a flush": n} for n in (10, 40))
    peers = {"eager us": 9_500.0, "CUDA graph": 7.31, "torch.compile": 3.5}
    late = {"eager us": 400.0, "torch.compile": "takes over 45 s"}
    rows = [
        row(f"whole: {name}, over eager", "x", value, 4, peers=some, also=also)
        for name, value, some, also in (
            ("a", 1.0, peers, {"compile s": 31.26, **few, **counts}),
            ("b", 4.0, late, {**many, **counts}),
        )
    ]
    rows.append(row("adds", "us", 1.0, 2))
    page = tmp_path / "page.md"
    page.write_text("<!-- bench torch-whole -->\n<!-- end -->\n")
    path = write("t.json", rows)
    file = f"torch-whole={path}"
    assert measured.main(["--page", str(page), "--commit", "abc", file]) == 0
    assert page.read_text().splitlines()[5:-1] == [
        "| a | 9.5 ms | 1 x | 7.31 x | 3.5 x | 31.3 s | 80 | 12 | 8 | 10 |",
        "| b | 0.4 ms | 4 x | - | - | over 45 s | 320 | 12 | 8 | 40 |",
        "",
        "Geometric mean 2 x, least 1 x; operators a flush, median 25.",
    ]


@pytest.mark.parametrize("argument", ["nothing={}", "queue"])
def test_results_without_a_table_are_refused(page, write, argument, capsys):
    path = write("q.json", [row("adds", "ns", 5.0)])
    with pytest.raises(SystemExit) as ended:
        page(argument.format(path))
    assert "expected" in f"{ended.value}{capsys.readouterr().err}"


def test_the_page_has_a_table_for_each_benchmark():
    for name in BENCHES:
        assert MEASURED.count(f"<!-- bench {name} -->\n") == 1, name
    assert MEASURED.count("<!-- end -->") == len(BENCHES)


# ---- readme


@pytest.fixture
def readme(tmp_path):
    """Call the command on copies; return their folder."""
    shutil.copy(ROOT / "README.md", tmp_path)
    where = ["--page", str(tmp_path / "README.md"), "--folder", str(tmp_path)]

    def run(*arguments):
        assert drawn.main([*where, *map(str, arguments)]) == 0
        return tmp_path

    return run


def torch_rows(**changes):
    """A run in which every program takes its place's number."""
    for place, name in enumerate(drawn.PROGRAMS, 2):
        peers = {
            "eager us": 12.0,
            "CUDA graph us": 12.0 / place,
            "torch.compile default us": 24.0,
            "torch.compile default first ms": 0.001,
            "torch.compile reduce-overhead us": 6.0,
            "_foreach us": 0.5,
        }
        also = {"ours us": float(place)}
        one = row(f"{name}, over eager", "x", 12.0 / place, peers=peers)
        yield {**one, "also": also, **changes.get(name, {})}


def test_the_readme_and_pictures_are_those_of_the_file(readme):
    folder = readme()
    assert (folder / "README.md").read_text(encoding="utf-8") == README
    for theme in drawn.THEMES:
        name = f"gains-{theme}.svg"
        assert (folder / name).read_bytes() == (PICTURES / name).read_bytes()
        assert f'"docs/pictures/{name}"' in README


@pytest.mark.parametrize("program", drawn.PROGRAMS)
def test_the_readme_has_what_was_measured(program):
    """Until a run rewrites it, the table agrees with the page."""
    found = GAINS[drawn.PROGRAMS[program]]
    lines = re.findall(
        rf"^\| {re.escape(program)},? .*$", MEASURED, re.MULTILINE
    )
    [line] = [x for x in lines if "over eager" in x]
    ours = f"{measured.number(found['gpuos'])} x, "
    assert ours in line
    # The page has the best peer alone.
    if best := re.search(r"CUDA graph ([\d,.]+) us", line):
        us = float(line.partition(ours)[2].split()[0].replace(",", ""))
        graph = float(best[1].replace(",", ""))
        factor = found["gpuos"] * us / graph
        assert found["CUDA graph"] == pytest.approx(factor, rel=0.02)


def test_the_readmes_pause_is_measured():
    part = README.partition("<!-- queue -->")[2].partition("<!-- end -->")[0]
    pause = re.search(r"pauses for ([\d,.]+) us \(worst ([\d,.]+)\)", README)
    assert pause
    assert f"| {pause[1]} us; {pause[2]} us |" in part
    assert "| 0 tasks |" in part


def test_a_run_becomes_the_table(readme, write):
    name = "cart and pole"
    gone = {"CUDA graph us": "needs a GPU", "torch.compile default": "absent"}
    rows = list(torch_rows(**{name: {"peers": gone}}))
    folder = readme(write("torch.json", rows), "--commit", "abc")
    page = (folder / "README.md").read_text()
    gains, source = drawn.read_table(page)
    for place, (program, found) in enumerate(gains.items(), 2):
        expected = {"gpuos": 12.0 / place}
        if program != drawn.PROGRAMS[name]:
            # Eager's 12 over the graph's, and over the better compiler's.
            expected |= {"CUDA graph": float(place), "torch.compile": 2.0}
        assert found == pytest.approx(expected, rel=0.01)
    assert [*gains] == [*drawn.PROGRAMS.values()]
    assert source == "One Some GPU; 2026-11-25, commit abc."
    assert "| **6** | 2 | 2 |" in page


@pytest.mark.parametrize("gone", ["row", "value", "marker", "queue"])
def test_missing_rows_are_named(readme, write, tmp_path, gone):
    rows = list(torch_rows())
    name = "decode step, changing"
    path = tmp_path / "measurements.md"
    text = MEASURED
    if gone == "row":
        rows = [x for x in rows if not x["name"].startswith(name)]
    if gone == "value":
        rows = list(torch_rows(**{name: {"value": None}}))
    if gone == "marker":
        name = "<!-- gains -->"
        (tmp_path / "README.md").write_text("# A page\n")
    if gone == "queue":
        name = "Python submit() with three arrays"
        text = MEASURED.replace(name, "Another row")
    path.write_text(text)
    before = (tmp_path / "README.md").read_text()
    with pytest.raises(SystemExit, match=re.escape(name)):
        readme(write("torch.json", rows), "--measured", path)
    assert (tmp_path / "README.md").read_text() == before


@pytest.mark.parametrize("theme", drawn.THEMES)
def test_a_picture_says_what_it_shows(theme):
    drawing = ET.fromstring((PICTURES / f"gains-{theme}.svg").read_text())
    width, height = (float(drawing.attrib[x]) for x in ("width", "height"))
    texts = [x.text for x in drawing.iter(f"{SVG}text")]
    for name in (*drawn.ARMS, "eager", SOURCE):
        assert any(name in text for text in texts), name
    colours = drawn.THEMES[theme][2]
    marks = dict.fromkeys(colours, 0)
    for one in itertools.chain(
        *map(drawing.iter, (f"{SVG}circle", f"{SVG}rect"))
    ):
        x = float(one.get("cx") or one.attrib["x"])
        y = float(one.get("cy") or one.attrib["y"])
        # Left of the factor, which ends the line; a digit has 8 at most.
        assert 0 < x < x + 9 < width - 4 - 8 * len("10.1 x")
        assert 0 < y < height
        marks[one.attrib["fill"]] += 1
    for arm, colour in zip(drawn.ARMS, colours, strict=True):
        seen = [found for found in GAINS.values() if arm in found]
        assert marks[colour] == len(seen) + 1  # and one in the legend
    assert {*GAINS} <= {*texts}


# ---- names


def test_calls_of_the_last_release_are_allowed():
    done = python(
        ROOT / "scripts" / "figures", "names", "--check", timeout=WAIT_S
    )
    assert (done.returncode, done.stderr) == (0, ""), (
        "users of the last release call these; keep them, or raise the version "
        "in CMakeLists.txt, as docs/installing.md says. Before 0.1.0 is out: "
        "run scripts/figures names"
    )


def test_the_lines_are_names_that_there_are():
    seen = set()
    for line in names.today():
        name = line.partition("(")[0]
        if name.startswith("gpuos.torch"):
            continue  # needs PyTorch
        for module in ("gpuos.array_api", "gpuos.ray"):
            if name.startswith(module):
                importlib.import_module(module)
        found = gpuos
        for word in name.split(".")[1:]:
            # A dataclass has no attribute for a field without a default.
            found = getattr(found, word, found)
            seen.add(word)
    assert set(gpuos.__all__) - seen == set()


def test_a_name_that_only_raises_is_no_promise():
    """Or each version of NumPy would have other public names of gpuos."""
    array = gpuos.Runtime("host").array([1.0])
    lines = {line.partition("(")[0] for line in names.today()}
    assert "gpuos.Array.sum" in lines
    for name in ("base", "byteswap", "sort", "__init__"):
        assert f"gpuos.Array.{name}" not in lines
    with pytest.raises(AttributeError):
        _ = array.byteswap


SIGNATURES = re.findall(
    r"\(.*?\)",
    "() (a) (b) (a,b) (b,a) (a=1) (a,b=1) (a=1,b=1) (a,*,b) (a,*,b=1) "
    "(*,a=1,b=1) (*,a) (a,/) (a,/,b=1) (*a) (a,*c) (a,**c) (*c,b=1) (*c,a) "
    "(*c,**d)",
)
CALLS = [
    (count, frozenset(keywords))
    for count in range(4)
    for size in range(4)
    for keywords in itertools.combinations("abx", size)
]


def taken(signature):
    """The calls that Python takes."""
    function = eval(f"lambda {signature[1:-1]}: None")
    found = set()
    for count, keywords in CALLS:
        try:
            function(*range(count), **dict.fromkeys(keywords))
        except TypeError:
            continue
        found.add((count, keywords))
    return found


@pytest.mark.parametrize("old", SIGNATURES)
def test_a_signature_allows_another_if_python_takes_its_calls(old):
    for new in SIGNATURES:
        # The names of the places count too, where both take the same words.
        if names.allows(new, old):
            assert taken(old) <= taken(new), (new, old)
    assert names.allows(old, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("(a, b=1)", "(a)"),
        ("(a, *, b=1)", "(a)"),
        ("(a=1)", "(a)"),
        ("(a, b=1)", "(a, *, b=1)"),
        ("(*c, **d)", "(a, *, b)"),
        ("(b, /)", "(a, /)"),
    ],
)
def test_additions_break_no_caller(new, old):
    assert names.allows(new, old)


def test_removed_and_renamed_names_are_reported():
    old = ["g.f(a)", "g.C", "g.C.x", "g.C.m(self, a, b=1)"]
    assert names.broken(old, old) == []
    for i, line in enumerate(old):
        rest = old[:i] + old[i + 1 :]
        assert names.broken(old, rest) == [line]
    assert names.broken(old, [*old[:3], "g.C.m(self, a)"]) == [old[3]]
    assert names.broken(["g.f(a)"], ["g.f(a, b)", "g.f(a)"]) == []


def test_which_version_may_break_something():
    for old, new in (
        ("0.1.0", "0.2.0"),
        ("0.9.0", "1.0.0"),
        ("1.1.0", "2.0.0"),
    ):
        assert names.may_break(old, new)
    for old, new in (("0.1.0", "0.1.1"), ("1.0.0", "1.1.0")):
        assert not names.may_break(old, new)
