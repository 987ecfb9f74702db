"""Rules for includes, lengths, names and places of files.

Runs with pytest or alone; reads files only.
"""

import ast
import hashlib
import os
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HARD_LIMIT = 600  # lines; the aim is 300

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL
)
NEVER_IN_LIBRARY = re.compile(
    r"\b(?:printf|fprintf|puts|putchar|abort|exit|quick_exit|terminate)\s*\("
    r"|\bstd::(?:cout|cerr|clog)\b"
)
CUDA_HEADER = re.compile(
    r"^(?:cuda|nvrtc|nvJitLink|cuda_runtime|cuda_fp16|device_launch_parameters)"
    r"[^/]*\.h$|^cuda/"
)

PUBLIC = r"gpuos/.*\.h"
# The folders of cpp/ from bottom to top, with the folders whose headers each
# may include in addition to its own and the public ones. cpp/README.md
# describes them.
LAYERS = {
    "base": "",
    "values": "base",
    "driver": "base",
    "device": "",
    "queue": "base values device",
    "jit": "base driver device",
    "modules": "base driver jit",
    "operators": "base queue device",
    "program": "base queue device operators",
    "expression": "base queue device operators program",
    "host": "base queue device jit modules program",
    "cuda": "base driver queue device jit modules",
    "runtime": "base driver queue jit operators program expression host cuda",
    "requests": "base queue program runtime",
    "fused": "base program",
    "arrays": "base program runtime requests fused",
    "session": "base driver jit modules host",
}


def _layer(name: str, below: str) -> str:
    folders = "|".join([name, *below.split()])
    return rf"{PUBLIC}|(?:{folders})/.*\.(?:h|cu)"


# The folders of the bridge from bottom to top. Each may include those before.
BRIDGE = ("pytorch", "memory", "flush", "planning", "entry")


def _bridge_layer(place: int) -> str:
    return rf"{PUBLIC}|(?:{'|'.join(BRIDGE[: place + 1])})/[a-z0-9_]+\.h"


# Folder: the quoted includes that it may use. The innermost one counts.
ALLOWED = {
    **{f"cpp/{name}": _layer(name, below) for name, below in LAYERS.items()},
    # NVRTC and the host's compiler find them by their paths in cpp/device.
    "cpp/device": r"(?:[a-z]+/)?[a-z0-9_]+\.h|gpuos/(?:dtype_list|vocabulary)\.h",
    "include/gpuos": PUBLIC,
    "benchmarks": rf"{PUBLIC}|[a-z0-9_]+\.h|(?:driver|convert)/.*\.h",
    "python/bindings": rf"{PUBLIC}|[a-z]+/[a-z0-9_]+\.h",
    **{
        f"python/gpuos/torch/bridge/{name}": _bridge_layer(place)
        for place, name in enumerate(BRIDGE)
    },
    "examples": rf"{PUBLIC}|[a-z0-9_]+\.h",
    "tests/install": PUBLIC,
    "tests/simulator": r"[a-z_]+\.h|driver/.*\.h|device/[a-z0-9_/]+\.h",
}
# READMEs that speak for the folders below theirs, too.
WITH_FOLDERS = (
    *("benchmarks", "examples", "tests/cpp", "tests/python"),
    *("cpp/device", "cpp/jit", "cpp/program", "cpp/session"),
    *("python/bindings", "python/gpuos/torch/bridge"),
)
# Folder: how many source files it and each folder below it may have, if not 40.
MOST_FILES = {"python/bindings": 20}
COLUMNS = 100  # of a page's text
LINK = re.compile(r"\]\(([^)#]+)")
# A type that a header has for all of its room.
TYPE = re.compile(
    r"^(?:class|struct|union|enum(?: class)?)\s+(?:(?:GPUOS_API|alignas\([^)]*\))\s+)?"
    r"([A-Z]\w*)(?:\s+final)?\s*(?::[^;:{]*)?\{",
    re.MULTILINE,
)
# A package with such a name in a package index is not ours.
FOREIGN = re.compile(
    r"(?<![\w-])gpuos(?:-[t]orch\b|==|(?:-runtime)?(?:-torch)?\[[a-z])"
    r"|\b(?:pip[3x]?|uvx?|conda|mamba|poetry|pdm)[\s\"',]+(?:pip )?"
    r"(?:install|add|download|run|wheel)\b"
    r"(?:[\"']\s+[\"']|[^\n;&|`)#])*(?<![\w/.-])gpuos(?![\w/.])"
)
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".pyi", ".cmake"}
TEXTS = (
    *SOURCE_SUFFIXES,
    *("", ".md", ".sh", ".txt", ".toml", ".yml", ".cff", ".ipynb", ".json"),
)
# Folders of builds, but no builder.h.
SKIPPED = re.compile(r"^\.|^(?:build|dist)(?:[-_]\w+)?$|egg-info$")


def sources(*suffixes: str) -> list[Path]:
    wanted = set(suffixes) or SOURCE_SUFFIXES
    found = []
    for folder, below, names in os.walk(ROOT):
        here = Path(folder)
        # A virtual environment may have any name.
        below[:] = [
            name
            for name in below
            if not SKIPPED.match(name)
            and not (here / name / "pyvenv.cfg").exists()
        ]
        paths = (here / name for name in names if not SKIPPED.match(name))
        found += [path for path in paths if path.suffix in wanted]
    return sorted(found)


def folder_of(path: Path) -> str:
    """Return the folder whose README covers a file; empty: none."""
    if path.parent == ROOT:
        return ""
    folder = name_of(path.parent)
    for above in WITH_FOLDERS:
        if folder.startswith(above + "/"):
            return above
    return folder


def readme_of(folder: str) -> Path:
    # The first page of docs/ is what its README would be.
    name = "index.md" if folder == "docs" else "README.md"
    return ROOT / folder / name


def said_in(readme: Path) -> list[str]:
    """Return the texts after "Here" and "Not here" of a README."""
    text = readme.read_text() if readme.exists() else ""
    found = []
    for word in ("Here", "Not here"):
        said = re.search(
            rf"^{word}: (.*?)(?=\n\n|\nNot here: |\Z)",
            text,
            re.MULTILINE | re.DOTALL,
        )
        found.append(" ".join(said[1].split()) if said else "")
    return found


def rows_of(path: Path) -> list[str]:
    """Return the rows of a README's table that name a file.

    A name without its suffix stands for a header and its source.
    """
    folder = folder_of(path)
    own = path.relative_to(ROOT / folder)
    names = {own.as_posix(), own.name, own.with_suffix("").as_posix(), own.stem}
    readme = readme_of(folder)
    rows = readme.read_text().splitlines() if readme.exists() else []
    return [
        row
        for row in rows
        if row.startswith("|") and names & set(re.findall(r"`([^`]+)`", row))
    ]


def pages() -> list[Path]:
    return sources(".md")


def rule_for(name: str) -> str | None:
    folders = [f for f in ALLOWED if name.startswith(f + "/")]
    return ALLOWED[max(folders, key=len)] if folders else None


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_layers_name_only_what_is_below() -> None:
    wrong = []
    known: list[str] = []
    for name, below in LAYERS.items():
        wrong += [f"{name}: {b}" for b in below.split() if b not in known]
        known.append(name)
    assert not wrong, "not below:\n" + "\n".join(wrong)
    folders = {p.name for p in (ROOT / "cpp").iterdir() if p.is_dir()}
    assert folders == set(known), folders ^ set(known)


def test_cpp_has_no_loose_files() -> None:
    loose = [p.name for p in (ROOT / "cpp").iterdir() if p.is_file()]
    assert sorted(loose) == ["CMakeLists.txt", "README.md"], loose
    said = (ROOT / "cpp" / "README.md").read_text()
    missing = [name for name in LAYERS if f"[{name}](" not in said]
    assert not missing, missing
    texts = {".md", ".txt", ".json", ".toml", ".yml", ".cff", ""}
    others = [
        p.name
        for p in ROOT.iterdir()
        if p.suffix not in texts
        or not p.name[0].isalpha()
        or (p.is_file() and b"\0" in p.read_bytes())
    ]
    others = [name for name in others if not SKIPPED.search(name)]
    assert not others, f"what is no text: {others}"


def test_each_readme_describes_its_folder() -> None:
    files = [*sources(), *pages(), *ROOT.glob("*/CMakeLists.txt")]
    folders = {folder_of(path) for path in files} - {""}
    missing = [
        f"{name_of(readme_of(folder))}: no '{word}:'"
        for folder in sorted(folders)
        for word, said in zip(
            ("Here", "Not here"), said_in(readme_of(folder)), strict=True
        )
        if not said
    ]
    assert not missing, "\n".join(missing)


def test_links_of_pages_lead_to_files() -> None:
    wrong = [
        f"{name_of(page)}: {link}"
        for page in pages()
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert not wrong, "\n".join(wrong)


def test_no_text_installs_a_foreign_package() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search('^name = "gpuos-runtime"', project, re.MULTILINE)
    for text in ("[cuda]", "-torch", "==0.1.1"):
        assert FOREIGN.search("gpuos" + text), text
    for text in (
        *("pip install {}", "pip install -U '{}'", "uv add numpy {}"),
        '"; pip install "\n       "{}"',
    ):
        assert FOREIGN.search(text.format("gpuos")), text
        assert FOREIGN.search(text.format("gpuos-runtime")), text
    wrong = []
    for path in sources(*TEXTS):
        text = path.read_text(encoding="utf-8", errors="replace")
        for found in FOREIGN.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            wrong.append(f"{name_of(path)}:{line}: {found[0]}")
    assert not wrong, "no package index has ours:\n" + "\n".join(wrong)


def test_every_page_stands_in_the_menu_of_the_site() -> None:
    menu = set(re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert pages <= menu, f"not in mkdocs.yml: {sorted(pages - menu)}"


def test_lines_of_pages_are_short_enough_to_read() -> None:
    long = []
    for page in pages():
        is_code = False
        text = page.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            # Tables and code have lines of their own.
            if is_code or line.startswith(("|", "    ")):
                continue
            # So has a link, which has no place to break.
            if len(line) > COLUMNS and max(map(len, line.split())) < 80:
                long.append(f"{name_of(page)}:{number}: {len(line)} columns")
    assert not long, f"more than {COLUMNS}:\n" + "\n".join(long)


def test_the_kept_worker_is_of_these_sources() -> None:
    """gpuos_digest_worker() of cmake/GpuosWorker.cmake has the same digest."""
    cmake = (ROOT / "cmake/GpuosWorker.cmake").read_text("utf-8")
    found = re.search(r"set\(GPUOS_NVCC_OPTIONS (.*)\)", cmake)
    assert found, "GpuosWorker.cmake: expected GPUOS_NVCC_OPTIONS"
    device = [
        p
        for p in (ROOT / "cpp/device").rglob("*")
        if p.suffix in SOURCE_SUFFIXES
    ]
    public = [ROOT / "include/gpuos/dtype_list.h"]
    public.append(ROOT / "include/gpuos/vocabulary.h")
    texts = [path.read_bytes() for path in sorted(device + public, key=str)]
    hashes = [hashlib.sha256(text).hexdigest() for text in texts]
    digest = hashlib.sha256(";".join(found[1].split() + hashes).encode())
    kept = (ROOT / "cmake/worker/sources.sha256").read_text("utf-8").strip()
    assert kept == digest.hexdigest(), (
        "cmake/worker: expected the worker of today's cpp/device, got an older "
        "one; build the target keep_worker (cmake/worker/README.md)"
    )


def test_includes_follow_the_table() -> None:
    wrong = []
    for path in sources(".h", ".cpp", ".cu", ".cuh"):
        name = name_of(path)
        rule = rule_for(name)
        for kind, header in INCLUDE.findall(path.read_text()):
            if rule and kind == '"' and not re.fullmatch(rule, header):
                wrong.append(f'{name}: "{header}"')
            if CUDA_HEADER.match(header) and kind == "<":
                wrong.append(f"{name}: <{header}>")
            if name.startswith("cpp/device/") and kind == "<":
                wrong.append(f"{name}: <{header}>")
    assert not wrong, "includes that the layout forbids:\n" + "\n".join(wrong)


def test_a_word_of_the_glossary_has_one_meaning() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    words = re.findall(r"\*\*([^*]+)\*\*", text)
    twice = {word for word in words if words.count(word) > 1}
    assert words
    assert not twice, twice


def test_type_names_are_unique() -> None:
    files: dict[str, set[str]] = {}
    for path in sources(".h"):
        name = name_of(path)
        # Compiled programs include the headers of the host or of a GPU.
        name = re.sub("^(cpp/device/compiled)/.*", r"\1", name)
        if not name.startswith(("tests/", "examples/")):
            for type_name in TYPE.findall(path.read_text()):
                files.setdefault(type_name, set()).add(name)
    # Python's Array is a view of the C++ Array.
    files["Array"].discard("python/bindings/arrays/array.h")
    twice = {name: where for name, where in files.items() if len(where) > 1}
    assert not twice, f"another type has this name: {twice}"


def test_no_file_is_longer_than_its_budget() -> None:
    long = []
    for path in sources():
        lines = len(path.read_text().splitlines())
        # The stub of one extension module cannot be divided.
        if lines > HARD_LIMIT and path.suffix != ".pyi":
            long.append(f"{name_of(path)}: {lines} lines")
    assert not long, f"over {HARD_LIMIT} lines:\n" + "\n".join(long)


def test_no_file_has_marks_of_a_conflict() -> None:
    marks = re.compile(r"(?m)^(?:<{7}|>{7}) ")
    found = [
        p
        for p in sources(*SOURCE_SUFFIXES, ".md")
        if marks.search(p.read_text())
    ]
    assert not found, found


def test_no_folder_has_more_files_than_a_reader_surveys() -> None:
    counts = Counter(name_of(path.parent) for path in sources())
    full = []
    for folder, count in counts.items():
        most = [n for f, n in MOST_FILES.items() if folder.startswith(f)]
        if count > min(most, default=40):
            full.append(f"{folder}: {count} source files")
    assert not full, full


def test_each_readme_names_its_files_by_job() -> None:
    missing = [
        name_of(path)
        for path in sources()
        if folder_of(path) and not rows_of(path)
    ]
    assert not missing, "in no table:\n" + "\n".join(missing)


def test_a_short_header_has_several_users() -> None:
    """A header that one other file includes belongs to that file."""
    users: dict[str, set[str]] = {}
    for path in sources(".h", ".cpp", ".cu"):
        for _, header in INCLUDE.findall(path.read_text()):
            users.setdefault(header, set()).add(name_of(path))
    short = []
    for path in sources(".h"):
        name = name_of(path)
        lines = len(path.read_text().splitlines())
        if not name.startswith(("cpp/", "python/")) or lines >= 40:
            continue
        parts = Path(name).parts
        ways = ["/".join(parts[at:]) for at in range(len(parts))]
        found = set().union(*(users.get(way, set()) for way in ways))
        found.discard(name_of(path.with_suffix(".cpp")))
        if len(found) == 1:
            short.append(f"{name}: {lines} lines for {found.pop()}")
    assert not short, "\n".join(short)


def _imports(path: Path, package: str) -> set[str]:
    """Return the modules of a package that a module imports, anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            found |= {f"{package}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        # importlib.import_module() takes a text.
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def test_modules_for_torch_import_each_other_in_one_direction() -> None:
    package = "gpuos.torch"
    left = {
        f"{package}.{path.stem}": _imports(path, package)
        for path in (ROOT / "python/gpuos/torch").glob("*.py")
        if path.stem != "__init__"
    }
    while leaves := [n for n in left if not left[n] & (left.keys() - {n})]:
        for name in leaves:
            del left[name]
    circle = {name: left[name] & left.keys() for name in left}
    assert not circle, f"expected imports without a circle, got {circle}"


def test_the_readme_of_the_bridge_names_its_files() -> None:
    bridge = ROOT / "python/gpuos/torch/bridge"
    files = {path.stem for path in bridge.glob("*/*.[ch]*")}
    named = re.findall(r"`(\w+)(?:\.h)?`", (bridge / "README.md").read_text())
    assert files, "expected sources in folders of the bridge"
    assert not files - set(named), sorted(files - set(named))


def test_sources_are_ascii() -> None:
    wrong = [name_of(p) for p in sources() if not p.read_bytes().isascii()]
    assert not wrong, "not ASCII:\n" + "\n".join(wrong)


def test_a_machine_without_torch_can_collect_the_tests() -> None:
    # scripts/test installs PyTorch only with --torch.
    needs = re.compile(r"(?m)^(?:import|from) (?:gpuos\.)?torch\b")
    texts = {
        p.stem: p.read_text() for p in (ROOT / "tests/python").rglob("*.py")
    }
    skips = "|".join(n for n, t in texts.items() if 'importorskip("torch' in t)
    skip = re.compile(
        rf"(?m)^.*importorskip\(\"torch|^(?:import|from) ({skips})\b"
    )
    for name, text in texts.items():
        if name.startswith("test_") and (first := needs.search(text)):
            found = skip.search(text)
            skipped = found.start() if found else len(text)
            assert skipped < first.start(), f"{name}: importorskip first"


def test_modules_of_tests_have_unique_names() -> None:
    # pytest puts the folders of all tests on the path for modules.
    names = [
        path.stem
        for folder in ("tests/python", "tests/fuzz")
        for path in (ROOT / folder).rglob("*.py")
    ]
    taken = set(names) & sys.stdlib_module_names
    assert not taken, f"modules of Python: {taken}"
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, twice


def test_started_programs_keep_the_python_path() -> None:
    # A gpuos in the PYTHONPATH is lost if a folder replaces it.
    replaced = re.compile(r"PYTHONPATH\W*(=|:|,)\s*(str|f?[\"'])\b")
    wrong = [
        name_of(path)
        for path in sources(".py")
        if name_of(path).startswith("tests/python/")
        and replaced.search(path.read_text())
    ]
    assert not wrong, "expected python_path():\n" + "\n".join(wrong)


def test_library_never_prints_or_ends_the_process() -> None:
    wrong = []
    for path in sources(".h", ".cpp", ".cu"):
        name = name_of(path)
        if not name.startswith(("cpp/", "include/", "python/bindings/")):
            continue
        code = COMMENT_OR_TEXT.sub("", path.read_text())
        wrong += [f"{name}: {m}" for m in NEVER_IN_LIBRARY.findall(code)]
    assert not wrong, "prints or exits:\n" + "\n".join(wrong)


def test_every_source_is_in_its_build_list() -> None:
    # Folder of sources: the list that must name each of them.
    lists = {
        "benchmarks": "benchmarks/CMakeLists.txt",
        "cpp": "cpp/CMakeLists.txt",
        "examples/cpp": "examples/cpp/CMakeLists.txt",
        "python/bindings": "python/CMakeLists.txt",
        "tests/cpp": "tests/CMakeLists.txt",
        "tests/fuzz/bytes": "tests/fuzz/bytes/CMakeLists.txt",
        "tests/simulator": "tests/simulator/CMakeLists.txt",
    }
    wrong = []
    for folder, build_list in lists.items():
        words = set(re.split(r"[\s()\"]+", (ROOT / build_list).read_text()))
        for path in sources(".cpp", ".cu", ".h"):
            name = name_of(path)
            is_listed_kind = path.suffix != ".h" or (
                name.startswith("cpp/device/")
            )
            if name.startswith(folder + "/") and is_listed_kind:
                names = {
                    path.name,
                    path.stem,
                    path.parent.name + "/" + path.name,
                    path.relative_to(ROOT / folder).as_posix(),
                }
                if not names & words:
                    wrong.append(f"{name}: not in {build_list}")
    assert not wrong, "\n".join(wrong)


def main() -> int:
    failed = 0
    for name, check in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            check()
        except AssertionError as error:
            failed += 1
            sys.stderr.write(f"{name}: {error}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
