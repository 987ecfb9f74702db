"""Introductory programs of CUDA, as whole cells that end with a main()."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import session_programs
import session_programs_last
import session_programs_more
from deadlines import WAIT_S
from session_support import make_session

import gpuos

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS: session_programs.Programs = {
    **session_programs.PROGRAMS,
    **session_programs_more.PROGRAMS,
    **session_programs_last.PROGRAMS,
    "vectors and events": (
        r"""
#include <stdio.h>
#include <cuda_runtime.h>
#define N 1024
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); } } while (0)
__constant__ float coeff[4];
__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * coeff[0] + b[i];
}
int main(void) {
  float *h_a = (float*)malloc(N * sizeof(float)), *d_a, *d_b, *d_c;
  float h_c[4] = {1, 2, 3, 4};
  for (int i = 0; i < N; i++) h_a[i] = i;
  CHECK(cudaMalloc(&d_a, N * sizeof(float)));
  CHECK(cudaMalloc((void**)&d_b, N * sizeof(float)));
  CHECK(cudaMalloc(&d_c, N * sizeof(float)));
  CHECK(cudaMemcpyToSymbol(coeff, h_c, sizeof(h_c)));
  cudaEvent_t start, stop; float ms = 0;
  cudaEventCreate(&start); cudaEventCreate(&stop);
  cudaEventRecord(start);
  dim3 threads(256), blocks((N + threads.x - 1) / threads.x);
  try { add<<<blocks, threads>>>(d_a, d_b, d_c, N); } catch (...) { printf("no launch\n"); }
  CHECK(cudaGetLastError());
  cudaEventRecord(stop); cudaEventSynchronize(stop);
  cudaEventElapsedTime(&ms, start, stop);
  free(h_a); cudaFree(d_a);
  return max(0, 3);
}
""",
        ["add"],
        3,
        3,
    ),
    "tiles and bodies": (
        r"""
#include <iostream>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
using namespace std;
const int TILE = 32;
__global__ void transpose(float* out, const float* in, int w, int h) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
  if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
struct Body { float4 pos; float3 vel; };
template <typename T> __global__ void scale(T* v, T s, int n) { int i = threadIdx.x; if (i < n) v[i] *= s; }
__device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__global__ void step(Body* b, int n) { int i = threadIdx.x; if (i < n) b[i].pos = b[i].pos + make_float4(1, 1, 1, 0); }
int main() {
  vector<float> h(TILE * TILE, 1.0f);
  Body b{make_float4(1, 2, 3, 4), {0, 0, 0}};
  dim3 grid(1, 1), block(TILE, TILE);
  float* d; 
  if (cudaMalloc(&d, h.size() * sizeof(float)) != cudaSuccess) { cerr << "no device\n"; return int(b.pos.w) + min(1, 2); }
  transpose<<<grid, block>>>(d, d, TILE, TILE);
  scale<float><<<1, 32>>>(d, 2.0f, 32);
  cudaDeviceSynchronize();
  return 0;
}
""",
        ["transpose", "step", "scale<float>"],
        5,
        0,
    ),
}


@pytest.fixture(scope="module")
def session(backend: str) -> Iterator[gpuos.Session]:
    with gpuos.Runtime(backend=backend, watchdog_s=WAIT_S) as rt:
        yield make_session(rt)


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=list(PROGRAMS))
def test_a_program_is_a_cell(session, backend, number):
    text, kernels, *codes = list(PROGRAMS.values())[number]
    while session.undo():  # whatever the program before it has left
        pass
    session.run(text.replace("\n", "\r\n") if number % 2 else text)
    arguments = "0, nullptr" if "int argc" in text else ""
    session.run(f"int code = main({arguments});")
    assert session["code"] == codes[backend == "cuda"]
    for kernel in kernels:
        assert session.link(kernel).startswith(b"\x7fELF")
