"""libgpuos.so: what it exports, and that all users in a process share it."""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from deadlines import COMPILE_S

import gpuos

HEADERS = Path(gpuos.get_include())
LIBRARY = gpuos.get_library()
TYPE = re.compile(
    r"^(?:class|struct) (GPUOS_API )?(\w+)[^;]*?\{.*?^\};",
    re.MULTILINE | re.DOTALL,
)
MARKED = re.compile(r"\bGPUOS_API [^;={(]*?(\w+)\(")
UNMARKED = re.compile(
    r"^(?!GPUOS|inline|constexpr|template|static_assert)\w[^;={(\n]*?(\w+)\([^{]*?;",
    re.MULTILINE,
)
# Device code uses dtype.h, so their source marks these functions.
OF_DTYPES = {"name_of", "cpp_name_of", "package_of", "dtype_from_name"}
SOURCE = """
#include <gpuos/gpuos.h>

#define EXPORT extern "C" GPUOS_API

EXPORT unsigned number_of_runtime() {
  gpuos::Runtime runtime({.backend = "host", .workers = 1});
  float x = 1;
  const gpuos::Ticket ticket =
      runtime.submit("add", {{&x, 1}, {&x, 1}}, {&x, 1});
  return runtime.wait(ticket, std::chrono::minutes(5)) ? ticket.runtime : 0;
}

EXPORT bool catches() {
  try {
    gpuos::Runtime runtime({.backend = "nonsense"});
  } catch (const gpuos::InvalidArgument&) {
    return true;
  }
  return false;
}
"""

if not HEADERS.is_dir():
    pytest.skip("gpuos was not installed: no headers", allow_module_level=True)


def test_it_exports_what_the_headers_declare():
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    functions = {("", name) for name in OF_DTYPES}
    of_classes = {("Interrupt", "kPeriod")}
    for path in HEADERS.glob("gpuos/*.h"):
        text = re.sub("^#.*", "", path.read_text(), flags=re.MULTILINE)
        others = TYPE.sub("", text)
        functions |= {("", name) for name in MARKED.findall(others)}
        assert set(UNMARKED.findall(others)) <= OF_DTYPES, path
        for found in TYPE.finditer(text):
            body, is_marked, name = found[0], found[1], found[2]
            if is_marked:
                all_names = re.findall(r"(\w+)\(", body)
                of_classes |= {(name, each) for each in (*all_names, name, "")}
            else:
                functions |= {(name, each) for each in MARKED.findall(body)}
    nm = ("nm", "--dynamic", "--demangle", "--defined-only", LIBRARY)
    output = subprocess.run(nm, check=True, capture_output=True, text=True)
    # A type's name and table have no member's name.
    exported = {
        line: re.match(
            r"\w+ . (?:(?:typeinfo|typeinfo name|vtable) for )?gpuos::(?:dlpack::)?"
            r"(?:(?=[A-Z])(\w+)(?:::~?)?)?(\w*)",
            line,
        )
        for line in output.stdout.splitlines()
    }
    names = {
        line: found and (found[1] or "", found[2])
        for line, found in exported.items()
    }
    declared = functions | of_classes
    assert [line for line, name in names.items() if name not in declared] == []
    assert functions - set(names.values()) == set()
    assert ("Runtime", "Runtime") in names.values()


def test_two_extensions_and_python_share_one_state(tmp_path):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "extension.cpp").write_text(SOURCE)
    subprocess.run(
        [
            *(compiler, "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra"),
            *("-Werror", "-fvisibility=hidden", f"-I{HEADERS}"),
            *("extension.cpp", LIBRARY, "-o", "first.so"),
        ],
        cwd=tmp_path,
        check=True,
        timeout=COMPILE_S,
    )
    shutil.copy(tmp_path / "first.so", tmp_path / "second.so")
    first, second = (
        ctypes.CDLL(str(tmp_path / f"{name}.so"))
        for name in ("first", "second")
    )
    # Each runtime of a process has the next number.
    number = first.number_of_runtime()
    assert number > 0
    gpuos.Runtime("host", workers=1).close()
    assert second.number_of_runtime() == number + 2
    assert first.catches()
