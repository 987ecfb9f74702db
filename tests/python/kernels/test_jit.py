from concurrent.futures import CancelledError
from secrets import token_hex
from typing import Any

import numpy as np
import pytest
from conftest import has_cuda
from jit_support import or_skip

import gpuos

SOURCE = """
template <typename T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__device__ int counter = 5;
extern "C" __global__ void count(int* out) { *out = atomicAdd(&counter, 1); }
"""
NAMES = ["scale<float>", "scale<double>", "&counter"]


@pytest.fixture(scope="module")
def nvrtc() -> None:
    or_skip(compiled, 'extern "C" __global__ void k() {}')


def compiled(source: str, **keywords: Any) -> gpuos.JitModule:
    options = keywords.pop("options", gpuos.JitOptions(arch="sm_90"))
    return gpuos.JitModule(source, options=options, **keywords)


@pytest.mark.usefixtures("nvrtc")
def test_a_byte_order_mark_is_no_token(tmp_path):
    (tmp_path / "n.h").write_text("#define N 3")
    text = '\ufeff#include "n.h"\nextern "C" __global__ void k() { int a[N]; }'
    assert compiled(text, include_dirs=[tmp_path]).image


@pytest.fixture
def kernels(nvrtc: None, cuda: gpuos.Runtime) -> gpuos.JitModule:  # noqa: ARG001
    return gpuos.JitModule(SOURCE, NAMES, name="kernels.cu")


@pytest.mark.usefixtures("nvrtc")
def test_module_says_what_it_is() -> None:
    module = compiled(SOURCE, name_expressions=NAMES, name="kernels.cu")
    assert module.arch == "sm_90"
    assert module.image.startswith(b"\x7fELF")
    assert repr(module) == "gpuos.JitModule('kernels.cu', sm_90)"


@pytest.mark.usefixtures("nvrtc")
def test_headers_and_defines_reach_the_source() -> None:
    options = gpuos.JitOptions(
        arch="compute_80", defines={"N": 7, "FLAG": None}
    )
    module = compiled(
        '#include "two.h"\n#if N != 7 || FLAG != 1\n#error\n#endif\n'
        'extern "C" __global__ void k(int* x) { *x = TWO; }',
        headers={"two.h": "#define TWO 2"},
        options=options,
    )
    assert b".target sm_80" in module.image
    assert options.defines == {"N": "7", "FLAG": "1"}


@pytest.mark.usefixtures("nvrtc")
def test_options_may_be_the_compilers_own() -> None:
    source = 'extern "C" __global__ void k(int* x) { *x = 1; }'
    assert compiled(source, options=["--restrict"]).image
    with pytest.raises(gpuos.CompileError, match="frobnicate"):
        compiled(source, options=["--frobnicate"])


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(
        gpuos.InvalidArgument, match="fast_compile: expected one of off, min"
    ):
        gpuos.JitOptions(fast_compile="quick")


@pytest.mark.skipif(has_cuda(), reason="there is a GPU")
@pytest.mark.usefixtures("nvrtc")
def test_compiling_needs_no_gpu_and_loading_does() -> None:
    module = compiled(SOURCE)
    with pytest.raises(gpuos.BackendUnavailable):
        module["count"]


def test_kernel_runs_on_arrays_of_the_runtime(
    kernels: gpuos.JitModule, cuda: gpuos.Runtime
) -> None:
    for dtype, name in (
        (np.float32, "scale<float>"),
        (np.float64, "scale<double>"),
    ):
        x = cuda.array(np.arange(5, dtype=dtype))
        kernels[name].launch(1, 32, (x, 2, 5))
        kernels[name].launch(
            (1, 1), (32, 1, 1), gpuos.KernelArgs(x, 0.5, np.int32(3))
        )
        assert x.numpy().tolist() == [0, 1, 2, 6, 8]


def test_variables_and_holders(
    kernels: gpuos.JitModule, cuda: gpuos.Runtime
) -> None:
    assert kernels.global_bytes("counter") == 4
    assert kernels.global_address("counter") % 4 == 0
    kernel = kernels["count"]
    assert kernel.attributes.registers > 0
    assert kernel.parameter_bytes == [8]
    out = cuda.array(np.zeros(1, np.int32))
    kernel.launch(1, 1, [out])
    assert out.numpy().tolist() == [5]
    mine = [m for m in gpuos.modules() if m.name == "kernels.cu"]
    assert mine[-1].holders == {"JitModule": 1, "Kernel": 1}
    assert mine[-1].bytes == len(kernels.image)


def test_streams_of_torch(kernels: gpuos.JitModule) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    stream = torch.cuda.Stream()
    x = torch.arange(4, device="cuda", dtype=torch.float32)
    torch.cuda.synchronize()
    kernels["scale<float>"].launch(1, 32, (x, 3, 4), stream=stream)
    stream.synchronize()
    assert x.tolist() == [0, 3, 6, 9]
    half = torch.ones(1, device="cuda", dtype=torch.bfloat16)
    with pytest.raises(gpuos.InvalidArgument, match="host memory"):
        kernels["scale<float>"].launch(1, 32, (half.cpu(), 3, 4))


@pytest.mark.usefixtures("nap")
def test_operators_are_listed() -> None:
    mine = [m for m in gpuos.modules() if m.name == "nap"]
    assert mine[-1].holders == {"operator": 1}
    assert mine[-1].bytes > 0


@pytest.mark.usefixtures("nvrtc")
def test_futures_are_cancelled_at_any_time() -> None:
    body = "\n".join(f"x[{i}] = f<{150 + i}>(x[{i}]);" for i in range(40))
    source = (
        "template <int N> __device__ float f(float x) "
        "{ return f<N - 1>(x) * x + N; }\n"
        "template <> __device__ float f<0>(float x) { return x; }\n"
        f'extern "C" __global__ void k(float* x) {{\n{body}\n}}'
    )
    options = gpuos.JitOptions(arch="sm_90")
    futures = [
        gpuos.compile_async(f"{source}// {i} {token_hex()}", options=options)
        for i in range(20)
    ]
    assert all(f.cancel() for f in futures)
    for future in futures:
        with pytest.raises((gpuos.Cancelled, CancelledError)):
            future.result(60)
    done = gpuos.compile_async("", options=options)
    done.result(60)
    assert not done.cancel()


def test_define_many_takes_the_keywords_of_define(rt: gpuos.Runtime) -> None:
    double, scaled = rt.define_many(
        [
            {"name": "double", "expression": "o = 2 * x"},
            {
                "name": "scaled",
                "expression": "o = k * x",
                "params": {"k": "float64"},
                "dtype": ["float32", "float64"],
            },
        ]
    )
    x = rt.array(np.arange(3, dtype=np.float32))
    out = rt.empty(3)
    rt.wait(rt.submit(double, x, out=out))
    assert out.numpy().tolist() == [0, 2, 4]
    rt.wait(rt.submit("scaled", x, out=out, k=3.0))
    assert out.numpy().tolist() == [0, 3, 6]
    with pytest.raises(TypeError, match="unexpected keyword 'sources'"):
        rt.define_many([{"name": "x", "sources": ""}])
    rt.replace(scaled, "o = k - x")
