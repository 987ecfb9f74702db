import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from conftest import has_cuda
from jit_support import or_skip
from program_support import python

import gpuos
from gpuos import _core
from gpuos.typing import Backend, Residency, Stats

DOCS = Path(__file__).parents[3] / "docs"
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
        or_skip(gpuos.JitModule, "")


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
def test_blocks_of_a_page_print_the_stated_output(page, run_python):
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


def test_quoted_errors_of_the_troubles_page_exist():
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


PAGE = Path(__file__).parents[3] / "docs" / "processes.md"
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


def test_every_program_of_the_page_is_tested():
    assert list(PROGRAMS) == list(STARTS)
    assert PAGE.read_text("utf-8").count("```py\n") == len(PROGRAMS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, ())) for name in STARTS]
)
def test_programs_print_the_output_of_the_page(name, tmp_path):
    start, needed = STARTS[name]
    pytest.importorskip(needed)
    text, output = PROGRAMS[name]
    path = tmp_path / "sums.py"
    path.write_text(text)
    done = python(*start, path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "python/gpuos/typing.py"
STUB = ROOT / "python/gpuos/_core.pyi"


def test_stats_has_what_a_runtime_tells(rt):
    told = rt.stats()
    hints = get_type_hints(Stats)
    assert set(told) == set(hints)
    wrong = {
        name: (type(told[name]), hint)
        for name, hint in hints.items()
        if type(told[name]) is not hint
    }
    assert not wrong


def test_each_number_is_explained():
    lines = SOURCE.read_text().splitlines()
    for name in get_type_hints(Stats):
        at = next(
            i for i, line in enumerate(lines) if line.startswith(f"    {name}:")
        )
        assert lines[at + 1].lstrip().startswith('"""'), name


@pytest.mark.parametrize("choices", [Backend, Residency])
def test_choices_are_all_that_are_taken(choices):
    name = "backend" if choices is Backend else "residency"
    with pytest.raises(gpuos.InvalidArgument) as refused:
        gpuos.Runtime(**{name: "nonsense"})
    for choice in get_args(choices):
        assert choice in str(refused.value)


def test_the_module_has_the_docstrings_of_its_stub():
    found = []

    def check(node, thing):
        doc = ast.get_docstring(node)
        if doc:
            found.append(type(thing).__name__)
            told = inspect.getdoc(getattr(thing, "__func__", thing))
            assert told.endswith(doc.strip()), node.name
        for member in node.body:
            if isinstance(member, (ast.ClassDef, ast.FunctionDef)):
                check(member, inspect.getattr_static(thing, member.name, None))

    check(ast.parse(STUB.read_text()), _core)
    assert {
        "builtin_function_or_method",
        "getset_descriptor",
        "instancemethod",
        "method_descriptor",
        "module",
        "property",
        "type",
    } <= set(found)
