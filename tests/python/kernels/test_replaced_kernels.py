"""JitModule.replace(), and handles that follow a session.

tests/cpp/modules/replaced_modules_test.cpp compares random steps with a model.
"""

from pathlib import Path

import numpy as np
import pytest
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
