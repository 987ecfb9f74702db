"""Print requirements of pyproject.toml: `requirements.py build cuda test`.

`build` is the build backend's list. `run` is the list of dependencies. Every
other word is an extra.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10 lacks it
    from pip._vendor import tomli as tomllib


def main() -> None:
    path = Path(__file__).resolve().parents[1] / "pyproject.toml"
    data = tomllib.loads(path.read_text())
    lists = dict(data["project"]["optional-dependencies"])
    lists["build"] = data["build-system"]["requires"]
    lists["run"] = data["project"]["dependencies"]
    for word in sys.argv[1:]:
        sys.stdout.writelines(f"{line}\n" for line in lists[word])


if __name__ == "__main__":
    main()
