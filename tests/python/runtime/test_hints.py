"""Errors that say what to do, or what there is instead."""

from typing import Any

import numpy as np
import pytest
from conftest import has_cuda
from jit_support import or_skip

import gpuos


def compiled(body: str, include: str = "", **keywords: Any) -> gpuos.JitModule:
    source = f'{include}\nextern "C" __global__ void k(float* x) {{ {body} }}'
    keywords.setdefault("options", gpuos.JitOptions(arch="sm_90"))
    return or_skip(gpuos.JitModule, source, **keywords)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("std::uint33_t n;", "NVRTC has no standard library"),
        ("std::cout << *x;", "printf() needs no header"),
        ("half h;", "half: add #include <cuda_fp16.h>"),
        ("cudaError_t e;", "add #include <cuda_runtime.h>"),
        ("std::vector<int> v;", "std::vector: NVRTC has no standard library"),
        ("curandState s;", "curandState: add #include <curand_kernel.h>"),
    ],
)
def test_a_missing_name_suggests_its_include(body, hint):
    with pytest.raises(gpuos.CompileError) as caught:
        compiled(body)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("cstdio", "printf, malloc and memcpy"),
        ("string.h", "work without the #include"),
        ("tuple", "cuda/std/tuple"),
        ("vector", "CCCL does not have <vector>"),
    ],
)
def test_a_missing_header_suggests_a_header(header, hint):
    with pytest.raises(gpuos.CompileError) as caught:
        compiled("*x = 1;", f"#include <{header}>")
    assert hint in str(caught.value)


def test_options_are_no_dict():
    with pytest.raises(TypeError, match=r"options: expected a JitOptions or"):
        compiled("", options={"std": "c++17"})


@pytest.mark.skipif(has_cuda(), reason="there is a GPU")
def test_a_kernel_without_a_gpu_names_no_backend():
    module = compiled("*x = 1;")
    with pytest.raises(gpuos.BackendUnavailable) as caught:
        module["k"]
    assert "backend" not in str(caught.value)
    with pytest.raises(gpuos.BackendUnavailable, match='or use backend="host"'):
        gpuos.Runtime("cuda")


def test_names_that_are_taken_say_by_what(rt):
    with pytest.raises(gpuos.InvalidArgument) as caught:
        rt.define("add", "o = x")
    assert str(caught.value) == (
        "define: expected a new name, got 'add', which is built in; "
        "replace() gives it another body"
    )
    rt.define("mine", "o = x")
    with pytest.raises(gpuos.InvalidArgument, match=r"replace\(\) gives it"):
        rt.define("mine", "o = x")
    with pytest.raises(gpuos.InvalidArgument, match="alias: expected a new"):
        rt.alias("add", "mul")
    rt.alias("other", "add")
    with pytest.raises(
        gpuos.InvalidArgument, match="which is an alias; switch"
    ):
        rt.define("other", "o = x")


def test_a_parameter_that_is_no_number_is_named(rt):
    rt.define("scaled", "o = k * x", params={"k": "float32"})
    x = rt.array(np.ones(2, np.float32))
    with pytest.raises(TypeError) as caught:
        rt.submit("scaled", x, out=rt.empty(2), k="two")
    assert str(caught.value) == "scaled: k: expected a number, got str"


def test_a_number_for_an_input_points_to_params(rt):
    rt.define("forgot", "o = alpha * x")
    x = rt.array(np.ones(2, np.float32))
    for inputs, keywords in (((2.0, x), {}), ((), {"alpha": 2.0, "x": x})):
        with pytest.raises(gpuos.InvalidArgument, match="params="):
            rt.submit("forgot", *inputs, out=rt.empty(2), **keywords)


def test_a_failed_allocation_names_its_size(host):
    with pytest.raises(MemoryError, match="expected 400000000000000 bytes"):
        host.empty(10**14)


def test_completion_lists_public_names():
    assert dir(gpuos) == gpuos.__all__
    torch = pytest.importorskip("gpuos.torch", exc_type=ImportError)
    assert dir(torch) == torch.__all__


def test_reprs_describe_objects():
    assert repr(gpuos.KernelArgs(1, 2.5, np.int8(3), None)) == (
        "gpuos.KernelArgs(1, 2.5, int8, pointer)"
    )
    assert repr(gpuos.fuse(abs)) == "gpuos.Fused('abs', programs=0)"
    info = gpuos.cache.info()
    assert repr(info).startswith("CacheInfo(own=CacheLevel(folder=")
    assert f"max_bytes={info.max_bytes})" in repr(info)
    compiled("*x = 1;")
    images = gpuos.cache.images()
    if images:
        assert f"name={images[0].name!r}, arch='" in repr(images[0])
    session = gpuos.Session()
    session.run("__device__ int n;")
    assert repr(session).startswith("gpuos.Session(cells=1, compiled=")
