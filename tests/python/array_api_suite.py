"""The array API standard's own test suite, run on gpuos.array_api.

    python tests/python/array_api_suite.py SUITE [--examples N] [--random]

SUITE is a checkout of github.com/data-apis/array-api-tests. It prints the number
of passing tests, without those of names and signatures, and the differences from
array_api_missing.txt, which has the reasons of failures. It needs
pytest-json-report and ndindex. The suite's own pytest also loads this file, as a
plugin.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from deadlines import COMPILE_S
from program_support import python_path

HERE = Path(__file__).parent
MISSING = HERE / "array_api_missing.txt"
NEEDED = ("hypothesis", "ndindex", "pytest_jsonreport")
AT_TIMES = "# At times"
ASIDE = ("test_has_names.py", "test_signatures.py")
_OUTCOMES = "GPUOS_ARRAY_API_OUTCOMES"  # the file that the plugin writes


def find():
    """Return the suite's folder, or None if it or a requirement is missing."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        return None
    default = HERE.parents[2] / "shared" / "suites" / "array-api-tests"
    folder = Path(os.environ.get("GPUOS_ARRAY_API_TESTS", default))
    return folder if (folder / "array_api_tests").is_dir() else None


def missing():
    """Return the tests that fail always, and those that fail at times."""
    always, at_times = set(), set()
    known = always
    for line in MISSING.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            known = at_times if line.startswith(AT_TIMES) else always
        elif line:
            known.add(line)
    return always, at_times


def run(folder, outcomes, examples, is_random=False):
    """Run the suite; return the outcome of each test, and its output."""
    files = sorted(
        f"array_api_tests/{path.name}"
        for path in (folder / "array_api_tests").glob("test_*.py")
        if path.name not in ASIDE
    )
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short"]
    command += ["-p", "no:cacheprovider", "-p", Path(__file__).stem]
    command += [f"--max-examples={examples}", "--disable-deadline"]
    command += [] if is_random else ["--derandomize"]
    ended = subprocess.run(
        [*command, *files],
        cwd=folder,
        env={
            **os.environ,
            "ARRAY_API_TESTS_MODULE": "gpuos.array_api",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": python_path(HERE),
            _OUTCOMES: str(outcomes),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=COMPILE_S * max(1, examples // 20),
    )
    if ended.returncode not in (0, 1):  # 1: tests failed
        raise RuntimeError(ended.stdout[-5000:])
    lines = outcomes.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return {name: outcome for outcome, name in pairs}, ended.stdout


def differences(results):
    """Return a line for each test that does what the list does not say."""
    found = {name for name, outcome in results.items() if outcome == "failed"}
    always, at_times = missing()
    return [
        *(f"fails: {name}" for name in sorted(found - always - at_times)),
        *(f"does not fail: {name}" for name in sorted(always - found)),
    ]


# ---- Hooks of the suite's pytest.


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        with Path(os.environ[_OUTCOMES]).open("a", encoding="utf-8") as file:
            file.write(f"{report.outcome} {report.nodeid}\n")


def _do_not_shrink():
    """Failures are expected: the first example is as good as the smallest."""
    from hypothesis import Phase, settings  # noqa: PLC0415

    settings.register_profile(
        "gpuos", phases=[Phase.explicit, Phase.generate], database=None
    )
    settings.load_profile("gpuos")


if os.environ.get(_OUTCOMES):
    _do_not_shrink()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument(
        "--random", action="store_true", help="other examples in each run"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results, output = run(
            options.suite.resolve(),
            Path(folder) / "outcomes",
            options.examples,
            options.random,
        )
    print(output)
    print(dict(Counter(results.values())), "of", len(results))
    lines = differences(results)
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
