// C's functions and remainders, which other functions use. They need no header.
// NVRTC and nvcc know the device functions, and the host compiler has builtins.
// So an operator compiles in milliseconds.
#pragma once

#include "arithmetic.h"
#include "number_limits.h"

#if defined(__CUDACC__)
#define GPUOS_LIBM(name) ::name
#else
#define GPUOS_LIBM(name) __builtin_##name
#endif

// X(gpuos's name, C's name for double)
#define GPUOS_LIBM_FUNCTIONS(X) \
  X(sqrt, sqrt)                 \
  X(floor, floor)               \
  X(ceil, ceil)                 \
  X(round, rint)                \
  X(abs, fabs)

namespace gpuos {

#define GPUOS_DEFINE_LIBM(name, c_name)                                        \
  GPUOS_DEVICE inline float name(float x) { return GPUOS_LIBM(c_name##f)(x); } \
  GPUOS_DEVICE inline double name(double x) { return GPUOS_LIBM(c_name)(x); }
GPUOS_LIBM_FUNCTIONS(GPUOS_DEFINE_LIBM)
#undef GPUOS_DEFINE_LIBM

#if defined(__CUDACC__)
GPUOS_DEVICE inline float rsqrt(float x) { return ::rsqrtf(x); }
GPUOS_DEVICE inline double rsqrt(double x) { return ::rsqrt(x); }
#else
inline float rsqrt(float x) { return 1 / sqrt(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
#endif

GPUOS_DEVICE inline float fma(float a, float b, float c) {
  return GPUOS_LIBM(fmaf)(a, b, c);
}
GPUOS_DEVICE inline double fma(double a, double b, double c) {
  return GPUOS_LIBM(fma)(a, b, c);
}

template <typename T>
GPUOS_DEVICE inline T floor_mod(T a, T b) {
  if (b == 0 || b == -1) return 0;
  const T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

GPUOS_DEVICE inline float c_fmod(float a, float b) {
  return GPUOS_LIBM(fmodf)(a, b);
}
GPUOS_DEVICE inline double c_fmod(double a, double b) {
  return GPUOS_LIBM(fmod)(a, b);
}
GPUOS_DEVICE inline float copy_sign(float size, float sign) {
  return GPUOS_LIBM(copysignf)(size, sign);
}
GPUOS_DEVICE inline double copy_sign(double size, double sign) {
  return GPUOS_LIBM(copysign)(size, sign);
}

// Takes the sign of the divisor, zero included.
template <typename T>
GPUOS_DEVICE inline T real_floor_mod(T a, T b) {
  const T rest = c_fmod(a, b);
  if (b == 0) return rest;
  if (rest == 0) return copy_sign(T{0}, b);
  return (rest < 0) != (b < 0) ? add(rest, b) : rest;
}

template <typename T>
GPUOS_DEVICE inline T real_floor_div(T a, T b) {
  if (b == 0) return div(a, b);
  const T rest = c_fmod(a, b);
  T quotient = div(sub(a, rest), b);
  if (rest != 0 && (rest < 0) != (b < 0)) quotient = sub(quotient, T{1});
  if (quotient == 0) return copy_sign(T{0}, div(a, b));
  // (a - rest) / b is close to a whole number, but not always equal to it.
  const T whole = floor(quotient);
  return sub(quotient, whole) > T(0.5) ? add(whole, T{1}) : whole;
}

// Converts a real to an integer. It rounds towards zero. A number that does not
// fit gives the nearest limit, and NaN gives 0. Integers wrap.
template <typename To, typename From>
GPUOS_DEVICE inline To convert(From value) {
  constexpr bool kFromReal = static_cast<From>(0.5) != 0;
  constexpr bool kToReal = static_cast<To>(0.5) != 0;
  if constexpr (kFromReal && !kToReal) {
    using ToLimits = Limits<To>;
    if (value != value) return 0;
    // The limits may not be exact in `From`, so compare before converting.
    if (value <= static_cast<From>(ToLimits::lowest()))
      return ToLimits::lowest();
    if (value >= static_cast<From>(ToLimits::highest()))
      return ToLimits::highest();
  }
  return static_cast<To>(value);
}

}  // namespace gpuos
