// The functions of the expression language, for every element type that they
// take. No header is needed: NVRTC and nvcc know the device functions, and the
// host compiler has them built in, so that an operator compiles in
// milliseconds.
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
  X(exp, exp)                   \
  X(exp2, exp2)                 \
  X(log, log)                   \
  X(log2, log2)                 \
  X(sqrt, sqrt)                 \
  X(sin, sin)                   \
  X(cos, cos)                   \
  X(tan, tan)                   \
  X(tanh, tanh)                 \
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

GPUOS_DEVICE inline int floor(int x) { return x; }
GPUOS_DEVICE inline int ceil(int x) { return x; }
GPUOS_DEVICE inline int round(int x) { return x; }
GPUOS_DEVICE inline int abs(int x) { return x < 0 ? sub(0, x) : x; }
GPUOS_DEVICE inline long long floor(long long x) { return x; }
GPUOS_DEVICE inline long long ceil(long long x) { return x; }
GPUOS_DEVICE inline long long round(long long x) { return x; }
GPUOS_DEVICE inline long long abs(long long x) {
  return x < 0 ? sub(0LL, x) : x;
}

GPUOS_DEVICE inline float neg(float x) { return -x; }
GPUOS_DEVICE inline double neg(double x) { return -x; }
GPUOS_DEVICE inline int neg(int x) { return sub(0, x); }
GPUOS_DEVICE inline long long neg(long long x) { return sub(0LL, x); }

#if defined(__CUDACC__)
GPUOS_DEVICE inline float rsqrt(float x) { return ::rsqrtf(x); }
GPUOS_DEVICE inline double rsqrt(double x) { return ::rsqrt(x); }
#else
inline float rsqrt(float x) { return 1 / sqrt(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
#endif

template <typename T>
GPUOS_DEVICE inline T sigmoid(T x) {
  return 1 / (1 + exp(-x));
}

// The conditions below use | instead of ||: no branch, so loops vectorise.

template <typename T>
GPUOS_DEVICE inline T minimum(T a, T b) {
  return (a <= b) | (a != a) ? a : b;
}

template <typename T>
GPUOS_DEVICE inline T maximum(T a, T b) {
  return (a >= b) | (a != a) ? a : b;
}

template <typename T>
GPUOS_DEVICE inline T clip(T x, T low, T high) {
  return minimum(maximum(x, low), high);
}

template <typename T>
GPUOS_DEVICE inline T relu(T x) {
  return x <= 0 ? T{0} : x;
}

template <typename T>
GPUOS_DEVICE inline T square(T x) {
  return mul(x, x);
}

// NaN stays NaN.
template <typename T>
GPUOS_DEVICE inline T sign(T x) {
  return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
}

template <typename T>
GPUOS_DEVICE inline T where(T condition, T a, T b) {
  return condition != 0 ? a : b;
}

#define GPUOS_DEFINE_COMPARISON(name, symbol) \
  template <typename T>                       \
  GPUOS_DEVICE inline T name(T a, T b) {      \
    return a symbol b ? T{1} : T{0};          \
  }
GPUOS_DEFINE_COMPARISON(less, <)
GPUOS_DEFINE_COMPARISON(less_equal, <=)
GPUOS_DEFINE_COMPARISON(greater, >)
GPUOS_DEFINE_COMPARISON(greater_equal, >=)
GPUOS_DEFINE_COMPARISON(equal, ==)
GPUOS_DEFINE_COMPARISON(not_equal, !=)
#undef GPUOS_DEFINE_COMPARISON

GPUOS_DEVICE inline float fma(float a, float b, float c) {
  return GPUOS_LIBM(fmaf)(a, b, c);
}
GPUOS_DEVICE inline double fma(double a, double b, double c) {
  return GPUOS_LIBM(fma)(a, b, c);
}
template <typename T>
GPUOS_DEVICE inline T fma(T a, T b, T c) {
  return add(mul(a, b), c);
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
  // (a - rest) / b is close to a whole number, not always equal to it.
  const T whole = floor(quotient);
  return sub(quotient, whole) > T(0.5) ? add(whole, T{1}) : whole;
}

GPUOS_DEVICE inline float floor_mod(float a, float b) {
  return real_floor_mod(a, b);
}
GPUOS_DEVICE inline double floor_mod(double a, double b) {
  return real_floor_mod(a, b);
}
GPUOS_DEVICE inline float floor_div(float a, float b) {
  return real_floor_div(a, b);
}
GPUOS_DEVICE inline double floor_div(double a, double b) {
  return real_floor_div(a, b);
}

GPUOS_DEVICE inline float pow(float a, float b) {
  return GPUOS_LIBM(powf)(a, b);
}
GPUOS_DEVICE inline double pow(double a, double b) {
  return GPUOS_LIBM(pow)(a, b);
}

// A negative exponent gives the power rounded towards zero; 0 for base 0.
template <typename T>
GPUOS_DEVICE inline T pow(T base, T exponent) {
  if (exponent < 0) {
    if (base == -1) return exponent & 1 ? -1 : 1;
    return base == 1 ? 1 : 0;
  }
  T power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power = mul(power, base);
    base = mul(base, base);
  }
  return power;
}

// A parameter as the element type. Real to integer: towards zero, the nearest
// limit when it does not fit, 0 for NaN; integers wrap.
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
