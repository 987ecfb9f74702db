"""The last introductory programs, as session_programs.py has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session_programs import Programs

PROGRAMS: Programs = {
    "n-body": (
        r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
#define SOFT 1e-3f
#define TILE 64
#define HD __host__ __device__ __forceinline__
// what `other`, of mass w, adds to the pull at `here`
HD float3 pull(float4 here, float4 other, float3 sum)
{
  float3 to = {other.x - here.x, other.y - here.y, other.z - here.z};
  float far2 = SOFT + to.x * to.x + to.y * to.y + to.z * to.z;
  float strength = other.w / (far2 * sqrtf(far2));
  return make_float3(sum.x + strength * to.x, sum.y + strength * to.y,
                     sum.z + strength * to.z);
}
__device__ float3 pull_of_tile(float4 here, float3 sum)
{
  extern __shared__ float4 bodies[];
  for (int k = 0; k < blockDim.x; k++) sum = pull(here, bodies[k], sum);
  return sum;
}
__global__ void forces(void *positions, void *results, int count)
{
  extern __shared__ float4 bodies[];
  const float4 *from = (const float4 *)positions;
  const int mine = threadIdx.x + blockDim.x * blockIdx.x;
  const float4 here = from[mine];
  float3 sum = {0.0f, 0.0f, 0.0f};
  for (int tile = 0; tile * blockDim.x < count; ++tile) {
    bodies[threadIdx.x] = from[tile * blockDim.x + threadIdx.x];
    __syncthreads();
    sum = pull_of_tile(here, sum);
    __syncthreads();
  }
  ((float4 *)results)[mine] = make_float4(sum.x, sum.y, sum.z, 0.f);
}
typedef struct { float4 *pos, *acc; } Bodies;
int main() {
  const int N = 256;
  size_t bytes = N * sizeof(float4);
  Bodies s = {(float4*)malloc(bytes), (float4*)calloc(N, sizeof(float4))}, d;
  srand(1);
  for (int i = 0; i < N; i++)
    s.pos[i] = make_float4(rand() % 100 / 100.f, rand() % 100 / 100.f, rand() % 100 / 100.f, 1.f / N);
  float3 a = make_float3(0, 0, 0);
  for (int j = 0; j < N; j++) a = pull(s.pos[0], s.pos[j], a);
  int result = fabs(a.x) + fabs(a.y) + fabs(a.z) < 1e4 ? 8 : 9;
  if (cudaMalloc(&d.pos, bytes) == cudaSuccess) {
    cudaMalloc(&d.acc, bytes);
    cudaMemcpy(d.pos, s.pos, bytes, cudaMemcpyHostToDevice);
    forces<<<N / TILE, TILE, TILE * sizeof(float4)>>>(d.pos, d.acc, N);
    cudaMemcpy(s.acc, d.acc, bytes, cudaMemcpyDeviceToHost);
    float off = fabs(s.acc[0].x - a.x) + fabs(s.acc[0].y - a.y) + fabs(s.acc[0].z - a.z);
    if (!(off < 1e-2f * (1 + fabs(a.x) + fabs(a.y) + fabs(a.z)))) result = 10;
    cudaFree(d.pos); cudaFree(d.acc);
  }
  free(s.pos); free(s.acc);
  return result;
}
""",
        ["forces"],
        8,
        8,
    ),
    "device query": (
        r"""
#include "cuda_runtime.h"
#include <cstdio>
#include <cstring>
#include <string>

int main() {
  int count, driver = 0;
  cudaError_t err = cudaGetDeviceCount(&count);
  if (err != cudaSuccess) {
    printf("no answer (%d): %s\n", static_cast<int>(err), cudaGetErrorString(err));
    return strlen(cudaGetErrorName(err));
  }
  for (int id = 0; id < count; id++) {
    cudaSetDevice(id);
    cudaDeviceProp its;
    cudaGetDeviceProperties(&its, id);
    printf("%d is a \"%s\" of %d.%d\n", id, its.name, its.major, its.minor);
    printf("  %.1f GiB, %zu bytes\n", static_cast<float>(its.totalGlobalMem / 1073741824.0f), its.totalGlobalMem);
    printf("  %d processors, warps of %d\n", its.multiProcessorCount, its.warpSize);
    printf("  shared %zu, constant %zu\n", its.sharedMemPerBlock, its.totalConstMem);
    printf("  %d threads in a block of %d x %d x %d, grid %d x %d x %d\n", its.maxThreadsPerBlock,
           its.maxThreadsDim[0], its.maxThreadsDim[1], its.maxThreadsDim[2],
           its.maxGridSize[0], its.maxGridSize[1], its.maxGridSize[2]);
    printf("  %g GB/s\n", its.memoryClockRate * 2e-6 * its.memoryBusWidth / 8);
    int processors = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, id);
    size_t unused, all;
    cudaMemGetInfo(&unused, &all);
    if (processors != its.multiProcessorCount || unused > all || its.warpSize != 32) return 1;
    if (std::string(its.name).empty() || its.maxThreadsDim[0] < its.maxThreadsDim[2]) return 2;
  }
  return 0;
}
""",
        [],
        17,
        0,
    ),
    "hello": (
        r"""
#include <cassert>
#include <cstdio>

__device__ const char* word(int i) { return i % 2 ? "tick" : "tock"; }
__global__ void speak() {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  assert(id < 8);
  printf("%s, says thread %d of block %d\n", word(id), threadIdx.x, blockIdx.x);
}
void speak_here(void) { printf("and the host says nothing else\n"); }

int main(int argc, char **argv) {
  speak_here();
  cudaSetDevice(0);
  if (cudaFree(0) != cudaSuccess) return argc + 3;
  speak<<<2, 4>>>();
  cudaDeviceSynchronize();
  cudaDeviceReset();
  return 0;
}
""",
        ["speak"],
        3,
        0,
    ),
    "lock": (
        r"""
#include <stdio.h>
struct Door {
  int *closed;
  Door( void ) : closed(nullptr) {
    if (cudaMalloc( (void**)&closed, sizeof(int) ) == cudaSuccess)
      cudaMemset( closed, 0, sizeof(int) );
  }
  // only who made it ends it, not the copies that kernels get
  void end( void ) { cudaFree( closed ); }
  __device__ void enter( void ) {
    while (atomicCAS( closed, 0, 1 ));
    __threadfence();
  }
  __device__ void leave( void ) {
    __threadfence();
    atomicExch( closed, 0 );
  }
};
volatile __device__ int visitors = 0;
__global__ void visit( Door door ) {
  if (threadIdx.x != 0) return;
  door.enter();
  visitors = visitors + 1;
  door.leave();
}
union Word { float f; unsigned bits; };
static_assert(sizeof(Word) == 4, "");
int main( void ) {
  const int blocks = 200;
  Door door;
  Word w = { 1.0f };
  int count = w.bits >> 23;
  if (door.closed == nullptr) return count;
  int zero = 0;
  cudaMemcpyToSymbol( visitors, &zero, sizeof zero );
  visit<<<blocks, 128>>>( door );
  cudaMemcpyFromSymbol( &count, visitors, sizeof count );
  door.end();
  return count;
}
""",
        ["visit"],
        127,
        200,
    ),
    "tridiagonal systems": (
        r"""
#include <stdio.h>
#include <vector>
#ifdef USE_FLOAT
typedef float real;
#else
typedef double real;
#endif
constexpr unsigned SIZE = 32u;
const auto SYSTEMS = 100u;
struct __align__(16) Row { real a, b, c, d; };

// After Thomas: a system for each thread, element next to element
__device__ void solve(const Row* rows, real* x, unsigned stride) {
  real c[SIZE], d[SIZE];
  c[0] = rows[0].c / rows[0].b;
  d[0] = rows[0].d / rows[0].b;
  for (unsigned i = 1; i < SIZE; ++i) {
    const Row& r = rows[i * stride];
    const real m = 1 / (r.b - r.a * c[i - 1]);
    c[i] = r.c * m;
    d[i] = (r.d - r.a * d[i - 1]) * m;
  }
  x[(SIZE - 1) * stride] = d[SIZE - 1];
  for (int i = SIZE - 2; i >= 0; --i) x[i * stride] = d[i] - c[i] * x[(i + 1) * stride];
}
__global__ void thomas(const Row* rows, real* x) {
  const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < SYSTEMS) solve(rows + s, x + s, SYSTEMS);
}
int main() {
  std::vector<Row> rows(SIZE * SYSTEMS);
  std::vector<real> x(rows.size());
  for (unsigned i = 0; i < SIZE; ++i)
    for (unsigned s = 0; s < SYSTEMS; ++s)
      rows[i * SYSTEMS + s] = {i ? real(1) : 0, 4, i + 1 < SIZE ? real(1) : 0, real(i * s % 7)};
  Row* d_rows; real* d_x;
  if (cudaMallocAsync(&d_rows, rows.size() * sizeof(Row), 0)) return sizeof(Row) / sizeof(real);
  cudaMallocAsync(&d_x, x.size() * sizeof(real), 0);
  cudaMemcpy(d_rows, rows.data(), rows.size() * sizeof(Row), cudaMemcpyHostToDevice);
  thomas<<<(SYSTEMS + 63u) / 64u, 64u>>>(d_rows, d_x);
  cudaMemcpy(x.data(), d_x, x.size() * sizeof(real), cudaMemcpyDeviceToHost);
  cudaFreeAsync(d_rows, 0); cudaFreeAsync(d_x, 0);
  for (unsigned i = 0; i < SIZE; ++i)
    for (unsigned s = 0; s < SYSTEMS; ++s) {
      const auto& [a, b, c, d] = rows[i * SYSTEMS + s];
      real left = b * x[i * SYSTEMS + s] - d;
      if (i) left += a * x[(i - 1) * SYSTEMS + s];
      if (i + 1 < SIZE) left += c * x[(i + 1) * SYSTEMS + s];
      if (left > 1e-9 || left < -1e-9) return 1;
    }
  return 0;
}
""",
        ["thomas"],
        4,
        0,
    ),
    "project of an editor": (
        r"""
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#include <stdio.h>

cudaError_t multiply(int *result, const int *left, const int *right, unsigned int count);

__global__ void multiplyKernel(int *result, const int *left, const int *right)
{
    int k = threadIdx.x;
    result[k] = left[k] * right[k];
}

int main()
{
    const int COUNT = 6;
    const int left[COUNT] = { 1, 2, 3, 4, 5, 6 }, right[COUNT] = { 7, 6, 5, 4, 3, 2 };
    int result[COUNT] = { 0 };

    cudaError_t status = multiply(result, left, right, COUNT);
    if (status != cudaSuccess) {
        fprintf(stderr, "could not multiply");
        return 1;
    }
    printf("%d %d %d %d %d %d\n", result[0], result[1], result[2], result[3], result[4], result[5]);

    // So that a profiler sees everything
    if ((status = cudaDeviceReset()) != cudaSuccess) {
        fprintf(stderr, "could not reset");
        return 1;
    }
    return result[5] - 12;
}

// Copies, launches, waits and copies back.
cudaError_t multiply(int *result, const int *left, const int *right, unsigned int count)
{
    int *d_left = 0;
    int *d_right = 0;
    int *d_result = 0;
    cudaError_t status;

    if ((status = cudaSetDevice(0)) != cudaSuccess) {
        fprintf(stderr, "no device 0\n");
        goto Failed;
    }
    for (int **p : { &d_left, &d_right, &d_result }) {
        status = cudaMalloc((void**)p, count * sizeof(int));
        if (status != cudaSuccess) {
            fprintf(stderr, "no memory\n");
            goto Failed;
        }
    }
    status = cudaMemcpy(d_left, left, count * sizeof(int), cudaMemcpyHostToDevice);
    if (status != cudaSuccess) goto Failed;
    status = cudaMemcpy(d_right, right, count * sizeof(int), cudaMemcpyHostToDevice);
    if (status != cudaSuccess) goto Failed;

    multiplyKernel<<<1, count>>>(d_result, d_left, d_right);
    status = cudaGetLastError();
    if (status != cudaSuccess) {
        fprintf(stderr, "no launch: %s\n", cudaGetErrorString(status));
        goto Failed;
    }
    if ((status = cudaDeviceSynchronize()) != cudaSuccess) {
        fprintf(stderr, "code %d while it ran\n", status);
        goto Failed;
    }
    status = cudaMemcpy(result, d_result, count * sizeof(int), cudaMemcpyDeviceToHost);

Failed:
    cudaFree(d_left);
    cudaFree(d_right);
    cudaFree(d_result);
    return status;
}
""",
        ["multiplyKernel"],
        1,
        0,
    ),
}
