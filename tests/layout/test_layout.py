"""Who may include whom, how long a file may be, what the library never does.

Runs with pytest or alone; reads files only.
"""

from __future__ import annotations

import re
import sys
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
# The folders of cpp/ from the bottom to the top, and whose headers each may
# include besides its own and the public ones. cpp/README.md says what they are.
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
    "host": "base queue device modules program",
    "cuda": "base driver queue device jit modules",
    "runtime": "base driver queue jit operators program expression host cuda",
    "requests": "base queue program runtime",
    "session": "base driver jit modules",
}


def _layer(name: str, below: str) -> str:
    folders = "|".join([name, *below.split()])
    return rf"{PUBLIC}|(?:{folders})/.*\.(?:h|cu)"


# Folder: the quoted includes that it may use. The innermost one counts.
ALLOWED = {
    **{f"cpp/{name}": _layer(name, below) for name, below in LAYERS.items()},
    # NVRTC and the host's compiler find them by their bare names.
    "cpp/device": r"[a-z0-9_]+\.(?:h|cuh)|gpuos/vocabulary\.h",
    "include/gpuos": PUBLIC,
    "benchmarks": rf"{PUBLIC}|[a-z0-9_]+\.h|driver/.*\.h",
    "python/bindings": rf"{PUBLIC}|[a-z0-9_]+\.h",
    "python/gpuos/torch/bridge": rf"{PUBLIC}|[a-z0-9_]+\.h",
    "examples": rf"{PUBLIC}|[a-z0-9_]+\.h",
    "tests/install": PUBLIC,
    "tests/simulator": r"[a-z_]+\.h|driver/.*\.h|device/[a-z0-9_]+\.h",
}
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".pyi", ".cmake"}
SKIPPED = re.compile(r"^(?:build|dist|\.|.*egg-info)")


def sources(*suffixes: str) -> list[Path]:
    wanted = set(suffixes) or SOURCE_SUFFIXES
    found = []
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.suffix in wanted and not any(SKIPPED.match(p) for p in parts):
            found.append(path)
    return sorted(found)


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


def test_nothing_lies_loose() -> None:
    loose = [p.name for p in (ROOT / "cpp").iterdir() if p.is_file()]
    assert sorted(loose) == ["CMakeLists.txt", "README.md"], loose
    said = (ROOT / "cpp" / "README.md").read_text()
    missing = [name for name in LAYERS if f"[{name}](" not in said]
    missing += [
        name
        for name in LAYERS
        if not (ROOT / "cpp" / name / "README.md").exists()
    ]
    assert not missing, missing


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


def test_no_file_is_longer_than_its_budget() -> None:
    long = []
    for path in sources():
        lines = len(path.read_text().splitlines())
        # The stub of one extension module cannot be divided.
        if lines > HARD_LIMIT and path.suffix != ".pyi":
            long.append(f"{name_of(path)}: {lines} lines")
    assert not long, f"over {HARD_LIMIT} lines:\n" + "\n".join(long)


def test_sources_are_ascii() -> None:
    wrong = [name_of(p) for p in sources() if not p.read_bytes().isascii()]
    assert not wrong, "not ASCII:\n" + "\n".join(wrong)


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
        "tests/simulator": "tests/simulator/CMakeLists.txt",
    }
    wrong = []
    for folder, build_list in lists.items():
        words = set(re.split(r"[\s()\"]+", (ROOT / build_list).read_text()))
        for path in sources(".cpp", ".cu", ".h"):
            name = name_of(path)
            is_listed_kind = path.suffix != ".h" or "/device/" in name
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
