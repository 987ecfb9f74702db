// The device's headers, compiled by the host's compiler in a separate
// namespace. Lanes take turns, so code that needs several lanes at once is not
// here.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#define __CUDACC__ 1
#define __device__
#define __shared__
#define __forceinline__ inline
#define __noinline__ inline

struct uint3 {
  unsigned x, y, z;
};
struct uint4 {
  unsigned x, y, z, w;
};
inline thread_local uint3 threadIdx{};
inline thread_local uint3 blockDim{1, 1, 1};

inline int __clz(unsigned x) { return std::countl_zero(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline std::size_t __cvta_generic_to_shared(const void* address) {
  return reinterpret_cast<std::size_t>(address);
}
inline void* __cvta_shared_to_generic(std::size_t address) {
  return reinterpret_cast<void*>(address);
}
inline unsigned min(unsigned a, unsigned b) { return std::min(a, b); }
inline unsigned max(unsigned a, unsigned b) { return std::max(a, b); }
inline void __syncthreads() {}
inline unsigned atomicInc(unsigned* counter, unsigned last) {
  const unsigned before = *counter;
  *counter = before >= last ? 0 : before + 1;
  return before;
}
inline void __syncwarp(unsigned) {}
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
/// A row has one lane.
template <typename T>
T __shfl_sync(unsigned, T x, unsigned, unsigned) {
  return x;
}
template <typename T>
T __shfl_down_sync(unsigned, T x, unsigned, unsigned) {
  return x;
}
inline bool __any_sync(unsigned, bool x) { return x; }
inline bool __all_sync(unsigned, bool x) { return x; }
/// The disjunction of all lanes since it was cleared, complete in a second
/// pass.
inline thread_local bool said_by_any = false;
inline int __syncthreads_or(int x) { return said_by_any |= x != 0; }

#define gpuos gpuos_of_device
#include "device/compiled/narrow_rows.h"
#include "device/compiled/share.h"
#include "device/compiled/strips.h"
#include "device/interpreter/array_memory.h"
#undef gpuos
