"""More introductory programs, as session_programs.py has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session_programs import Programs

PROGRAMS: Programs = {
    "pi by chance": (
        r"""
#include <iomanip>
#include <iostream>
static const int THREADS = 64, BLOCKS = 16, TRIES = 1000;
// a generator of our own: x = a x + c
struct Lcg {
  unsigned state;
  __host__ __device__ explicit Lcg(unsigned seed) : state(seed * 2654435761u + 1u) {}
  __host__ __device__ float operator()() {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) * (1.0f / 16777216.0f);
  }
};
__host__ __device__ int hits_of(unsigned seed) {
  Lcg draw{seed};
  int hits = 0;
  for (int i = 0; i < TRIES; ++i) {
    float x = draw(), y = draw();
    if (x * x + y * y <= 1.f) hits++;
  }
  return hits;
}
__global__ void darts(int *hits) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  hits[id] = hits_of(id);
}
int main() {
  int *h_hits = NULL, *d_hits = NULL;
  const size_t bytes = sizeof(int) * THREADS * BLOCKS;
  cudaError_t status = cudaMallocHost((void**)&h_hits, bytes);
  bool pinned = status == cudaSuccess;
  if (!pinned) h_hits = new int[THREADS * BLOCKS];
  if (cudaMalloc(&d_hits, bytes) == cudaSuccess) {
    darts<<<BLOCKS, THREADS>>>(d_hits);
    cudaMemcpy(h_hits, d_hits, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_hits);
  } else
    for (int i = 0; i < THREADS * BLOCKS; i++) h_hits[i] = hits_of(i);
  long long sum = 0;
  for (int i = 0; i < THREADS * BLOCKS; i++) sum += h_hits[i];
  if (pinned) cudaFreeHost(h_hits); else delete[] h_hits;
  double pi = 4.0 * sum / (double(THREADS) * BLOCKS * TRIES);
  std::cout << std::fixed << std::setprecision(4) << pi << '\n';
  return int(pi * 100 + 0.5);
}
""",
        ["darts"],
        314,
        314,
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
    "symbols": (
        r"""
#include <iostream>
#define DEGREE 4
__constant__ double coefficients[DEGREE + 1];
__device__ unsigned int calls = 0;
__device__ double last;
__device__ double horner(double x) {
  double y = 0;
  for (int i = DEGREE; i >= 0; --i) y = y * x + coefficients[i];
  return y;
}
__global__ void evaluate(double* x) {
  atomicInc(&calls, 1000000u);
  x[threadIdx.x] = horner(x[threadIdx.x]);
  if (threadIdx.x == blockDim.x - 1) last = x[threadIdx.x];
}
int main() {
  double h[DEGREE + 1] = {1, 0, 2, 0, 1}, x[8], *d, got = -1;  // (1 + x^2)^2
  unsigned n = 7, zero = 0;
  for (int i = 0; i < 8; ++i) x[i] = i;
  if (cudaMemcpyToSymbol(coefficients, h, sizeof(h)) != cudaSuccess) return n;
  cudaMemcpyToSymbol(calls, &zero, sizeof zero);
  cudaMalloc(&d, sizeof(x));
  cudaMemcpy(d, x, sizeof(x), cudaMemcpyHostToDevice);
  evaluate<<<1, 8>>>(d);
  cudaMemcpyFromSymbol(&n, calls, sizeof(unsigned));
  cudaMemcpyFromSymbol(&got, last, sizeof(double), 0, cudaMemcpyDeviceToHost);
  cudaMemcpy(x, d, sizeof(x), cudaMemcpyDeviceToHost);
  cudaFree(d);
  std::cout << n << " calls, the last gave " << got << std::endl;
  return n == 8 && got == 2500 && x[2] == 25 ? 0 : 1;
}
""",
        ["evaluate"],
        7,
        0,
    ),
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
    "particles": (
        r"""
#include <cmath>
#include <iostream>
class v3 {
public:
  float x, y, z;
  v3();
  v3(float xIn, float yIn, float zIn);
  __host__ __device__ void normalize();
  __host__ __device__ v3& operator+=(const v3& o) { x += o.x; y += o.y; z += o.z; return *this; }
};
v3::v3() : x(0), y(0), z(0) {}
v3::v3(float xIn, float yIn, float zIn) : x(xIn), y(yIn), z(zIn) {}
__host__ __device__ void v3::normalize() {
  float t = sqrt(x * x + y * y + z * z);
  x /= t;
  y /= t;
  z /= t;
}
__host__ __device__ v3 operator*(float s, v3 v) { v.x *= s; v.y *= s; v.z *= s; return v; }
std::ostream& operator<<(std::ostream& out, const v3& v) {
  return out << '(' << v.x << ", " << v.y << ", " << v.z << ')';
}
// a structure of arrays
struct Particles { int count; float *x, *y; v3 *velocity; };
__global__ void advance(Particles p, float dt) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= p.count) return;
  v3 v = p.velocity[i];
  v.normalize();
  v += 1.0f * v;
  p.x[i] += dt * v.x;
  p.y[i] += dt * v.y;
}
int main() {
  const int n = 100;
  v3 *h = new v3[n];
  for (int i = 0; i < n; ++i) h[i] = v3(3.f, 4.f, 0.f);
  v3 first = h[0];
  first.normalize();
  std::cout << first << "\n";
  Particles p{n, nullptr, nullptr, nullptr};
  if (cudaMalloc(&p.velocity, n * sizeof(v3)) != cudaSuccess) {
    delete[] h;
    return std::lround(10 * first.x + 100 * first.y);
  }
  cudaMalloc(&p.x, n * sizeof(float)); cudaMalloc(&p.y, n * sizeof(float));
  cudaMemset(p.x, 0, n * sizeof(float)); cudaMemset(p.y, 0, n * sizeof(float));
  cudaMemcpy(p.velocity, h, n * sizeof(v3), cudaMemcpyHostToDevice);
  for (int i = 0; i < 10; i++) advance<<<1 + n / 32, 32>>>(p, 0.5f);
  float x[n], y[n];
  cudaMemcpy(x, p.x, sizeof x, cudaMemcpyDeviceToHost);
  cudaMemcpy(y, p.y, sizeof y, cudaMemcpyDeviceToHost);
  cudaFree(p.x); cudaFree(p.y); cudaFree(p.velocity);
  delete[] h;
  return std::lround(x[n - 1]) + 10 * std::lround(y[0]);
}
""",
        ["advance"],
        86,
        86,
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
}
