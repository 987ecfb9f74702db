// Several neighbouring elements loaded or stored by one instruction.
#pragma once

#include "task_abi.h"

namespace gpuos {

// kWidth elements as they are in memory. The widest access has 16 bytes.
template <typename T, u32 kWidth>
struct alignas(sizeof(T) * kWidth < 16 ? sizeof(T) * kWidth : 16) Vector {
  static_assert(kWidth > 0 && (kWidth & (kWidth - 1)) == 0,
                "Vector: the width is a power of two");
  T values[kWidth];

  GPUOS_DEVICE T& operator[](u32 i) { return values[i]; }
  GPUOS_DEVICE const T& operator[](u32 i) const { return values[i]; }
};
static_assert(sizeof(Vector<float, 4>) == 16 && alignof(Vector<float, 4>) == 16,
              "one access");
static_assert(sizeof(Vector<u16, 2>) == 4 && alignof(Vector<u16, 2>) == 4,
              "one access");
static_assert(sizeof(Vector<double, 4>) == 32 &&
                  alignof(Vector<double, 4>) == 16,
              "two accesses");

// Returns whether load_vector<kWidth>() and store_vector() may take this
// address.
template <u32 kWidth, typename T>
GPUOS_DEVICE inline bool is_aligned(const T* address) {
  return reinterpret_cast<u64>(address) % alignof(Vector<T, kWidth>) == 0;
}

// `from` must be aligned.
template <u32 kWidth, typename T>
GPUOS_DEVICE inline Vector<T, kWidth> load_vector(const T* from) {
#if defined(__CUDACC__)
  return *reinterpret_cast<const Vector<T, kWidth>*>(from);
#else
  Vector<T, kWidth> vector;
  __builtin_memcpy(&vector, from, sizeof(vector));
  return vector;
#endif
}

template <typename T, u32 kWidth>
GPUOS_DEVICE inline void store_vector(T* to, const Vector<T, kWidth>& vector) {
#if defined(__CUDACC__)
  *reinterpret_cast<Vector<T, kWidth>*>(to) = vector;
#else
  __builtin_memcpy(to, &vector, sizeof(vector));
#endif
}

// Loads from any address, element by element if it is not aligned.
template <u32 kWidth, typename T>
GPUOS_DEVICE inline Vector<T, kWidth> load_vector_unaligned(const T* from) {
  if (is_aligned<kWidth>(from)) return load_vector<kWidth>(from);
  Vector<T, kWidth> vector;
  for (u32 i = 0; i < kWidth; ++i) vector.values[i] = from[i];
  return vector;
}

template <typename T, u32 kWidth>
GPUOS_DEVICE inline void store_vector_unaligned(
    T* to, const Vector<T, kWidth>& vector) {
  if (is_aligned<kWidth>(to)) return store_vector(to, vector);
  for (u32 i = 0; i < kWidth; ++i) to[i] = vector.values[i];
}

}  // namespace gpuos
