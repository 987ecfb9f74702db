"""JitModule.replace(), and handles that follow a session.

tests/cpp/modules/replaced_modules_test.cpp compares random steps with a model.
"""

import ctypes
import threading
from pathlib import Path

import numpy as np
import pytest
from deadlines import COMPILE_S
from jit_support import or_skip

import gpuos

SIMULATOR = Path(__file__).parents[3] / "build/test/tests/simulator"
KERNEL = 'extern "C" __global__ void k(int* x) { *x = N; }'


def compiled(source: str = KERNEL, **keywords) -> gpuos.JitModule:
    options = keywords.pop(
        "options", gpuos.JitOptions(arch="sm_90", defines={"N": 1})
    )
    return or_skip(gpuos.JitModule, source, options=options, **keywords)


# ------------------------------------------------------- without a GPU


def test_a_source_is_replaced_before_anything_is_loaded():
    module = compiled()
    before = module.image
    assert module.version == 1
    assert module.replace(KERNEL.replace("N", "N + 1")) == 2
    assert module.version == 2
    assert module.image != before
    assert module.replace(KERNEL) == 3
    assert module.image == before


def test_refused_replacements_change_nothing():
    module = compiled()
    before = module.image, module.log, module.arch
    for source, keywords, error, text in [
        ("nonsense", {}, gpuos.CompileError, "module.cu"),
        (KERNEL, {"options": ["-std=c++98"]}, gpuos.InvalidArgument, "std"),
        (KERNEL, {"options": ["-arch=sm_90"]}, gpuos.CompileError, "N"),
        (KERNEL, {"name_expressions": ["no"]}, gpuos.CompileError, "'no'"),
        (KERNEL, {"name_expressions": "k"}, TypeError, "got str"),
        (KERNEL, {"keep": "v"}, TypeError, "keep"),
        (KERNEL, {"headers": [1]}, TypeError, "headers"),
        (b"", {}, TypeError, "bytes"),
    ]:
        with pytest.raises(error, match=text):
            module.replace(source, **keywords)
        assert (module.version, module.image) == (1, before[0])
        assert (module.log, module.arch) == before[1:]


def test_each_argument_replaces_what_the_module_was_made_with():
    module = compiled(
        '#include "two.h"\n' + KERNEL, headers={"two.h": "#define TWO 2"}
    )
    uses = '#include "two.h"\nextern "C" __global__ void k(int* x) { *x = %s; }'
    assert module.replace(uses % "TWO + N") == 2
    assert module.replace(uses % "THREE", headers={"two.h": "#define THREE 3"})
    with pytest.raises(gpuos.CompileError, match="TWO"):
        module.replace(uses % "TWO")
    assert module.replace(uses % "3", options=["-arch=compute_90"]) == 4
    assert module.arch == "compute_90"
    assert module.version == 4


# ------------------------------------------------- on a simulated device


@pytest.fixture
def run_simulated(printed_by):
    if not (SIMULATOR / "libcuda.so.1").exists():
        pytest.skip("no simulated device: scripts/test builds it")
    compiled()  # or skip

    def run(code: str) -> str:
        return printed_by(code, LD_LIBRARY_PATH=str(SIMULATOR))

    return run


KEPT = """
import gpuos
import numpy as np
text = "__device__ int v = 1; __global__ void k(int* x) { *x = v; }"
module = gpuos.JitModule(text, ["&v"])
module.write("v", np.int32([7]))
print(module.replace(text + " ", keep=["v"]), module.read("v", "int32"))
print(module.replace(text), module.read("v", "int32"))
"""


def test_variables_are_kept_on_request(run_simulated):
    assert run_simulated(KEPT) == "2 [7]\n3 [1]\n"


FOLLOWED = """
import gpuos
session = gpuos.Session()
session.run("__global__ void k(int* x) { *x = 1; }")
kept, newest = session["k"], session.kernel("k", follow=True)
session.run("__global__ void k(int* x, int n) { *x = n; }")
kept.launch(1, 1, (None,))
try:
    newest.launch(1, 1, (None,))
except gpuos.InvalidArgument as error:
    print(error)
session.undo()
newest.launch(1, 1, (None,))
print(newest, newest.parameter_bytes, newest.attributes.max_threads)
del session
newest.launch(1, 1, (None,))
"""


def test_handles_follow_a_session(run_simulated):
    or_skip(gpuos.Session)
    refused, shown = run_simulated(FOLLOWED).splitlines()
    assert refused.startswith("k: expected the parameters (int*: 8 bytes)")
    assert shown == "gpuos.Kernel('k') [8] 64"


# ----------------------------------------------------------- on a GPU


class Driver:
    """Makes streams and counts free memory, without a library that does."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxSetCurrent", context)

    def _call(self, name: str, *arguments: object) -> None:
        assert getattr(self._library, name)(*arguments) == 0, name

    def stream(self) -> int:
        handle = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(handle), 1)  # non-blocking
        return handle.value or 0

    def free_bytes(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value


WIDE = """
__device__ char much[1 << 20];  // so that a module which stays is seen
extern "C" __global__ void fill(int* out) {{
  out[blockIdx.x * blockDim.x + threadIdx.x] = {code};
}}
extern "C" __global__ void fill_again(int* out) {{
  out[blockIdx.x * blockDim.x + threadIdx.x] = {code};
}}
"""
SOURCES = [WIDE.format(code=code) for code in range(8)]
BLOCKS, THREADS = 64, 256


def launch_until(done, module, stream, out, wrong):
    kernels = [module["fill"], module["fill_again"]]
    launches = 0
    while not done.is_set() or launches == 0:
        kernel = kernels[launches % 2]
        kernel.launch(BLOCKS, THREADS, (out,), stream=stream)
        gpuos.synchronize(stream)
        values = set(out.numpy().tolist())
        if len(values) != 1 or not values <= set(range(8)):
            wrong.append(values)
        launches += 1


# The driver counts what every process has on the GPU.
@pytest.mark.alone
def test_a_thousand_replacements_under_launches(cuda):
    compiled()  # or skip
    driver = Driver()
    module = gpuos.JitModule(SOURCES[0], name="thousand.cu")
    done, wrong = threading.Event(), []
    threads = [
        threading.Thread(
            target=launch_until,
            args=(
                done,
                module,
                stream,
                cuda.array(np.full(BLOCKS * THREADS, 3, np.int32)),
                wrong,
            ),
        )
        for stream in (None, driver.stream())
    ]
    for thread in threads:
        thread.start()
    free = 0
    for i in range(1, 1001):
        assert module.replace(SOURCES[i % 8]) == i + 1
        if i == 200:
            free = driver.free_bytes()
    taken = free - driver.free_bytes()
    done.set()
    for thread in threads:
        thread.join(COMPILE_S)
        assert not thread.is_alive()
    assert wrong == []
    # 800 modules have gone; some wait for an event, as the last ones did then.
    assert taken < 64 << 20
    assert len([m for m in gpuos.modules() if m.name == "thousand.cu"]) == 1


def test_a_followed_kernel_runs_the_newest(cuda):
    session = cuda.session()
    out = cuda.array(np.zeros(1, np.int32))

    def define(code: int) -> None:
        session.run(f"__global__ void k(int* x) {{ *x = {code}; }}")

    or_skip(define, 1)
    kept, newest = session["k"], session.kernel("k", follow=True)

    def told(kernel: gpuos.Kernel) -> int:
        kernel.launch(1, 1, (out,))
        return int(out.numpy()[0])

    for code in range(2, 6):
        define(code)
        assert (told(kept), told(newest)) == (1, code)
    for code in (4, 3, 2):
        session.undo()
        assert (told(kept), told(newest)) == (1, code)
