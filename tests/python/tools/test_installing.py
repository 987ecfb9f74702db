"""An installation runs without other packages; checks of a release."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from building_support import is_copied
from program_support import captured, python

import gpuos

pytestmark = pytest.mark.host

ROOT = Path(__file__).resolve().parents[3]
# A wheel of this Python; else the package as it is installed.
WHAT = os.environ.get("GPUOS_TEST_WHEEL", "installed")
LOOK = """
import gpuos, os
assert not os.path.exists("/bin") and not os.path.exists("/proc")
print(*(f.what for f in gpuos.diagnose() if f.found))
with gpuos.Runtime() as rt:
    print(rt.backend, (rt.array([1.0, 2.0]) * 3).numpy())
    try:
        rt.define("f", source="GPUOS_OPERATOR(f) {}")
    except gpuos.BackendUnavailable as error:
        print(error)
"""


def in_empty_root(*words):
    done = python(ROOT / "scripts/in_empty_root.py", WHAT, *words)
    if done.returncode == 77:
        pytest.skip(done.stderr)
    return done


@pytest.mark.skipif(not is_copied(), reason="expected an installed gpuos")
class TestEmptyRoot:
    def test_the_demo_runs(self):
        done = in_empty_root("-m", "gpuos", "demo", "--seconds", "0.5")
        assert (done.returncode, done.stderr) == (0, "")
        assert re.search(r"^backend +host", done.stdout, re.MULTILINE)
        assert re.search("^right: ", done.stdout, re.MULTILINE)

    def test_missing_tools_are_reported(self):
        done = in_empty_root("-c", LOOK)
        assert (done.returncode, done.stderr) == (0, "")
        found, result, error = done.stdout.split("\n", 2)
        assert "compiler" not in found
        assert "nvrtc" not in found
        assert result == "host [3. 6.]"
        assert "compiler" in error


def test_the_command_is_the_module():
    command = Path(sys.executable).with_name("gpuos")
    if not command.exists():
        pytest.skip(f"gpuos is installed without {command}")
    done = captured(command, "--version", check=True)
    assert done.stdout == f"gpuos {gpuos.__version__}\n"
    usage = captured(command, "run", "--help", check=True)
    assert usage.stdout.startswith("usage: gpuos run ")


# Also what only the headers of another glibc, or a libstdc++ made with them, name.
WANTS_MUCH = """
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <random>
#include <spawn.h>
#include <thread>
extern "C" {
long __isoc23_strtol(const char*, char**, int);
long long __isoc23_strtoll(const char*, char**, int);
unsigned long __isoc23_strtoul(const char*, char**, int);
unsigned long long __isoc23_strtoull(const char*, char**, int);
}
extern "C" long g(const char* text) {
  char* end = nullptr;
  long sum = __isoc23_strtol(text, &end, 0);
  sum += static_cast<long>(__isoc23_strtoll(text, &end, 10));
  sum += static_cast<long>(__isoc23_strtoul(text, &end, 10));
  sum += static_cast<long>(__isoc23_strtoull(text, &end, 10));
  return sum + (end - text);
}
extern "C" int f(const char* path) {
  std::random_device random;
  std::condition_variable condition;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  condition.wait_for(lock, std::chrono::milliseconds(1));
  std::jthread thread([&] { std::cout << random() << std::flush; });
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  return std::filesystem::is_directory(path) + std::filesystem::exists(path);
}
"""


def test_modules_linked_with_the_stubs_need_old_libraries(tmp_path, printed_by):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if not compiler or not shutil.which("nm"):
        pytest.skip("no C++ compiler")
    source = tmp_path / "f.cpp"
    source.write_text(WANTS_MUCH)
    module = tmp_path / "f.so"
    stubs = captured(
        *(sys.executable, ROOT / "scripts/glibc_stubs.py"),
        tmp_path / "stubs",
        check=True,
    ).stdout.split()
    flags = ("-std=c++20", "-shared", "-fPIC", "-Wl,--exclude-libs,ALL")
    subprocess.run([compiler, *flags, *stubs, source, "-o", module], check=True)
    symbols = captured(
        "nm", "-D", "--undefined-only", module, check=True
    ).stdout
    newest = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
    for library, version in newest.items():
        found = re.findall(rf"@{library}_([\d.]+)", symbols)
        assert found
        assert max(tuple(map(int, x.split("."))) for x in found) <= version
    assert re.findall(r"^ +U [^@\n]+$", symbols, re.MULTILINE) == []
    printed_by(
        "import ctypes, os\n"
        "module = ctypes.CDLL(os.environ['MODULE'])\n"
        "f, g = module.f, module.g\n"
        "assert f(b'/') == 2 and f(b'/no such file') == 0\n"
        "assert g(b'-12.') == 4 * -12 + 3",
        MODULE=str(module),
    )


@pytest.fixture
def tree(tmp_path):
    """Make a checkout that is ready for a release."""
    for name in ("scripts", "python/gpuos"):
        shutil.copytree(
            ROOT / name,
            tmp_path / name,
            ignore=shutil.ignore_patterns("__pycache__", "*.so"),
        )
    target = tmp_path / "tests/python/public_names.txt"
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / "tests/python/public_names.txt", target)
    (tmp_path / "CMakeLists.txt").write_text(
        f"project(gpuos VERSION {gpuos.__version__} LANGUAGES CXX)\n"
    )
    (tmp_path / "CHANGELOG.md").write_text(
        f"# Changelog\n\n## [{gpuos.__version__}] - 2026-12-01\n\n## [0.0.1]\n"
    )
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(tree, *words):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@e", *words],
        cwd=tree,
        check=True,
    )


def commit(tree):
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "All")


def change(tree, name, old, new):
    path = tree / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def release(tree):
    done = captured(
        tree / "scripts/release",
        "--dry-run",
        variables={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert not (tree / "dist").exists()
    return done.returncode, done.stderr


def test_a_clean_tree_can_be_released(tree):
    assert release(tree) == (0, "")


@pytest.mark.parametrize(
    ("name", "old", "new", "word"),
    [
        ("CMakeLists.txt", gpuos.__version__, "9.8.7", "'## [9.8.7] - "),
        (
            "CMakeLists.txt",
            gpuos.__version__,
            "9.8",
            "such as 0.1.0, got '9.8'",
        ),
        ("CHANGELOG.md", " - 2026-12-01", "", "YYYY-MM-DD"),
        ("CHANGELOG.md", "## [0.0.1]", "", "1 changed files"),
        (
            "tests/python/public_names.txt",
            "gpuos.Alias.target\n",
            "gpuos.Alias.aim\n",
            "gpuos.Alias.aim",
        ),
    ],
)
def test_obstacles_to_a_release_are_named(tree, name, old, new, word):
    change(tree, name, old, new)
    if "changed" not in word:
        commit(tree)
    code, error = release(tree)
    assert code == 1
    assert word in error
    assert "nothing is built" in error


def test_a_version_is_released_once(tree):
    git(tree, "tag", f"v{gpuos.__version__}")
    code, error = release(tree)
    assert code == 1
    assert f"no tag v{gpuos.__version__}" in error


NAME = re.compile(r"[\w.-]+")


def listed(*lists: str) -> list[str]:
    command = [sys.executable, str(ROOT / "scripts/requirements.py"), *lists]
    done = captured(*command, check=True)
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
