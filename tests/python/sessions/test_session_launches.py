"""Host code of a session that calls CUDA and launches kernels."""

import numpy as np
import pytest
from jit_support import or_skip
from session_support import has_device, make_session

import gpuos


@pytest.fixture(params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def either(request):
    return make_session(request.getfixturevalue(request.param))


# A name of CUDA, and its result without a device.
CALLS = [
    "cudaMalloc(&p, 4)",
    "cudaMalloc((void**)&p, 4)",
    "cudaFree(p)",
    "cudaMemcpy(p, &n, 4, cudaMemcpyHostToDevice)",
    "cudaMemcpy(&n, p, 4, cudaMemcpyDefault)",
    "cudaMemset(p, 0, 4)",
    "cudaDeviceSynchronize()",
    "cudaGetLastError()",
    "cudaPeekAtLastError()",
    "cudaMemcpyAsync(p, &n, 4, cudaMemcpyHostToDevice, stream)",
    "cudaMemsetAsync(p, 0, 4)",
    "cudaMemcpyToSymbol(coefficients, &n, 4)",
    "cudaMemcpyFromSymbol(&n, coefficients, 4)",
    "cudaStreamCreate(&stream)",
    "cudaStreamSynchronize(stream)",
    "cudaStreamDestroy(stream)",
    "cudaEventCreate(&event)",
    "cudaEventRecord(event, stream)",
    "cudaEventSynchronize(event)",
    "cudaEventElapsedTime(&ms, event, event)",
    "cudaEventDestroy(event)",
    "cudaGetDeviceCount(&n)",
    "cudaMallocManaged(&p, 4)",
    "cudaMallocManaged((void**)&p, 4, cudaMemAttachGlobal)",
    "cudaMallocAsync(&p, 4, stream)",
    "cudaFreeAsync(p, stream)",
    "cudaMallocHost(&p, 4)",
    "cudaHostAlloc(&p, 4, cudaHostAllocMapped)",
    "cudaHostGetDevicePointer(&p, p, 0)",
    "cudaFreeHost(p)",
    "cudaMallocPitch(&p, &pitch, 4, 1)",
    "cudaMemcpy2D(p, 4, &n, 4, 4, 1, cudaMemcpyHostToDevice)",
    "cudaMemset2D(p, 4, 0, 4, 1)",
    "cudaMemPrefetchAsync(p, 4, 0, stream)",
    "cudaMemAdvise(p, 4, 1, 0)",
    "cudaMemGetInfo(&pitch, &pitch)",
    "cudaGetDeviceProperties(&properties, 0)",
    "cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0)",
    "cudaDeviceReset()",
]


def test_without_a_device_cuda_says_so(session):
    session.run(
        "#include <cuda_runtime.h>\n__constant__ int coefficients[4];"
        "int n = 1; int* p = nullptr; float ms; cudaStream_t stream;"
        "cudaEvent_t event; size_t pitch; cudaDeviceProp properties;"
        f"int codes[] = {{{', '.join(CALLS)}}};"
    )
    assert session["codes"].tolist() == [100] * len(CALLS)
    session.run(
        "#include <string>\nbool same = codes[0] == cudaErrorNoDevice;"
        "std::string text = cudaGetErrorString(cudaError_t(codes[0]));"
        "std::string name = cudaGetErrorName(cudaErrorInvalidValue);"
    )
    assert session["same"] is True
    assert "no CUDA-capable device" in session["text"]
    assert session["name"] == "cudaErrorInvalidValue"


# Host code with the headers that nvcc always includes, and a value after it.
USUAL = {
    "float* p = (float*)malloc(40); p[1] = 2; int n = p[1]; free(p);": ("n", 2),
    "float m = max(1.0f, 2.0f) + min(3, 4) + max(1u, 2u);": ("m", 7),
    "double a = abs(-2.5) + fabsf(-1) + sqrtf(4);": ("a", 5.5),
    "float4 v = make_float4(1, 2, 3, 4); double2 d{5, 6};": ("v.w + d.y", 10),
    "static_assert(alignof(float4) == 16 && sizeof(uchar3) == 3);": ("1", 1),
    "float3 sum(float3); float3 sum(float3 a) { return {a.x + a.y, 0, 0}; }": (
        "sum({1, 2, 3}).x",
        3,
    ),
    "__host__ __device__ int2 twice(int2 a) { return make_int2(2 * a.x, 0); }": (
        "twice({4, 0}).x",
        8,
    ),
    # Names of the user's own are his.
    "int max(int a, int b) { return 7; } struct uint4 { int x; };": (
        "max(1, 2) + sizeof(uint4)",
        11,
    ),
}


@pytest.mark.parametrize("text", USUAL)
def test_names_that_nvcc_always_has_are_there(session, text):
    value, wanted = USUAL[text]
    session.run(text)
    session.run(f"double value = {value};")
    assert session["value"] == wanted


def test_macros_of_the_options_are_those_of_host_code_too(host):
    make_session(host)  # or is skipped
    session = host.session(options=["-DQ=5", "-D", "TWICE(x)=2*x"])
    session.run("int q = TWICE(Q);\n__global__ void k(int* x) { *x = Q; }")
    assert session["q"] == 10
    assert session.link("k")


def test_missing_cuda_functions_are_refused(session):
    for text, why in [
        ("cudaMalloc3D(nullptr);", "a session has no CUDA runtime"),
        ("cudaTextureObject_t t;", "cudaMallocPitch"),
    ]:
        with pytest.raises(gpuos.CompileError, match=why):
            session.run(text)


def test_errors_suggest_a_replacement(session):
    session.run("const int q = 3; int* p = nullptr;")
    session.run("template <class F> __global__ void k(int* p, F f) { f(*p); }")
    with pytest.raises(gpuos.InvalidArgument, match="constant of cell 1"):
        session["q"]
    with pytest.raises(gpuos.CompileError, match="write a struct"):
        session.run("k<<<1, 1>>>(p, [] __device__ (int x) { return x; });")
    with pytest.raises(gpuos.CompileError, match=r"write \[\] instead"):
        session.run("auto f = [&](int x) { return x; };")


def test_without_a_compiler_device_cells_go_on(session, monkeypatch):
    monkeypatch.setenv("CXX", "/no/such/compiler")
    session.run("struct P { float x; }; constexpr int n = 4; void later();")
    session.run("__global__ void k(P* p) { p->x = n; }")
    session.run("void launch() { k<<<1, 1>>>(nullptr); }")
    assert session.link("k").startswith(b"\x7fELF")
    for text in ("int m = 3;", "#include <iostream>", "for (;;) break;"):
        with pytest.raises(gpuos.BackendUnavailable, match="C\\+\\+ compiler"):
            session.run(text)
    # The available compiler reports errors for all compilers.
    with pytest.raises(gpuos.CompileError, match='"missing" is undefined'):
        session.run("struct Q { missing x; };")
    monkeypatch.delenv("CXX")
    session.run("int m = n;")
    assert session["m"] == 4


def test_a_header_of_the_device_alone_does_not_stop_host_code(host, tmp_path):
    (tmp_path / "mine.cuh").write_text(
        "__device__ int f() { return threadIdx.x; }\n"
        "__global__ void k(int* x) { *x = f(); }\n"
    )
    session = or_skip(host.session, include_dirs=[str(tmp_path)])
    session.run('#include "mine.cuh"')
    session.run("int n = 3;")
    session.run("n = 4;")
    assert session["n"] == 4


# https://reviews.llvm.org/D44435, as a file.
FOO_BAR = """\
#include "size.h"
__global__ void foo();
__global__ void bar();

// No kernel is there yet.
void launch() {
  foo<<<1, SIZE>>>();
  bar<<<1, SIZE>>>();
}

__global__ void foo() { calls(1); }
__global__ void bar() { calls(2); }
"""


def write_foo_bar(tmp_path):
    calls = "__device__ int order[2], count; __device__ inline void calls("
    (tmp_path / "size.h").write_text("#define SIZE 1\n")
    path = tmp_path / "foo_bar.cu"
    path.write_text(
        FOO_BAR.replace(
            "__global__ void foo();",
            calls + "int n) { order[count++] = n; }\n__global__ void foo();",
            1,
        )
    )
    return path


def test_a_file_is_one_cell(session, tmp_path):
    path = write_foo_bar(tmp_path)
    result = session.run_file(path)
    assert result.cell == str(path)
    assert "kernel foo" in result.defined
    for text in ("launch();", "for (int i = 0; i < 2; ++i) launch();"):
        with pytest.raises(gpuos.BackendUnavailable, match="backend cuda"):
            session.run(text)
    with pytest.raises(gpuos.InvalidArgument, match="file that can be read"):
        session.run_file(tmp_path / "none.cu")
    path.write_text("int n = 1;\nint m = nobody;\n")
    with pytest.raises(gpuos.CompileError) as caught:
        session.run_file(str(path))
    assert (caught.value.file, caught.value.line) == (str(path), 2)


@pytest.mark.gpu
def test_a_file_launches_its_kernels(cuda, tmp_path):
    session = make_session(cuda)
    session.run_file(write_foo_bar(tmp_path))
    assert session.run("launch();").launches == 2
    assert session.read("order", "int32").tolist() == [1, 2]
    session.write("count", np.int32(0))
    run = session.run("for (int i = 0; i < 1; ++i) launch();")
    assert run.launches == 2


LAUNCHES = [
    "k<<<1, 1>>>(p, 1);",
    "k<<<dim3(1, 2), {1, 1, 1}>>>(p, n + 1);",
    "k<<<n, n, 0>>>(p, twice(2));",
    "for (int i = 0; i < 3; ++i) k<<<1, 1>>>(p, i);",
    "if (n) k<<<1, 1>>>(p, 1); else k<<<1, 1>>>(p, 2);",
    "auto run = [] { k<<<1, 1>>>(p, 1); }; run();",
    "t<int><<<1, 1>>>(p);",
    "t<<<1, 1>>>(p);",
    "m::k<<<1, 1>>>();",
    "struct S { static void go() { k<<<1, 1>>>(p, 1); } }; S::go();",
]
KERNELS = (
    "__global__ void k(int* x, int y) { if (x) *x = y; }"
    "__global__ void k(int* x, float y) { if (x) *x = -1; }"
    "template <class T> __global__ void t(T* x) {}"
    "namespace m { __global__ void k() {} }"
)
VARIABLES = "int* p = nullptr; int n = 1; int twice(int x) { return 2 * x; }"


@pytest.mark.parametrize("text", LAUNCHES)
def test_launches_of_host_code_are_the_session_s(either, text):
    either.run(KERNELS)
    either.run(VARIABLES)
    if has_device(either):
        assert either.run(text).launches in (1, 3)
        return
    for launch in (text, "k<<<1, 1>>>(nullptr, 1);"):
        with pytest.raises(gpuos.BackendUnavailable, match="backend cuda"):
            either.run(launch)


def test_a_launch_that_is_wrong_is_refused_where_it_stands(session):
    session.run(KERNELS)
    session.run(VARIABLES)
    for text, why in [
        ("for (;;) k<<<1, 1>>>(p);", "error: "),
        ("for (;;) k<<<1>>>(p, 1);", "error: "),
        ("for (;;) nobody<<<1, 1>>>(p);", "was not declared"),
        ("n = 1; k<<<1, 1>>>(p, 1;", "expected"),
    ]:
        with pytest.raises(gpuos.CompileError, match=why):
            session.run(text)
    with pytest.raises(gpuos.InvalidArgument, match=r"k<<<grid, block>>>"):
        session.run("k(p, 1);")


def test_a_name_has_one_kind_on_host_and_device(session):
    session.run("__device__ int d; int h = 1; __global__ void k() {}")
    for text in ("int d = 1;", "int k = 1;", "__device__ int h;"):
        with pytest.raises(gpuos.CompileError, match="expected a new name"):
            session.run(text)


@pytest.mark.gpu
def test_arrays_of_python_and_variables_of_the_device_are_arguments(cuda):
    session = make_session(cuda)
    session.run(
        "__device__ float by = 3, table[4];"
        "__global__ void mul(float* x, float y) { x[threadIdx.x] *= y; }"
    )
    x = cuda.array(np.arange(4, dtype="float32"))
    session.bind(x=x, n=4)
    session.run("for (int i = 0; i < 2; ++i) mul<<<1, n>>>(x, by);")
    np.testing.assert_array_equal(x.numpy(), np.arange(4) * 9)
    session.write("table", np.arange(4, dtype="float32"))
    session.run("int one = 1; mul<<<one, 4>>>(table, 2);")
    assert session.read("table", "float32").tolist() == [0, 2, 4, 6]
