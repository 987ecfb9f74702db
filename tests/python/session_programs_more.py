"""More introductory programs, as session_programs.py has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session_programs import Programs

PROGRAMS: Programs = {
    "functors and templates": (
        r"""
#include <functional>
#include <iostream>
#include <type_traits>
#include <vector>
struct Square { template <typename T> __host__ __device__ T operator()(T x) const { return x * x; } };
template <int K> struct Plus { __host__ __device__ int operator()(int x) const { return x + K; } };
template <typename T> struct Affine {
  T a, b;
  __host__ __device__ T operator()(T x) const;
};
template <typename T> __host__ __device__ T Affine<T>::operator()(T x) const { return a * x + b; }

template <typename T, typename F>
__global__ void transform(T* data, int n, F f) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    data[i] = f(data[i]);
}
template <typename T, int N>
__global__ void fill(T (*rows)[N], T value) { rows[blockIdx.x][threadIdx.x] = value; }

// Applies f on the device, if there is one.
template <typename T, typename F>
std::vector<T> on_device(std::vector<T> v, F f) {
  static_assert(std::is_trivially_copyable<F>::value, "it is copied to the device");
  T* d = nullptr;
  if (cudaMalloc(&d, v.size() * sizeof(T)) == cudaSuccess) {
    cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    transform<<<2, 64>>>(d, int(v.size()), f);
    cudaMemcpy(v.data(), d, v.size() * sizeof(T), cudaMemcpyDeviceToHost);
    cudaFree(d);
  } else {
    for (T& x : v) x = f(x);
  }
  return v;
}
int main() {
  auto sum = [](const auto& v) { double s = 0; for (auto x : v) s += x; return s; };
  std::function<double(double)> half = [](double x) { return x / 2; };
  std::vector<int> v = {1, 2, 3};
  double total = sum(on_device(v, Square{})) + sum(on_device(v, Plus<10>()));
  total += sum(on_device(std::vector<float>{1.5f, 2.5f}, Affine<float>{2, 1}));
  return int(half(total));  // (14 + 36 + 10) / 2
}
""",
        [
            "transform<int, Square>",
            "transform<float, Affine<float>>",
            "fill<double, 8>",
        ],
        30,
        30,
    ),
    "matrix and vector": (
        r"""
#include <stdio.h>
#include <stdlib.h>
#define ROWS 50
#define COLS 70
extern "C" __global__ void mv(const float (*m)[COLS], const float *v, float *out)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= ROWS) return;
    float sum = 0.f;
    for (int c = 0; c < COLS; c++) sum += m[r][c] * v[c];
    out[r] = sum;
}
extern "C" {
void cpu_mv(float m[ROWS][COLS], float *v, float *out)
{
    int r, c;
    for (r = 0; r < ROWS; r++)
        for (out[r] = 0, c = 0; c < COLS; c++) out[r] += m[r][c] * v[c];
}
}
float m[ROWS][COLS], v[COLS], out[ROWS], ref[ROWS];
int main()
{
    float (*d_m)[COLS], *d_v, *d_out;
    int i, j, bad = 0;
    for (i = 0; i < ROWS; i++) for (j = 0; j < COLS; j++) m[i][j] = (i ^ j) & 15;
    for (j = 0; j < COLS; j++) v[j] = j - 30;
    cpu_mv(m, v, ref);
    // the same by an array of pointers to rows
    float *rows[ROWS];
    for (i = 0; i < ROWS; i++) rows[i] = &m[i][0];
    if (rows[7][9] != m[7][9]) goto done;
    if (cudaMalloc((void **)&d_m, sizeof m) != cudaSuccess) { bad = 11; goto done; }
    cudaMalloc((void **)&d_v, sizeof v);
    cudaMalloc((void **)&d_out, sizeof out);
    cudaMemcpy(d_m, m, sizeof m, cudaMemcpyHostToDevice);
    cudaMemcpy(d_v, v, sizeof v, cudaMemcpyHostToDevice);
    mv<<<(ROWS + 31) / 32, 32>>>(d_m, d_v, d_out);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    for (i = 0; i < ROWS; i++) if (out[i] != ref[i]) bad++;
    cudaFree(d_m); cudaFree(d_v); cudaFree(d_out);
done:
    return bad;
}
""",
        ["mv"],
        11,
        0,
    ),
    "softmax of rows": (
        r"""
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <vector>
template <int THREADS>
__global__ void __launch_bounds__(THREADS) softmax(float* __restrict__ x, int cols) {
  __shared__ float part[THREADS];
  float* row = x + (size_t)blockIdx.x * cols;
  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += THREADS) m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += THREADS) sum += row[c] = __expf(row[c] - m);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += THREADS) row[c] /= part[0];
}
auto main() -> int {
  constexpr int rows{6}, cols{130};
  std::vector<float> x(rows * cols);
  for (std::size_t i{}; i < x.size(); ++i) x[i] = std::sin(float(i));
  float* d{};
  if (cudaMalloc(&d, sizeof(float) * x.size()) not_eq cudaSuccess) return rows;
  cudaMemcpy(d, x.data(), sizeof(float) * x.size(), cudaMemcpyHostToDevice);
  softmax<128><<<rows, 128>>>(d, cols);
  std::vector<float> y(x.size());
  cudaMemcpy(y.data(), d, sizeof(float) * y.size(), cudaMemcpyDeviceToHost);
  cudaFree(d);
  int bad{0};
  for (int r = 0; r < rows; ++r) {
    double sum = 0, total = 0;
    for (int c = 0; c < cols; ++c) sum += std::exp(x[r * cols + c]);
    for (int c = 0; c < cols; ++c) {
      total += y[r * cols + c];
      bad += std::abs(y[r * cols + c] - std::exp(x[r * cols + c]) / sum) > 1e-5;
    }
    bad += std::abs(total - 1) > 1e-4;
  }
  return bad;
}
""",
        ["softmax<128>"],
        6,
        0,
    ),
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
}
