"""Requirements of the build and the tests are bounded, and exact for CI."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"[\w.-]+")


def listed(*lists: str) -> list[str]:
    command = [sys.executable, str(ROOT / "scripts/requirements.py"), *lists]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize("requirement", listed("build"))
def test_the_build_takes_no_major_version_that_was_not_tried(requirement):
    assert re.search(r",<\d+$", requirement)


def test_ci_installs_known_versions():
    text = (ROOT / ".ci/constraints.txt").read_text()
    known = {line.split("==")[0] for line in text.splitlines()[1:]}
    lists = ["build", "run", "cuda", "cuda12", "dev"]
    lists += ["test", "test-array-api", "test-dask", "test-ray", "test-torch"]
    wanted = listed(*lists)
    names = {NAME.match(requirement)[0] for requirement in wanted}
    assert names - {name.replace("_", "-") for name in known} - known == set()
