import ctypes
import gc
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gpuos
from gpuos import _core

SOURCE = r"""
#include <gpuos/gpuos.h>

#include <cstdio>

extern "C" int add(void* runtime, float* x, float* out, long elems,
                   char* error) {
  auto& on = *static_cast<gpuos::Runtime*>(runtime);
  gpuos::RequestRunner runner(on);
  gpuos::Request request;
  request.function = &gpuos::kRequestFunction<gpuos::Op::Add>;
  request.operands = 2;
  request.numbers = 2;
  request.elems = elems;
  request.out = out;
  request.out_owner = out;
  request.values[0] = reinterpret_cast<std::uint64_t>(x);
  request.owners[0] = x;
  double two = 2;
  __builtin_memcpy(&request.values[1], &two, 8);
  try {
    runner.run({&request, 1}, {});
    on.flush();
    return on.synchronize(std::chrono::seconds(30)) &&
           runner.stats().tasks == 1;
  } catch (const gpuos::InvalidArgument& failure) {
    std::snprintf(error, 200, "%s", failure.what());
    return 0;
  }
}
"""


def pointer_of(capsule) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, b"gpuos.runtime")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    headers = Path(gpuos.get_include())
    if not headers.is_dir():
        pytest.skip("gpuos was not installed from a wheel: no headers")
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("bridge")
    (folder / "bridge.cpp").write_text(SOURCE)
    subprocess.run(
        [
            *(compiler, "-std=c++20", "-shared", "-fPIC", "-Wall", "-Werror"),
            *(f"-I{headers}", "bridge.cpp", gpuos.get_library()),
            *("-o", "bridge.so"),
        ],
        cwd=folder,
        check=True,
    )
    return ctypes.CDLL(str(folder / "bridge.so"))


def run_add(library, capsule, elems=100):
    x = np.arange(elems, dtype="float32")
    out = np.zeros(elems, dtype="float32")
    error = ctypes.create_string_buffer(200)
    result = library.add(
        ctypes.c_void_p(pointer_of(capsule)),
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_void_p(out.ctypes.data),
        ctypes.c_long(elems),
        error,
    )
    assert (out == x + 2).all(), error.value
    return result


def test_a_library_catches_the_errors_of_gpuos(library):
    with gpuos.Runtime(backend="host") as rt:
        capsule = _core._bridge(rt)
        error = ctypes.create_string_buffer(200)
        result = library.add(
            ctypes.c_void_p(pointer_of(capsule)),
            ctypes.c_void_p(1),
            ctypes.c_void_p(3),
            ctypes.c_long(100),
            error,
        )
        assert not result
        assert b"multiple" in error.value


def test_the_capsule_keeps_its_runtime(library):
    capsule = _core._bridge(gpuos.Runtime(backend="host"))
    gc.collect()
    assert run_add(library, capsule)


def test_only_runtimes_have_a_bridge():
    with pytest.raises(TypeError):
        _core._bridge(None)
