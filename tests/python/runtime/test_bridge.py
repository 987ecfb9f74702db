import ctypes
import gc
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gpuos
from gpuos import _core

FAILED = 2
SOURCE = r"""
#include <gpuos/bridge.h>

extern "C" int add(void* bridge, float* x, float* out, long elems,
                   char* error) {
  const auto& [table, runtime] = *static_cast<gpuos::Bridge*>(bridge);
  if (table->version != gpuos::kBridgeVersion) return 10;
  void* runner = table->create(runtime, error, 200);
  if (runner == nullptr) return 11;
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
  auto done = table->run(runner, &request, 1, nullptr, 0, {}, nullptr, false,
                         true, error, 200);
  if (done == gpuos::BridgeResult::Done)
    done = table->synchronize(runner, 30'000'000'000, error, 200);
  if (done == gpuos::BridgeResult::Done && table->stats(runner).tasks != 1)
    return 12;
  table->destroy(runner);
  return static_cast<int>(done);
}
"""


def pointer_of(capsule) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, b"gpuos.bridge")


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


def test_a_library_that_links_nothing_runs_requests(library):
    with gpuos.Runtime(backend="host") as rt:
        assert run_add(library, _core._bridge(rt)) == 0


def test_failures_are_returned_as_text(library):
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
        assert result == FAILED
        assert b"multiple" in error.value


def test_the_capsule_keeps_its_runtime(library):
    capsule = _core._bridge(gpuos.Runtime(backend="host"))
    gc.collect()
    assert run_add(library, capsule) == 0


def test_only_runtimes_have_a_bridge():
    with pytest.raises(TypeError):
        _core._bridge(None)
