"""Introductory programs of CUDA, as whole cells that end with a main()."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import session_programs
import session_programs_more
from deadlines import WAIT_S
from session_support import make_session

import gpuos

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS: session_programs.Programs = {
    **session_programs.PROGRAMS,
    **session_programs_more.PROGRAMS,
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
