"""The user code in CuPy's suites of RawKernel, RawModule and Function, and in
MLX's of custom kernels, as modules of ours.

Compilation runs anywhere; launches need a GPU.
"""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest
from jit_support import module_of

import gpuos

ARCH = "--gpu-architecture=sm_90"
N = 10

SUM = """
extern "C" __global__
void test_sum(const float* x1, const float* x2, float* y, unsigned int n) {
  unsigned int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = x1[i] + x2[i];
}
"""
TWO = """
extern "C" {
__global__ void add(const T* a, const T* b, T* y, unsigned int n) {
  unsigned int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
__global__ void multiply(const T* a, const T* b, T* y, unsigned int n) {
  unsigned int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = a[i] * b[i];
}
}
"""
PRECISION = (
    "#if PRECISION == 2\n#define T double\n#elif PRECISION == 1\n"
    "#define T float\n#else\n#error precision not supported\n#endif\n"
)
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


def operands(rt: gpuos.Runtime, dtype: Any) -> tuple[Any, ...]:
    a = np.arange(N * N).reshape(N, N).astype(dtype)
    return rt.array(a), rt.array(a + 1), rt.zeros((N, N), dtype)


# ---- Compiling: options, macros, headers.


def test_a_module_takes_options_as_cupys_does():
    for options in (
        ("-DPRECISION=2",),
        ["-DPRECISION=1", "--use_fast_math", "-lineinfo"],
        ("--define-macro=PRECISION=1", "--std=c++14", "--maxrregcount=32"),
        ("-DPRECISION=2", "--fmad=false", "--ftz=true", "-I/tmp"),
    ):
        module = compiled(PRECISION + TWO, options=options)
        assert module.image.startswith(b"\x7fELF")
    assert "precision not supported" in error_of(
        PRECISION + TWO, options=("-DPRECISION=3",)
    )
    operation = 'extern "C" __global__ void k(float* x) { *x = *x OP 2; }'
    assert compiled(operation, options=("-DOP=+",)).arch == "sm_90"
    with pytest.raises(
        TypeError, match="options: expected a sequence, got str"
    ):
        gpuos.JitModule(SUM, options="-DN=1")


def test_one_kernel_of_a_source():
    # RawKernel(source, "test_sum")
    said = r"expected a sequence, got str; one kernel .*\['test_sum'\]"
    with pytest.raises(TypeError, match=said):
        gpuos.JitModule(SUM, "test_sum")
    for name in ("RawKernel", "RawModule", "ElementwiseKernel"):
        assert not hasattr(gpuos, name)


@pytest.mark.parametrize(
    "keywords",
    [
        {"backend": "nvcc"},
        {"jitify": True},
        {"translate_cucomplex": True},
        {"enable_cooperative_groups": True},
        {"code": SUM},
    ],
    ids=lambda keywords: next(iter(keywords)),
)
def test_what_is_no_keyword_shows_those_there_are(keywords):
    source = {} if "code" in keywords else {"source": SUM}
    with pytest.raises(TypeError, match=r"expected .*source.*name_expressions"):
        gpuos.JitModule(**source, **keywords)


def test_a_module_is_of_one_origin(tmp_path):
    with pytest.raises(TypeError, match="got none"):
        gpuos.JitModule()
    with pytest.raises(TypeError, match="got source and path"):
        gpuos.JitModule(SUM, path="test.cubin")
    with pytest.raises(FileNotFoundError):
        gpuos.JitModule(path=tmp_path / "not_there.cubin")


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


def test_standard_headers_and_what_they_refuse():
    text = """
    #include <type_traits>
    template <typename T,
              typename = typename std::enable_if<
                  std::is_integral<T>::value>::type>
    __global__ void shift(T* a, int n) { a[0] += n; }
    """
    assert compiled(text, ("shift<int>",)).arch == "sm_90"
    assert "'shift<float>'" in error_of(text, ("shift<float>",))
    said = error_of("#include <cstdio>\n" + SUM)
    assert "printf, malloc, memcpy" in said


def test_a_header_that_is_missing_is_named(tmp_path):
    (tmp_path / "mine.h").write_text("#include <not/there.h>\n")
    said = error_of('#include "mine.h"\n' + SUM, options=(f"-I{tmp_path}",))
    assert 'cannot open source file "not/there.h"' in said
    (tmp_path / "mine.h").write_text("#define T float\n")
    text = '#include "mine.h"\n' + TWO
    assert compiled(text, options=(f"-I{tmp_path}",)).log == ""


def test_what_does_not_compile_has_a_place():
    said = error_of("__global__ void i_am_broken() {")
    assert said.startswith("module.cu: At end of source: error: expected a")
    launches = """
    extern "C" __global__ void inner(float* x) { *x = 1; }
    extern "C" __global__ void outer(float* x) { inner<<<1, 1>>>(x); }
    """
    assert "launch each from the host" in error_of(launches)


def test_warnings_are_in_the_log():
    text = 'extern "C" __global__ void k(float* x) { int j; *x = 1; }'
    assert 'variable "j" was declared but never' in compiled(text).log


def test_a_grid_that_waits_for_itself_compiles():
    compiled("""
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(const float* a, float* y, int n) {
      cg::grid_group grid = cg::this_grid();
      for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = a[i];
      cg::sync(grid);
      for (int i = grid.thread_rank(); i < n; i += grid.size())
        y[n - 1 - i] += 1;
    }
    """)


def test_a_module_goes_to_another_process_as_its_image():
    module = compiled(SUM)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(module)
    again = gpuos.JitModule(image=pickle.loads(pickle.dumps(module.image)))
    assert again.image == module.image


# ---- Names.


def test_a_name_that_is_not_there_lists_those_there_are():
    named = compiled(SQUARE, ["square<int>", "square<float>", "plain"])
    unnamed = compiled(SQUARE)
    for module, name in (
        (named, "square<double>"),
        (named, "no_such_kernel"),
        (unnamed, "square<int>"),
    ):
        for find in (module.get_function, module.kernel, module.__getitem__):
            with pytest.raises(gpuos.InvalidArgument, match=f"got '{name}'"):
                find(name)
    with pytest.raises(
        gpuos.InvalidArgument, match="named in name_expressions"
    ):
        unnamed["square<int>"]


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
def test_an_argument_that_is_none(value):
    with pytest.raises(gpuos.InvalidArgument, match="argument 1: expected"):
        gpuos.KernelArgs(1, value)


# ---- On a GPU.


def test_kernels_of_a_module(cuda):
    module = gpuos.JitModule(
        PRECISION + TWO, options=("-DPRECISION=2",), name="two.cu"
    )
    a, b, y = operands(cuda, "float64")
    module.get_function("add")((N,), (N,), (a, b, y, N**2))
    np.testing.assert_array_equal(y.numpy(), a.numpy() + b.numpy())
    module.get_function("multiply")((N,), (N,), (a, b, y, N**2))
    np.testing.assert_array_equal(y.numpy(), a.numpy() * b.numpy())


@pytest.mark.parametrize("form", ["cubin", "ptx"])
def test_an_image_from_a_file(cuda, tmp_path, form):
    a, b, y = operands(cuda, "float32")
    made = gpuos.JitModule(SUM)
    if form == "ptx":
        arch = made.arch.replace("sm_", "compute_").rstrip("af")
        made = gpuos.JitModule(SUM, options=gpuos.JitOptions(arch=arch))
    path = tmp_path / f"sum.{form}"
    path.write_bytes(made.image)
    kernel = gpuos.JitModule(path=path).get_function("test_sum")
    kernel((N,), (N,), (a, b, y, N**2))
    np.testing.assert_array_equal(y.numpy(), a.numpy() + b.numpy())


def test_templates_of_every_type(cuda):
    types = {
        "square<int>": "int32",
        "square<float>": "float32",
        "square<cuda::std::complex<float>>": "complex64",
    }
    text = "#include <cuda/std/complex>\n" + SQUARE
    module = module_of(text, name_expressions=[*types, "plain"])
    for name, dtype in types.items():
        x = (np.arange(N) + 1).astype(dtype)
        given = cuda.array(x)
        module.get_function(name)((1,), (N,), (given, N))
        np.testing.assert_allclose(given.numpy(), x * x)
    given = cuda.array(np.ones(N))
    module["plain"](1, N, (given, N))
    assert given.numpy().tolist() == [2] * N


def test_attributes_of_a_kernel(cuda):  # noqa: ARG001
    attributes = gpuos.JitModule(SUM)["test_sum"].attributes
    assert attributes.registers > 0
    assert attributes.max_threads > 0
    assert attributes.shared_bytes == 0


def test_constant_memory(cuda):
    module = gpuos.JitModule(
        """
        __constant__ float some_array[100];
        extern "C" __global__ void multiply_by_const(float* x, int n) {
          if (threadIdx.x < n) x[threadIdx.x] *= some_array[threadIdx.x];
        }
        """,
        ["&some_array"],
    )
    values = np.arange(100, dtype="f4")
    module.write("some_array", values)
    x = cuda.ones(100)
    module["multiply_by_const"]((1,), (100,), (x, np.int32(100)))
    np.testing.assert_array_equal(x.numpy(), values)
    assert module.global_bytes("some_array") == 400


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
    module["take"](1, 24, args)
    np.testing.assert_array_equal(x.numpy(), a.numpy() + 6 + 4 + 3.5 + 6)


def test_an_address_is_a_number(cuda):
    module = gpuos.JitModule("""
    extern "C" __global__ void cast(void* input, int n) {
      double* x = (double*)input;
      if (threadIdx.x < n) x[threadIdx.x] = 3.0 * x[threadIdx.x] - 8.0;
    }
    """)
    x = cuda.array(np.ones(100))
    module["cast"]((1,), (100,), (x.ptr, 100))
    gpuos.synchronize()
    np.testing.assert_array_equal(x.numpy(), np.full(100, -5.0))


def test_dynamic_shared_memory(cuda):
    module = gpuos.JitModule("""
    extern "C" __global__ void turn(float* x) {
      extern __shared__ float row[];
      row[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
    }
    """)
    x = cuda.array(np.arange(64, dtype="f4"))
    module["turn"]((1,), (64,), (x,), shared_mem=64 * 4)
    np.testing.assert_array_equal(x.numpy(), np.arange(64)[::-1])
    with pytest.raises(gpuos.InvalidArgument, match="shared_bytes"):
        module["turn"]((1,), (64,), (x,), shared_mem=1 << 30)


@pytest.mark.parametrize("n", [10, 100])
def test_a_grid_that_waits_for_itself(cuda, n):
    module = module_of("""
    #include <cooperative_groups.h>
    extern "C" __global__ void sync(
        const float* a, const float* b, float* y, int n) {
      auto grid = cooperative_groups::this_grid();
      for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = a[i];
      grid.sync();
      for (int i = n - 1 - int(grid.thread_rank()); i >= 0; i -= grid.size())
        y[i] += b[i];
    }
    """)
    a = np.arange(n * n, dtype="f4")
    x, y = cuda.array(a), cuda.zeros(n * n)
    module["sync"].launch(4, 64, (x, x, y, n * n), cooperative=True)
    np.testing.assert_array_equal(y.numpy(), a * 2)


# MLX's custom kernels: a body, with its inputs and outputs by name.


def test_the_body_of_a_kernel_is_an_operator(rt):
    exponential = rt.define(
        "exponential",
        source="""
        #include <cmath>
        __device__ float grow(float x) { return std::exp(x); }
        GPUOS_OPERATOR(exponential) {
          const float* a = task.pointer<const float>(1);
          float* out = task.pointer<float>(0);
          for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
            out[i] = grow(a[i]);
        }
        """,
        inputs=["a"],
    )
    a = np.linspace(-1, 1, 4, dtype="f4")
    out = rt.empty(4)
    rt.submit(exponential, a=rt.array(a), out=out)
    np.testing.assert_allclose(out.numpy(), np.exp(a), rtol=1e-6)


def test_the_body_of_one_line_is_an_expression(rt):
    op = rt.define("weighted", "out = a * k + b", params={"k": "float32"})
    a, b, out = rt.ones(4), rt.full(4, 3.0, "float32"), rt.empty(4)
    rt.submit(op, a=a, b=b, k=2.0, out=out)
    assert out.numpy().tolist() == [5] * 4
    with pytest.raises(gpuos.InvalidArgument, match="';'"):
        rt.define("two", "t = a * 2; out = t")
