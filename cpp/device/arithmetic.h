// Arithmetic that means the same on every backend: integers wrap, integer
// division rounds down and gives 0 for a zero divisor, as NumPy's does.
// Floating results agree bit for bit: no product is merged with a sum.
#pragma once

#include "task_abi.h"

namespace gpuos {

template <typename T>
struct Unsigned {
  using type = T;
};
template <>
struct Unsigned<int> {
  using type = unsigned int;
};
template <>
struct Unsigned<long long> {
  using type = unsigned long long;
};

template <typename T>
GPUOS_DEVICE inline T add(T a, T b) {
  using U = typename Unsigned<T>::type;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}

template <typename T>
GPUOS_DEVICE inline T sub(T a, T b) {
  using U = typename Unsigned<T>::type;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}

template <typename T>
GPUOS_DEVICE inline T mul(T a, T b) {
  using U = typename Unsigned<T>::type;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

#if defined(__CUDACC__)
// The compiler never merges these operations. It would turn a plain a * b + c
// into one fma.
template <>
GPUOS_DEVICE inline float add(float a, float b) {
  return __fadd_rn(a, b);
}
template <>
GPUOS_DEVICE inline double add(double a, double b) {
  return __dadd_rn(a, b);
}
template <>
GPUOS_DEVICE inline float sub(float a, float b) {
  return __fsub_rn(a, b);
}
template <>
GPUOS_DEVICE inline double sub(double a, double b) {
  return __dsub_rn(a, b);
}
template <>
GPUOS_DEVICE inline float mul(float a, float b) {
  return __fmul_rn(a, b);
}
template <>
GPUOS_DEVICE inline double mul(double a, double b) {
  return __dmul_rn(a, b);
}
#endif

GPUOS_DEVICE inline float div(float a, float b) { return a / b; }
GPUOS_DEVICE inline double div(double a, double b) { return a / b; }

template <typename T>
GPUOS_DEVICE inline T floor_div(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return sub(T{0}, a);  // the one quotient that could overflow
  const T quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

GPUOS_DEVICE inline int div(int a, int b) { return floor_div(a, b); }
GPUOS_DEVICE inline long long div(long long a, long long b) {
  return floor_div(a, b);
}

}  // namespace gpuos
