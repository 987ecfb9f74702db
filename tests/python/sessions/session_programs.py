"""Introductory programs of CUDA, in the words of many who begin.

A program, its kernels, and what main() returns without and with a device.
"""

Programs = dict[str, tuple[str, list[str], int, int]]

PROGRAMS: Programs = {
    "unified memory": (
        r"""
#include <iostream>
#include <math.h>
// as many threads as there are, each takes every so many-th element
__global__ void accumulate(const float* terms, float* sums, int n) {
  for (int at = threadIdx.x + blockIdx.x * blockDim.x; at < n;
       at += gridDim.x * blockDim.x)
    sums[at] += terms[at];
}
int main() {
  const int n = 300000;
  float *terms, *sums, off = 0.0f;
  cudaError_t status = cudaMallocManaged(&terms, n * sizeof(float));
  if (status == cudaErrorNoDevice || status == cudaErrorNotSupported) {
    std::cerr << cudaGetErrorName(status) << std::endl;
    return 2;
  }
  cudaMallocManaged((void**)&sums, n * sizeof(float), cudaMemAttachGlobal);
  for (int i = 0; i != n; ++i) terms[i] = i % 10, sums[i] = 0.25f;
  int gpu = -1;
  cudaGetDevice(&gpu);
  cudaMemPrefetchAsync(terms, n * sizeof(float), gpu, NULL);
  cudaMemAdvise(terms, n * sizeof(float), 1, gpu);
  accumulate<<<60, 192>>>(terms, sums, n);
  cudaDeviceSynchronize();
  for (int i = 0; i != n; ++i) off = fmax(off, fabs(sums[i] - i % 10 - 0.25f));
  std::cout << "off by at most " << off << std::endl;
  cudaFree(terms);
  cudaFree(sums);
  return off == 0 ? 0 : 1;
}
""",
        ["accumulate"],
        2,
        0,
    ),
    "reduction": (
        r"""
#include <stdio.h>
#include <numeric>
#include <vector>
#define CUDA_CHECK(call) { check_cuda((call), #call, __LINE__); }
inline void check_cuda(cudaError_t code, const char *call, int line, bool end=true)
{
    if (code == cudaSuccess) return;
    fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(code));
    if (end) exit(code);
}

// Half of the threads add what the other half has, until one is left.
__global__ void sum_of_block(const int *from, int *to, unsigned int n)
{
    extern __shared__ int kept[];
    const unsigned int me = threadIdx.x, at = 2*blockDim.x*blockIdx.x + me;
    kept[me] = at < n ? from[at] : 0;
    if (at + blockDim.x < n) kept[me] += from[at + blockDim.x];
    for (unsigned int half = blockDim.x >> 1; half != 0; half >>= 1) {
        __syncthreads();
        if (me < half) kept[me] += kept[me + half];
    }
    if (!me) to[blockIdx.x] = *kept;
}

int main()
{
    const unsigned int n = 100000, threads = 128;
    const unsigned int blocks = (n + 2 * threads - 1) / (2 * threads);
    std::vector<int> all(n), sums(blocks);
    for (auto& x : all) x = &x - all.data() & 7;
    const int expected = std::accumulate(all.begin(), all.end(), 0);
    int devices = 0;
    cudaGetDeviceCount(&devices);
    if (devices == 0) return expected;
    int *d_all, *d_sums;
    CUDA_CHECK(cudaMalloc(&d_all, n * sizeof *d_all));
    CUDA_CHECK(cudaMalloc(&d_sums, blocks * sizeof *d_sums));
    CUDA_CHECK(cudaMemcpy(d_all, all.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    sum_of_block<<<blocks, threads, threads * sizeof(int)>>>(d_all, d_sums, n);
    CUDA_CHECK(cudaPeekAtLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(sums.data(), d_sums, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(d_all));
    CUDA_CHECK(cudaFree(d_sums));
    return std::accumulate(begin(sums), end(sums), 0);
}
""",
        ["sum_of_block"],
        350000,
        350000,
    ),
    "warp shuffles": (
        r"""
#include <iostream>
using namespace std;
#define EVERYBODY 0xffffffffu
const int n = 10000;

__inline__ __device__ int sum_of_warp(int mine) {
#pragma unroll
  for (int far = warpSize >> 1; far; far >>= 1)
    mine += __shfl_down_sync(EVERYBODY, mine, far);
  return mine;
}
__inline__ __device__ int sum_of_block(int mine) {
  __shared__ int of_warps[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  mine = sum_of_warp(mine);
  if (!lane) of_warps[warp] = mine;
  __syncthreads();
  if (warp) return 0;
  return sum_of_warp(lane < blockDim.x / 32 ? of_warps[lane] : 0);
}
__global__ void sum_up(const int *values, int count, int *total) {
  int mine = 0;
  for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < count; i += blockDim.x * gridDim.x)
    mine += values[i];
  mine = sum_of_block(mine);
  if (threadIdx.x == 0) atomicAdd(total, mine);
}
__global__ void vote(int *values, unsigned *odd) {
  unsigned mask = __ballot_sync(EVERYBODY, values[threadIdx.x] & 1);
  if (threadIdx.x == 0) *odd = __popc(mask);
}

int main() {
  int h[n], total = 0;
  for (int i = 0; i < n; ++i) total += h[i] = i % 11;
  cout << "the host has " << total << endl;
  int *d = nullptr, *out; unsigned *odd, found = 0;
  if (auto e = cudaMalloc(&d, sizeof h); e != cudaSuccess) return e;
  cudaMalloc(&out, sizeof(int)); cudaMalloc(&odd, sizeof(unsigned));
  cudaMemset(out, 0, sizeof(int));
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  int threads = 512, blocks = min((n + threads - 1) / threads, 1024), got;
  sum_up<<<blocks, threads>>>(d, n, out);
  vote<<<1, 32>>>(d, odd);
  cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&found, odd, sizeof found, cudaMemcpyDeviceToHost);
  cudaFree(d), cudaFree(out), cudaFree(odd);
  return (got - total) * 100 + int(found) - 15;  // of 0 1 .. 10 0 1 .. 9
}
""",
        ["sum_up", "vote"],
        100,
        0,
    ),
    "histogram": (
        r"""
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <iostream>
#include <memory>
#include <string>
constexpr int BINS = 26;
using count_t = unsigned int;

__global__ void histogram(const char* text, int length, count_t* bins) {
  __shared__ count_t local[BINS];
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) local[i] = 0u;
  __syncthreads();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < length) {
    const char c = text[at];
    if ('a' <= c && c <= 'z') atomicAdd(&local[c - 'a'], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < BINS; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}

int main() {
  std::string text;
  while (text.size() < 5000) text += "the quick brown fox; jumps /* over */ ";
  auto bins = std::make_unique<count_t[]>(BINS);
  count_t expected[BINS] = {};
  for (char c : text)
    if (c >= 'a' && c <= 'z') ++expected[c - 'a'];
  char* d_text = nullptr;
  count_t* d_bins = nullptr;
  cudaMalloc(&d_text, text.length());
  cudaMalloc(&d_bins, BINS * sizeof(count_t));
  if (!d_bins) return expected['o' - 'a'];
  cudaMemset(d_bins, 0, BINS * sizeof(count_t));
  cudaMemcpy(d_text, text.c_str(), text.length(), cudaMemcpyHostToDevice);
  histogram<<<(text.length() + 127) / 128, 128>>>(d_text, text.length(), d_bins);
  cudaMemcpy(bins.get(), d_bins, BINS * sizeof(count_t), cudaMemcpyDeviceToHost);
  cudaFree(d_text);
  cudaFree(d_bins);
  for (int i = 0; i < BINS; ++i)
    if (bins[i] != expected[i]) return -1;
  return bins['o' - 'a'];
}
""",
        ["histogram"],
        396,
        396,
    ),
    "heat in a plate": (
        r"""
#include <cstdio>
#include <utility>
#include <vector>
#define CHECK(call)                                                   \
  {                                                                   \
    const cudaError_t error = call;                                   \
    if (error != cudaSuccess) {                                       \
      printf("Error: %s:%d, ", __FILE__, __LINE__);                   \
      printf("code:%d, reason: %s\n", error, cudaGetErrorString(error)); \
      return -10 * error;                                             \
    }                                                                 \
  }
namespace {
const int WIDTH = 100, HEIGHT = 60, STEPS = 20;
inline __host__ __device__ float mean(float n, float e, float s, float w) {
  return 0.25f * (n + e + s + w);
}
}
template <typename T> __device__ T* row(T* base, size_t pitch, int y) {
  return (T*)((char*)base + y * pitch);
}
__global__ void heat(float* to, float* from, size_t pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= WIDTH - 1 || y >= HEIGHT - 1) return;
  row(to, pitch, y)[x] =
      mean(row(from, pitch, y - 1)[x], row(from, pitch, y)[x + 1],
           row(from, pitch, y + 1)[x], row(from, pitch, y)[x - 1]);
}
int main() {
  std::vector<float> plate(WIDTH * HEIGHT, 0.f), got(WIDTH * HEIGHT);
  for (int x = 0; x < WIDTH; ++x) plate[x] = 64.f;
  std::vector<float> next = plate;
  float *a, *b;
  size_t pitch;
  CHECK(cudaMallocPitch(&a, &pitch, WIDTH * sizeof(float), HEIGHT));
  CHECK(cudaMallocPitch((void**)&b, &pitch, WIDTH * sizeof(float), HEIGHT));
  CHECK(cudaMemset2D(b, pitch, 0, WIDTH * sizeof(float), HEIGHT));
  for (float* p : {a, b})
    CHECK(cudaMemcpy2D(p, pitch, plate.data(), WIDTH * sizeof(float),
                       WIDTH * sizeof(float), HEIGHT, cudaMemcpyHostToDevice));
  dim3 block(16, 8), grid((WIDTH + 15) / 16, (HEIGHT + 7) / 8);
  for (int step = 0; step < STEPS; ++step) {
    heat<<<grid, block>>>(b, a, pitch);
    std::swap(a, b);
    for (int y = 1; y < HEIGHT - 1; ++y)
      for (int x = 1; x < WIDTH - 1; ++x)
        next[y * WIDTH + x] =
            mean(plate[(y - 1) * WIDTH + x], plate[y * WIDTH + x + 1],
                 plate[(y + 1) * WIDTH + x], plate[y * WIDTH + x - 1]);
    std::swap(plate, next);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(got.data(), WIDTH * sizeof(float), a, pitch,
                     WIDTH * sizeof(float), HEIGHT, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  int wrong = 0;
  for (size_t i = 0; i < got.size(); ++i)
    wrong += std::abs(got[i] - plate[i]) > 1e-4f;
  return wrong;
}
""",
        ["heat"],
        -1000,
        0,
    ),
    "life": (
        r"""
// Conway's Game of Life on a torus
#include <iostream>
#include <bitset>
using namespace std;
typedef unsigned char ubyte;
enum Cell : ubyte { DEAD, ALIVE };
const size_t W = 64, H = 64;
struct World { Cell cells[W * H]; };

__global__ void simpleLifeKernel(const World* now, World* then) {
  for (size_t id = blockIdx.x * blockDim.x + threadIdx.x; id < W * H;
       id += blockDim.x * gridDim.x) {
    size_t x = id % W, y = id - x;
    size_t left = (x + W - 1) % W, right = (x + 1) % W;
    size_t up = (y + W * H - W) % (W * H), down = (y + W) % (W * H);
    int n = now->cells[left + up] + now->cells[x + up] + now->cells[right + up]
          + now->cells[left + y] + now->cells[right + y]
          + now->cells[left + down] + now->cells[x + down]
          + now->cells[right + down];
    then->cells[id] = n == 3 || (n == 2 && now->cells[id]) ? ALIVE : DEAD;
  }
}
int count(const World& w) {
  int alive = 0;
  for (auto c : w.cells) switch (c) { case ALIVE: ++alive; break; case DEAD: ; }
  return alive;
}
int main() {
  static World world{};
  // a glider
  for (auto [x, y] : {pair{1, 0}, pair{2, 1}, pair{0, 2}, pair{1, 2}, pair{2, 2}})
    world.cells[y * W + x] = ALIVE;
  if (count(world) != 5) return -1;
  World *d1, *d2;
  if (cudaMalloc(&d1, sizeof(World)) != cudaSuccess) return count(world);
  cudaMalloc(&d2, sizeof(World));
  cudaMemcpy(d1, &world, sizeof world, cudaMemcpyHostToDevice);
  for (int i = 0; i < 4 * 10; ++i) {
    simpleLifeKernel<<<8, 128>>>(d1, d2);
    swap(d1, d2);
  }
  cudaMemcpy(&world, d1, sizeof world, cudaMemcpyDeviceToHost);
  cudaFree(d1); cudaFree(d2);
  return world.cells[12 * W + 11] == ALIVE ? count(world) : -2;
}
""",
        ["simpleLifeKernel"],
        5,
        5,
    ),
}
