"""Lists in pages match the code: names, defaults, commands, files."""

import builtins
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import gpuos
from gpuos import functions as F
from gpuos import numpy_names
from gpuos.cli import make_parser

ROOT = Path(__file__).parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
TESTS = re.compile("TEST|FUZZ")
SOURCES = ("*.py", "*.cpp", "*.h", "*.cu", "*.cmake", "*.txt", "*.sh")


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def row(text, first):
    """The other cells of the table's row that begins with `first`."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if cells[1:2] == [first]:
            return cells[2:-1]
    pytest.fail(f"there is no row {first!r}")
    return []


def names_in(cell):
    quoted = re.findall(r"`([^`]*)`", cell)
    return re.findall(r"[a-z_][a-z_0-9.]*\*?", " ".join(quoted))


def sources():
    folders = ("cpp", "include", "python", "scripts", "tests", "cmake")
    for folder in folders:
        for pattern in SOURCES:
            yield from (ROOT / folder).rglob(pattern)
    yield from (ROOT / "scripts").iterdir()
    yield ROOT / "CMakeLists.txt"


def test_variables_of_the_environment():
    known = "".join(
        path.read_text(encoding="utf-8")
        for path in sources()
        if path.is_file() and path != Path(__file__)
    )
    wanted = {
        name
        for text in PAGES
        for name in re.findall(
            r"\bGPUOS_[A-Z_]+\b", text.read_text(encoding="utf-8")
        )
    }
    assert {name for name in wanted if name not in known} == set()
    read = set(re.findall(r'(?:getenv|environ\.get)\("(GPUOS_[A-Z_]+)"', known))
    told = "".join(text.read_text(encoding="utf-8") for text in PAGES)
    # Variables of the tests are not for users.
    secret = {name for name in read if name not in told}
    assert {name for name in secret if not TESTS.search(name)} == set()


def test_functions_that_programs_have():
    names = [
        name
        for first in ("elementwise functions", "functions of NumPy")
        for name in names_in(row(page("programs"), first)[0])
    ]
    assert len(names) > 100
    known = {function.__name__ for function in numpy_names.of_values()}
    known |= {*numpy_names.OPERATIONS, "divmod"}
    assert {*names} <= known


def test_reductions_that_programs_have(host):
    first = "reductions, over any axes, with `keepdims`"
    names = set(names_in(row(page("programs"), first)[0]))
    assert len(names) > 20
    x = np.arange(12.0).reshape(3, 4)
    for name in names:
        is_norm = name == "linalg.norm"
        function = np.linalg.norm if is_norm else getattr(np, name)
        result = host.fuse(lambda x, f=function: f(x, axis=0, keepdims=True))(x)
        wanted = function(x, axis=0, keepdims=True)
        np.testing.assert_allclose(result.numpy(), wanted, err_msg=name)


def test_functions_of_gpuos():
    told = set(names_in(row(page("programs"), "`gpuos.functions`")[0]))
    for name in told - {"alpha"}:
        assert callable(getattr(F, name)), name


def test_functions_of_expressions(host):
    text = page("expressions")
    listed = text.partition("## Functions")[2].partition("## Types")[0]
    others = ("x", "a", "b", "low", "high", "condition", "axis", "keepdims")
    told = set(names_in(listed)) - {*others, "rue"}
    assert len(told) > 30
    with pytest.raises(gpuos.InvalidArgument) as caught:
        host.define("f", "o = no_function(x)")
    known = re.search("one of (.*), got", str(caught.value))[1].split(", ")
    cell = row(page("programs"), "elementwise functions")[0]
    assert told <= set(known)
    # Names that are missing on the page are in the list of programs.
    assert set(known) - told <= set(names_in(cell))


def test_the_built_in_operators(host):
    told = re.search(r"starts with (.*?) for", page("operators"), re.DOTALL)
    assert told is not None
    assert sorted(names_in(told[1])) == sorted(host.operators())


def test_the_tree_of_errors():
    tree = page("errors").partition("\n\n")[2].partition("\n\nThe third")[0]
    above = {}
    for line in tree.splitlines():
        before, name, rest = re.match(
            r"( *[\w:]* *)<- (\w+) *(.*)", line
        ).groups()
        base = above[0] if above and "std::" not in before else None
        if base is None:
            above[0] = name
        bases = re.findall(r"\b[A-Z]\w*Error\b", rest) + (
            [base] if base else []
        )
        for each in bases:
            kind = getattr(builtins, each, None) or getattr(gpuos, each)
            assert issubclass(getattr(gpuos, name), kind), (name, each)
    assert len(tree.splitlines()) == 12


def commands():
    pattern = re.compile(r"python -m gpuos ([a-z-]+)(?: ([a-z]+))?")
    return sorted(
        {
            found
            for text in PAGES
            for found in pattern.findall(text.read_text(encoding="utf-8"))
        }
    )


@pytest.mark.parametrize(("command", "more"), commands())
def test_commands_of_the_pages(capsys, command, more):
    parser = make_parser()
    arguments = [command, more] if command == "cache" and more else [command]
    if command == "bench":
        bench = pytest.importorskip("gpuos.bench", exc_type=ImportError)
        parser, arguments = bench.make_parser(), [more] if more else []
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([*arguments, "--help"])
    assert ended.value.code == 0
    assert (more or command) in capsys.readouterr().out


def test_files_of_the_pages():
    folders = r"(?:cpp|include|python|tests|scripts|examples|cmake|benchmarks)"
    pattern = re.compile(rf"`({folders}/[\w./-]+)`")
    missing = [
        (text.name, path)
        for text in PAGES
        for path in pattern.findall(text.read_text(encoding="utf-8"))
        if text.stem != "cuda_headers"  # it has headers of a toolkit
        and not (ROOT / path).exists()
    ]
    assert missing == []


def test_names_of_the_package():
    for module in ("array_api", "ray", "typing"):  # which pages name
        importlib.import_module(f"gpuos.{module}")
    pattern = re.compile(r"`gpuos\.([A-Za-z_]+)(?:\.([A-Za-z_]+))?")
    missing = []
    for text in PAGES:
        if text.stem == "torch":  # needs PyTorch
            continue
        for first, second in pattern.findall(text.read_text(encoding="utf-8")):
            if first in ("torch", "watch"):  # the other is a logger
                continue
            found = getattr(gpuos, first, None)
            if found is None or (second and not hasattr(found, second)):
                missing.append((text.name, first, second))
    assert missing == []
