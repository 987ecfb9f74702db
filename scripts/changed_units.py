"""Print the given C++ units that changed since a commit.

Its call is `changed_units.py COMMIT UNIT...`. A unit changed if its file
changed, or a file of this project that it includes. All units changed if the
checks, the flags or a public header changed, or if this clone lacks the commit.
"""

import functools
import re
import subprocess
import sys
from pathlib import Path

ROOTS = ("cpp", "include", "python/bindings", "benchmarks")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
CONCERNS_ALL = re.compile(
    r"(\.clang-tidy|\.ci/constraints\.txt|scripts/lint|include/.*|cmake/.*"
    r"|((cpp|python|benchmarks)/)?CMakeLists\.txt)$"
)


def _git(*arguments: str) -> set[str] | None:
    done = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=False
    )
    return None if done.returncode else set(done.stdout.splitlines())


@functools.cache
def _includes(file: str) -> tuple[str, ...]:
    text = Path(file).read_text(encoding="utf-8")
    folders = (str(Path(file).parent), *ROOTS)
    places = [
        [f"{folder}/{name}" for folder in folders]
        for name in INCLUDE.findall(text)
    ]
    return tuple(
        path for paths in places for path in paths if Path(path).is_file()
    )


def _reaches(unit: str, changed: set[str]) -> bool:
    seen, ahead = {unit}, [unit]
    while ahead:
        file = ahead.pop()
        if file in changed:
            return True
        ahead += [name for name in _includes(file) if name not in seen]
        seen.update(ahead)
    return False


def main() -> None:
    commit, *units = sys.argv[1:]
    changed = _git("diff", "--name-only", commit, "--")
    changed_here = _git("ls-files", "--others", "--exclude-standard") or set()
    if changed is not None and not any(map(CONCERNS_ALL.match, changed)):
        changed |= changed_here
        units = [unit for unit in units if _reaches(unit, changed)]
    sys.stdout.writelines(f"{unit}\n" for unit in units)


if __name__ == "__main__":
    main()
