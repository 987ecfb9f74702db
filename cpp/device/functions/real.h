// Defines the functions of real numbers. docs/functions.md states how exact
// each is. Float results are within 2 ulp. Some float functions of CUDA are
// less exact (CUDA Programming Guide, "Mathematical Functions"), and the host
// lacks some. There, double computes and one rounding follows.
#pragma once

#include "functions/basic.h"
#include "functions/host.h"

namespace gpuos::fn {

// X(gpuos's name, C's name). First the functions that both have in float,
#define GPUOS_FN_EXACT(X) \
  X(sqrt, sqrt)           \
  X(floor, floor)         \
  X(ceil, ceil)           \
  X(trunc, trunc)         \
  X(round, rint)
// then those of functions/host.h that CUDA has with enough precision,
#define GPUOS_FN_NATIVE(X) \
  X(exp, exp)              \
  X(exp2, exp2)            \
  X(expm1, expm1)          \
  X(log, log)              \
  X(log2, log2)            \
  X(log10, log10)          \
  X(log1p, log1p)          \
  X(sin, sin)              \
  X(cos, cos)              \
  X(cosh, cosh)            \
  X(tanh, tanh)            \
  X(erf, erf)
// those of functions/host.h that CUDA does not have,
#define GPUOS_FN_NATIVE_ON_HOST(X) \
  X(tan, tan)                      \
  X(sinh, sinh)                    \
  X(erfc, erfc)
// those that only CUDA has,
#define GPUOS_FN_NATIVE_ON_DEVICE(X) \
  X(cbrt, cbrt)                      \
  X(asin, asin)                      \
  X(acos, acos)                      \
  X(atan, atan)
// and those that neither has.
#define GPUOS_FN_THROUGH_DOUBLE(X) \
  X(asinh, asinh)                  \
  X(acosh, acosh)                  \
  X(atanh, atanh)                  \
  X(tgamma, tgamma)

#define GPUOS_FN_DOUBLE(name, c_name) \
  GPUOS_DEVICE inline double name(double x) { return GPUOS_LIBM(c_name)(x); }
GPUOS_FN_EXACT(GPUOS_FN_DOUBLE)
#if !defined(__CUDACC__)
#undef GPUOS_FN_DOUBLE
// These have names of our own. The compiler evaluates an erfc that it knows by
// itself, and gets another last bit.
#define GPUOS_FN_DECLARE_C(c_name, ...)                    \
  extern "C" __attribute__((const)) double gpuos_##c_name( \
      __VA_ARGS__) __asm__(#c_name);
#define GPUOS_FN_DOUBLE(name, c_name) \
  GPUOS_FN_DECLARE_C(c_name, double)  \
  inline double name(double x) { return gpuos_##c_name(x); }
GPUOS_FN_DECLARE_C(atan2, double, double)
GPUOS_FN_DECLARE_C(pow, double, double)
GPUOS_FN_DECLARE_C(hypot, double, double)
#define GPUOS_FN_C(name) gpuos_##name
#else
#define GPUOS_FN_C(name) ::name
#endif
GPUOS_FN_NATIVE(GPUOS_FN_DOUBLE)
GPUOS_FN_NATIVE_ON_HOST(GPUOS_FN_DOUBLE)
GPUOS_FN_NATIVE_ON_DEVICE(GPUOS_FN_DOUBLE)
GPUOS_FN_THROUGH_DOUBLE(GPUOS_FN_DOUBLE)
#undef GPUOS_FN_DOUBLE

// C's lgamma() also writes the sign to a variable that threads share. This has
// a name of our own, because clang has no builtin and headers may declare it.
#if defined(__CUDACC__)
GPUOS_DEVICE inline double lgamma(double x) { return ::lgamma(x); }
#else
extern "C" double gpuos_lgamma_r(double x, int* sign) __asm__("lgamma_r");
inline double lgamma(double x) {
  int sign = 0;
  return gpuos_lgamma_r(x, &sign);
}
#endif

#define GPUOS_FN_FLOAT(name, c_name) \
  GPUOS_DEVICE inline float name(float x) { return GPUOS_LIBM(c_name##f)(x); }
#define GPUOS_FN_ROUNDED(name, c_name)                       \
  GPUOS_DEVICE inline float name(float x) {                  \
    return static_cast<float>(name(static_cast<double>(x))); \
  }
GPUOS_FN_EXACT(GPUOS_FN_FLOAT)
#if defined(__CUDACC__)
GPUOS_FN_NATIVE(GPUOS_FN_FLOAT)
GPUOS_FN_NATIVE_ON_HOST(GPUOS_FN_ROUNDED)
GPUOS_FN_NATIVE_ON_DEVICE(GPUOS_FN_FLOAT)
#else
GPUOS_FN_NATIVE_ON_DEVICE(GPUOS_FN_ROUNDED)
#endif
GPUOS_FN_THROUGH_DOUBLE(GPUOS_FN_ROUNDED)
GPUOS_FN_ROUNDED(lgamma, lgamma)
#undef GPUOS_FN_FLOAT
#undef GPUOS_FN_ROUNDED

// An integer needs no rounding.
#define GPUOS_FN_WHOLE(name)                                                 \
  template <typename T>                                                      \
  GPUOS_DEVICE inline T name(T x) {                                          \
    static_assert(!is_real_type<T>(), #name ": neither a number nor whole"); \
    return x;                                                                \
  }
GPUOS_FN_WHOLE(floor)
GPUOS_FN_WHOLE(ceil)
GPUOS_FN_WHOLE(trunc)
GPUOS_FN_WHOLE(round)
#undef GPUOS_FN_WHOLE

using gpuos::rsqrt;

GPUOS_DEVICE inline double atan2(double y, double x) {
  return GPUOS_FN_C(atan2)(y, x);
}
GPUOS_DEVICE inline float atan2(float y, float x) {
  return static_cast<float>(
      atan2(static_cast<double>(y), static_cast<double>(x)));
}
GPUOS_DEVICE inline double pow(double a, double b) {
  return GPUOS_FN_C(pow)(a, b);
}
GPUOS_DEVICE inline float pow(float a, float b) {
  return static_cast<float>(
      pow(static_cast<double>(a), static_cast<double>(b)));
}
#if defined(__CUDACC__)
// CUDA's hypot is infinite even where the size is the largest number.
__device__ inline double hypot(double a, double b) {
  const double x = ::fabs(a);
  const double y = ::fabs(b);
  if (is_infinite(x) | is_infinite(y)) return Limits<double>::infinity();
  const double most = x > y ? x : y;
  const bool is_large = most > 0x1p500;
  const bool is_small = most < 0x1p-500;
  const double down = is_large ? 0x1p-600 : is_small ? 0x1p600 : 1;
  const double up = is_large ? 0x1p600 : is_small ? 0x1p-600 : 1;
  const double u = x * down;
  const double v = y * down;
  return ::sqrt(gpuos::add(gpuos::mul(u, u), gpuos::mul(v, v))) * up;
}
#else
inline double hypot(double a, double b) { return gpuos_hypot(a, b); }
#endif
// In double no square of a float overflows or underflows.
GPUOS_DEVICE inline float hypot(float a, float b) {
  const double x = a;
  const double y = b;
  const float size = static_cast<float>(sqrt(x * x + y * y));
  const bool infinite = is_infinite(a) | is_infinite(b);
  return infinite ? Limits<float>::infinity() : size;
}

// log(exp(a) + exp(b)).
GPUOS_DEVICE inline double logaddexp(double a, double b) {
  if (a == b) return a + 0x1.62e42fefa39efp-1;  // infinities too
  const double gap = a - b;
  if (gap > 0) return a + log1p(exp(-gap));
  return gap <= 0 ? b + log1p(exp(gap)) : gap;
}
GPUOS_DEVICE inline float logaddexp(float a, float b) {
  return static_cast<float>(
      logaddexp(static_cast<double>(a), static_cast<double>(b)));
}
// log2(exp2(a) + exp2(b)).
GPUOS_DEVICE inline double logaddexp2(double a, double b) {
  constexpr double kLog2OfE = 0x1.71547652b82fep+0;
  if (a == b) return a + 1;
  const double gap = a - b;
  if (gap > 0) return a + log1p(exp2(-gap)) * kLog2OfE;
  return gap <= 0 ? b + log1p(exp2(gap)) * kLog2OfE : gap;
}
GPUOS_DEVICE inline float logaddexp2(float a, float b) {
  return static_cast<float>(
      logaddexp2(static_cast<double>(a), static_cast<double>(b)));
}

// sin(pi x) / (pi x), and 1 at 0. Removes whole turns before pi makes the angle
// inexact, and measures angles near half a turn from there.
GPUOS_DEVICE inline double sinc(double x) {
  constexpr double kPi = 0x1.921fb54442d18p+1;
  const double turn = x - 2 * round(x / 2);  // in [-1, 1], exact
  const double past = turn < 0 ? -1 - turn : 1 - turn;
  const bool is_past = (turn < -0.5) | (turn > 0.5);
  const double value = sin(kPi * (is_past ? past : turn)) / (kPi * x);
  return x == 0 ? 1 : value;
}
GPUOS_DEVICE inline float sinc(float x) {
  return static_cast<float>(sinc(static_cast<double>(x)));
}

// a * 2^b for a whole b, rounded once.
GPUOS_DEVICE inline double ldexp(double a, double b) {
  constexpr double kFar = 5000;  // beyond all exponents
  return GPUOS_LIBM(scalbn)(a, static_cast<int>(b > kFar    ? kFar
                                                : b < -kFar ? -kFar
                                                            : b));
}
GPUOS_DEVICE inline float ldexp(float a, float b) {
  return static_cast<float>(
      ldexp(static_cast<double>(a), static_cast<double>(b)));
}

// The next number from `a` towards `b`.
template <typename T, typename Bits>
GPUOS_DEVICE inline T next_number(T a, T b) {
  const bool grows = (a < b) == (a > 0);
  const Bits bits = bit_cast<Bits>(a);
  const T next = bit_cast<T>(grows ? bits + 1 : bits - 1);
  const T of_zero = copysign(bit_cast<T>(Bits{1}), b);
  if ((a != a) | (b != b)) return gpuos::add(a, b);
  return a == b ? b : a == 0 ? of_zero : next;
}
GPUOS_DEVICE inline float nextafter(float a, float b) {
  return next_number<float, u32>(a, b);
}
GPUOS_DEVICE inline double nextafter(double a, double b) {
  return next_number<double, u64>(a, b);
}

}  // namespace gpuos::fn
