"""Launches in every form; images that were compiled before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from jit_support import or_skip

import gpuos

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = """
template <typename T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__device__ int counter = 5;
__constant__ float table[4];
extern "C" __global__ void read_all(float* out) {
  out[threadIdx.x] = table[threadIdx.x] + counter;
}
extern "C" __global__ void sizes(int* out) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x + blockIdx.x == 0) {
    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = blockDim.x;
    out[3] = shared[blockDim.x - 1];
  }
}
"""
NAMES = ["scale<float>", "&counter", "&table"]
SIMULATOR = Path(__file__).parents[3] / "build/test/tests/simulator"


def compiled(arch: str = "", **keywords: Any) -> gpuos.JitModule:
    options = gpuos.JitOptions(arch=arch)
    return or_skip(gpuos.JitModule, SOURCE, NAMES, options=options, **keywords)


@pytest.fixture(params=["source", "image", "path"])
def module(request, cuda, tmp_path) -> gpuos.JitModule:  # noqa: ARG001
    """Make the same kernels in each way."""
    made = compiled()
    if request.param == "image":
        return gpuos.JitModule(image=made.image)
    if request.param == "path":
        path = tmp_path / "kernels.cubin"
        path.write_bytes(made.image)
        return gpuos.JitModule(path=path)
    return made


LAUNCHES: dict[str, Callable[..., None]] = {
    "launch": lambda k, grid, block, args, shared=0: k.launch(
        grid, block, args, shared
    ),
    "call": lambda k, grid, block, args, shared=0: k(
        grid, block, args, shared_mem=shared
    ),
    "brackets": lambda k, grid, block, args, shared=0: k[
        grid, block, None, shared
    ](*args),
}


@pytest.fixture(params=LAUNCHES)
def launch(request) -> Callable[..., None]:
    return LAUNCHES[request.param]


def test_forms_of_launching_do_the_same(module, launch, cuda):
    x = cuda.array(np.arange(5, dtype=np.float32))
    launch(module["scale<float>"], 1, 32, (x, 2, 3))
    assert x.numpy().tolist() == [0, 2, 4, 3, 4]
    out = cuda.array(np.zeros(4, np.int32))
    launch(module["sizes"], (3, 2), (64, 1, 1), (out,), 256)
    assert out.numpy().tolist() == [3, 2, 64, 63]


def test_a_launch_in_brackets_is_used_again(module, cuda):
    x = cuda.array(np.ones(4, np.float32))
    doubled = module["scale<float>"][1, 32]
    assert repr(doubled) == (
        "gpuos.KernelLaunch('scale<float>', grid (1, 1, 1), block (32, 1, 1))"
    )
    for _ in range(3):
        doubled(x, 2, 4)
    assert x.numpy().tolist() == [8] * 4
    with pytest.raises(gpuos.InvalidArgument, match=r"expected \[grid, block"):
        module["scale<float>"][1]


def test_variables_are_read_and_written(module, cuda):
    assert module.read("counter", "int32").tolist() == [5]
    module.write("counter", np.int32([7]))
    module.write("table", np.float32([1, 2, 3, 4]))
    out = cuda.array(np.zeros(4, np.float32))
    module["read_all"](1, 4, (out,))
    assert out.numpy().tolist() == [8, 9, 10, 11]
    assert module.read("table", "f4").tolist() == [1, 2, 3, 4]
    assert module.read("counter", "i4").tolist() == [7]
    with pytest.raises(gpuos.InvalidArgument, match="expected 16 bytes, got 4"):
        module.write("table", np.float32([1]))


def test_an_image_for_another_device_says_so(cuda):  # noqa: ARG001
    other = "sm_75" if compiled().arch != "sm_75" else "sm_90"
    module = gpuos.JitModule(image=compiled(arch=other).image)
    with pytest.raises(gpuos.InvalidArgument, match=f"got one for {other}"):
        module["sizes"]


# ------------------------------------------------------- without a GPU


def test_an_image_needs_no_compiler_to_be_read(tmp_path):
    made = compiled(arch="sm_90")
    module = gpuos.JitModule(image=made.image)
    assert (module.arch, module.name) == ("sm_90", "module.cubin")
    assert (module.image, module.log) == (made.image, "")
    path = tmp_path / "mine.cubin"
    path.write_bytes(made.image)
    for given in (path, str(path)):
        assert gpuos.JitModule(path=given).name == "mine.cubin"
    assert gpuos.JitModule(path=path, name="other").name == "other"
    with pytest.raises(gpuos.InvalidArgument, match=r"scale<float>.*got 'no'"):
        module["no"]
    ptx = compiled(arch="compute_80").image
    for image in (ptx, ptx + b"\0"):
        assert gpuos.JitModule(image=image).arch == "compute_80"
    with pytest.raises(gpuos.InvalidArgument, match=r"scale<float>.*got 'no'"):
        gpuos.JitModule(image=ptx)["no"]


def test_a_module_has_one_source_or_image(tmp_path):
    with pytest.raises(TypeError, match="got none"):
        gpuos.JitModule()
    with pytest.raises(TypeError, match="got source and image"):
        gpuos.JitModule("", image=b"")
    with pytest.raises(TypeError, match="with a source"):
        gpuos.JitModule(image=b"", options=["-DN"])
    with pytest.raises(TypeError, match="with a source"):
        gpuos.JitModule(path="x", name_expressions=["k"])
    with pytest.raises(TypeError, match="given as image="):
        gpuos.JitModule(b"")
    with pytest.raises(TypeError, match="image: expected bytes, got str"):
        gpuos.JitModule(image="")
    with pytest.raises(FileNotFoundError):
        gpuos.JitModule(path=tmp_path / "nothing")


# A driver that simulates a GPU launches nothing, but refuses what is wrong.
ON_SIMULATOR = """
import pathlib
import gpuos
module = gpuos.JitModule(image=pathlib.Path({path!r}).read_bytes())
k = module["sizes"]
WRONG = [
    (1, 128, (None,), {{}}),
    ((0, 2), 32, (None,), {{}}),
    (1, 32, (1, 2.5), {{}}),
    (1, 32, (None,), {{"shared": 1 << 20}}),
    (1, 2**40, (None,), {{}}),
    ("a", 32, (None,), {{}}),
    ((1, 2, 3, 4), 32, (None,), {{}}),
]
FORMS = [
    lambda g, b, a, shared=0: k.launch(g, b, a, shared),
    lambda g, b, a, shared=0: k(g, b, a, shared_mem=shared),
    lambda g, b, a, shared=0: k[g, b, None, shared](*a),
]
for grid, block, args, more in WRONG:
    texts = set()
    for form in FORMS:
        try:
            form(grid, block, args, **more)
        except (TypeError, gpuos.InvalidArgument) as error:
            texts.add(f"{{type(error).__name__}}: {{error}}")
    print(*texts, sep=" | ")
print(module.read("counter", "i4"))
"""


def test_forms_of_launching_refuse_the_same(printed_by, tmp_path):
    if not (SIMULATOR / "libcuda.so.1").exists():
        pytest.skip("no simulated device: scripts/test builds it")
    path = tmp_path / "kernels.cubin"
    path.write_bytes(compiled(arch="sm_90").image)
    done = printed_by(
        ON_SIMULATOR.format(path=str(path)), LD_LIBRARY_PATH=str(SIMULATOR)
    )
    lines = done.splitlines()
    expected = [
        "sizes: block: expected at most 64 threads, got 128",
        "sizes: grid and block: expected sizes of at least 1, got (0, 2, 1)",
        "sizes: expected (8 bytes), got (an integer, a real number)",
        "sizes: shared_bytes: expected at most",
        "block: expected an integer of 0 to 4294967295, got int 1099511627776",
        "grid: expected",
        "grid: expected an integer or 1 to 3 of them, got 4",
    ]
    assert len(lines) == len(expected) + 1
    for line, text in zip(lines, expected, strict=False):
        assert text in line
        assert " | " not in line
    assert lines[-1] == "[5]"


OPERATOR = """
#include <cmath>
#include <limits>
GPUOS_OPERATOR(usual) {
  const float* x = task.pointer<const float>(1);
  float* out = task.pointer<float>(0);
  for (uint32_t i = lane.index(); i < task.count; i += lane.count())
    out[i] = x[i] > std::numeric_limits<float>::max() ? -INFINITY
                                                      : std::sqrt(x[i]) * M_PI;
}
"""


def test_operators_know_the_same_names(rt):
    usual = rt.define("usual", source=OPERATOR, inputs=1)
    x = np.array([1, 4, np.inf], "float32")
    out = rt.empty(3)
    rt.submit(usual, rt.array(x), out=out)
    np.testing.assert_allclose(
        out.numpy(), [np.pi, 2 * np.pi, -np.inf], rtol=1e-6
    )
