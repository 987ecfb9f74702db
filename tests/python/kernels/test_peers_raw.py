"""The user code in CuPy's suites of RawKernel, RawModule and Function, as modules
of ours; test_kernels.py and test_jit.py have the rest.

Compilation runs anywhere; launches need a GPU.
"""

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest
from jit_support import module_of

import gpuos

ARCH = "--gpu-architecture=sm_90"

SUM = """
extern "C" __global__
void test_sum(const float* x1, const float* x2, float* y, unsigned int n) {
  unsigned int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = x1[i] + x2[i];
}
"""
SQUARE = """
template <typename T> __global__ void square(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
}
__global__ void plain(double* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
"""


def compiled(source: str, *args: Any, **keywords: Any) -> gpuos.JitModule:
    """Without a GPU: for one architecture."""
    options = (*keywords.pop("options", ()), ARCH)
    return module_of(source, *args, options=options, **keywords)


def error_of(source: str, *args: Any, **keywords: Any) -> str:
    with pytest.raises(gpuos.CompileError) as caught:
        compiled(source, *args, **keywords)
    return str(caught.value)


# ---- Compiling: options, macros, headers.


def test_one_kernel_of_a_source():
    # RawKernel(source, "test_sum")
    said = r"expected a sequence, got str; one kernel .*\['test_sum'\]"
    with pytest.raises(TypeError, match=said):
        gpuos.JitModule(SUM, "test_sum")
    with pytest.raises(TypeError, match=r"expected .*source.*name_expressions"):
        gpuos.JitModule(SUM, backend="nvcc")


def test_complex_numbers_of_cuda():
    compiled("""
    #include <cuComplex.h>
    extern "C" __global__ void k(
        const cuComplex* a, cuDoubleComplex b, cuDoubleComplex* out) {
      *out = cuCmul(b, cuComplexFloatToDouble(*a));
    }
    """)
    text = "#include <cuda/std/complex>\n" + SQUARE
    compiled(text, ["square<cuda::std::complex<double>>"])
    for header in ("cupy/complex.cuh", "cupy/carray.cuh"):
        said = error_of(f"#include <{header}>\n{SUM}")
        assert "cuda/std/complex has complex numbers" in said


def test_a_launch_in_a_kernel_is_refused_with_advice():
    launches = """
    extern "C" __global__ void inner(float* x) { *x = 1; }
    extern "C" __global__ void outer(float* x) { inner<<<1, 1>>>(x); }
    """
    assert "launch each from the host" in error_of(launches)


def test_warnings_are_in_the_log():
    text = 'extern "C" __global__ void k(float* x) { int j; *x = 1; }'
    assert 'variable "j" was declared but never' in compiled(text).log


def test_a_module_goes_to_another_process_as_its_image():
    module = compiled(SUM)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(module)
    again = gpuos.JitModule(image=pickle.loads(pickle.dumps(module.image)))
    assert again.image == module.image


# ---- Arguments.

STRUCTURE = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8")])
FIVE = np.dtype({"names": ["value"], "formats": [("f8", (5,))]})


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_double))


TAKEN = [
    1,
    2.5,
    True,
    2 + 3j,
    None,
    np.float32(1),
    np.int8(1),
    np.uint64(2**63),
    np.float16(1),
    np.complex64(2 + 3j),
    np.complex128(2 + 3j),
    np.zeros((), STRUCTURE)[()],
    np.arange(3.0).view(STRUCTURE),
    np.arange(5.0).view(FIVE),
    np.zeros((), STRUCTURE),
    ctypes.c_short(3),
    Pair(1, 2.5),
]


@pytest.mark.parametrize("value", TAKEN, ids=lambda value: repr(value)[:30])
def test_an_argument_by_value(value):
    assert len(gpuos.KernelArgs(value, 1)) == 2


@pytest.mark.parametrize(
    "value",
    [
        "text",
        b"bytes",
        [1],
        np.arange(5.0),
        np.zeros(1),
        np.zeros(2, STRUCTURE),
        np.datetime64("2020"),
        2**70,
        pytest.param(object(), id="an object"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_an_invalid_kernel_argument_is_refused(value):
    with pytest.raises(gpuos.InvalidArgument, match="argument 1: expected"):
        gpuos.KernelArgs(1, value)


# ---- On a GPU.


def test_structures_by_value(cuda):
    module = gpuos.JitModule("""
    struct Five { double value[5]; };
    struct Pair { int a; double b; };
    extern "C" __global__ void take(
        const double* a, double3 b, Five c, Pair d, double2 z, double* x) {
      int i = threadIdx.x;
      x[i] = a[i] + b.x + b.y + b.z + c.value[4] + d.a + d.b + z.x * z.y;
    }
    """)
    a, x = cuda.array(np.arange(24.0)), cuda.empty(24, "f8")
    b = np.array([1.0, 2.0, 3.0])
    five = np.arange(5.0).view(FIVE)
    args = (a, b.view(STRUCTURE), five, Pair(1, 2.5), 2 + 3j, x)
    module.get_function("take")((1,), (24,), args)
    np.testing.assert_array_equal(x.numpy(), a.numpy() + 6 + 4 + 3.5 + 6)
