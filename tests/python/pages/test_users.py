"""Five users come from an empty machine to their first right result in time."""

import importlib.metadata
import importlib.util
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from building_support import installed_files, is_copied

USERS = Path(__file__).parents[2] / "users"
MINUTES = {
    name: int(minutes)
    for minutes, name in re.findall(
        r"^\|.*\| (\d+) \| `(\w+)\.sh` \|$",
        (USERS / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
# Files that an installer adds to a wheel's.
ADDED = ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")


def pack(path):
    """Make a wheel of the package as it is installed, which compiles nothing."""
    files = installed_files()
    kept = [
        file
        for file in files
        if ".." not in file.parts
        and "__pycache__" not in file.parts
        and file.name not in ADDED
    ]
    (record,) = (file for file in files if file.name == "RECORD")
    with zipfile.ZipFile(path, "w") as archive:
        for file in kept:
            archive.write(file.locate(), str(file))
        lines = [f"{file},,\n" for file in [*kept, record]]
        archive.writestr(str(record), "".join(lines))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    given = os.environ.get("GPUOS_TEST_WHEEL", "installed")
    if given != "installed":
        return Path(given).resolve()
    if not is_copied():
        pytest.skip("expected an installed gpuos")
    version = importlib.metadata.version("gpuos-runtime")
    tag = re.search(
        r"^Tag: (\S+)",
        importlib.metadata.distribution("gpuos-runtime").read_text("WHEEL"),
        re.MULTILINE,
    )[1]
    path = (
        tmp_path_factory.mktemp("wheel") / f"gpuos_runtime-{version}-{tag}.whl"
    )
    pack(path)
    return path


def site_of(package):
    """The folder in which a package is; empty if there is none."""
    found = importlib.util.find_spec(package)
    return str(Path(found.origin).parents[1]) if found else ""


def test_each_script_has_its_minutes():
    scripts = {path.stem for path in USERS.glob("*.sh")} - {"common"}
    assert scripts == set(MINUTES)
    assert len(scripts) == 5


@pytest.mark.never(
    lambda name: (
        name == "library" and os.environ.get("GPUOS_TEST_USERS") != "all"
    ),
    reason="compiles the library: only with GPUOS_TEST_USERS=all",
)
@pytest.mark.parametrize("name", MINUTES)
def test_user_scripts_compute_the_expected_result(name, wheel, tmp_path):
    started = subprocess.Popen(
        [USERS / f"{name}.sh", wheel, tmp_path],
        env=os.environ
        | {
            "GPUOS_BACKEND": "host",
            "GPUOS_PYTHON": sys.executable,
            "GPUOS_TEST_SITE": site_of("torch"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = started.communicate(timeout=60 * MINUTES[name])
    finally:
        if started.poll() is None:  # with all that it has started
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
    if started.returncode == 77:
        pytest.skip(errors.splitlines()[-1])
    assert started.returncode == 0, output + errors
    assert output.splitlines()[-1].startswith("right: ")
