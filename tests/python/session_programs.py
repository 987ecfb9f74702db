"""Introductory programs of CUDA, in the words of many who begin.

A program, its kernels, and what main() returns without and with a device.
"""

from __future__ import annotations

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
    "mandelbrot": (
        r"""
#include <stdio.h>
#define SIDE 128
struct number {
    float   re;
    float   im;
    __host__ __device__ number( float a, float b ) : re(a), im(b) {}
    __host__ __device__ float square( void ) const { return re * re + im * im; }
    __host__ __device__ number operator*(const number& o) const {
        return number(re*o.re - im*o.im, re*o.im + im*o.re);
    }
    __host__ __device__ number operator+(const number& o) const;
};
__host__ __device__ number number::operator+(const number& o) const {
    return number(re+o.re, im+o.im);
}
__host__ __device__ bool stays( int row, int column ) {
    const number c(3.0f * column / SIDE - 2.0f, 3.0f * row / SIDE - 1.5f);
    number z(0, 0);
    for (int step = 0; step < 80; step++) {
        z = z * z + c;
        if (z.square() > 4) return false;
    }
    return true;
}
__global__ void paint( unsigned char *picture ) {
    // a block for each pixel, as slow as can be
    picture[blockIdx.y * gridDim.x + blockIdx.x] = stays( blockIdx.y, blockIdx.x ) ? 255 : 0;
}
int white( const unsigned char *picture ) {
    int n = 0;
    for (int i=0; i<SIDE*SIDE; i++) n += picture[i] / 255;
    return n;
}
int main( void ) {
    static unsigned char picture[SIDE * SIDE], *d_picture;
    for (int i=0; i<SIDE*SIDE; i++) picture[i] = 255 * stays(i / SIDE, i % SIDE);
    int expected = white(picture);
    if (cudaMalloc( (void**)&d_picture, sizeof(picture) ) == cudaSuccess) {
        dim3    grid(SIDE,SIDE);
        paint<<<grid,1>>>( d_picture );
        cudaMemcpy( picture, d_picture, sizeof(picture), cudaMemcpyDeviceToHost );
        cudaFree( d_picture );
    }
    // the device may round a product and a sum at once
    int off = white(picture) - expected;
    return expected > 1000 && off * off < 100 ? 42 : off;
}
""",
        ["paint"],
        42,
        42,
    ),
    "bitonic sort": (
        r"""
#include <algorithm>
#include <random>
#include <vector>
using std::vector;
template <class T> __device__ void exchange(T& a, T& b) { T t = a; a = b; b = t; }

__global__ void bitonic_step(int *values, int j, int k) {
  unsigned int i = threadIdx.x + blockDim.x * blockIdx.x, ixj = i ^ j;
  if (ixj > i) {
    bool up = (i & k) == 0;
    if (up == (values[i] > values[ixj])) exchange(values[i], values[ixj]);
  }
}
class Sorter {
 public:
  explicit Sorter(int n) : n_(n) { good_ = !cudaMalloc(&values_, n * sizeof(int)); }
  ~Sorter() { cudaFree(values_); }
  bool sort(vector<int>& v);
 private:
  int n_, *values_ = nullptr;
  bool good_ = false;
};
bool Sorter::sort(vector<int>& v) {
  if (!good_) return false;
  cudaMemcpy(values_, &v[0], n_ * sizeof(int), cudaMemcpyHostToDevice);
  for (int k = 2; k <= n_; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1)
      bitonic_step<<<n_ / 256, 256>>>(values_, j, k);
  cudaMemcpy(v.data(), values_, n_ * sizeof(int), cudaMemcpyDeviceToHost);
  return true;
}
int main() {
  std::mt19937 dice(7);
  vector<int> v(1 << 12);
  std::generate(v.begin(), v.end(), [&] { return int(dice() >> 1); });
  auto sorted = v;
  std::sort(sorted.begin(), sorted.end());
  Sorter sorter(v.size());
  if (!sorter.sort(v)) return std::is_sorted(begin(v), end(v)) + 5;
  return v == sorted ? 0 : 1;
}
""",
        ["bitonic_step"],
        5,
        0,
    ),
    "streams and copies": (
        r"""
#include <assert.h>
#include <stdio.h>
// Says what went wrong, and stops a debug build
inline
cudaError_t Try(cudaError_t code)
{
#if defined(DEBUG) || defined(_DEBUG)
  if (code != cudaSuccess) {
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(code));
    assert(code == cudaSuccess);
  }
#endif
  return code;
}

__global__ void circle(float *radius, int first)
{
  int at = first + blockDim.x*blockIdx.x + threadIdx.x;
  float angle = 0.001f * at;
  radius[at] += sqrtf(powf(sinf(angle), 2) + powf(cosf(angle), 2));
}

float farthest(float *values, int count)
{
  float far = 0;
  while (count-- > 0) {
    const float off = fabs(*values++ - 1.0f);
    far = off > far ? off : far;
  }
  return far;
}

int main(int argc, char **argv)
{
  const int threads = 256, PARTS = 4, each = 32 * threads;
  const int bytes = each * sizeof(float);
  int id = 0;
  if (argc > 1) id = atoi(argv[1]);
  cudaDeviceProp gpu;
  if (Try( cudaGetDeviceProperties(&gpu, id)) != cudaSuccess) return PARTS;
  printf("%s works in %d streams\n", gpu.name, PARTS);
  Try( cudaSetDevice(id) );

  float *pinned, *d_values, ms = -1;
  Try( cudaMallocHost((void**)&pinned, PARTS * bytes) );
  Try( cudaHostAlloc(&d_values, 16, cudaHostAllocDefault) );
  Try( cudaFreeHost(d_values) );
  Try( cudaMalloc((void**)&d_values, PARTS * bytes) );
  cudaStream_t streams[PARTS];
  cudaEvent_t begin, end, untimed;
  for (auto &stream : streams) Try( cudaStreamCreate(&stream) );
  Try( cudaEventCreate(&begin) );
  Try( cudaEventCreate(&end) );
  Try( cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) );

  memset(pinned, 0, PARTS * bytes);
  Try( cudaEventRecord(begin,0) );
  for (int part = 0, first = 0; part < PARTS; ++part, first += each) {
    Try( cudaMemcpyAsync(d_values + first, pinned + first, bytes,
                         cudaMemcpyHostToDevice, streams[part]) );
    circle<<<each/threads, threads, 0, streams[part]>>>(d_values, first);
    Try( cudaMemcpyAsync(&pinned[first], &d_values[first], bytes,
                         cudaMemcpyDeviceToHost, streams[part]) );
  }
  Try( cudaEventRecord(end, 0) );
  Try( cudaEventSynchronize(end) );
  Try( cudaEventElapsedTime(&ms, begin, end) );
  for (int part = 0; part < PARTS; ++part) Try( cudaStreamSynchronize(streams[part]) );
  const float off = farthest(pinned, PARTS * each);
  printf("%g ms, off by %g\n", ms, off);

  for (cudaEvent_t event : {begin, end, untimed}) Try( cudaEventDestroy(event) );
  for (auto stream : streams) Try( cudaStreamDestroy(stream) );
  cudaFree(d_values);
  cudaFreeHost(pinned);
  return off < 1e-5f && ms >= 0 ? 0 : 1;
}
""",
        ["circle"],
        4,
        0,
    ),
}
