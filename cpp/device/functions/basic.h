// Arithmetic, comparisons and bits of programs: NumPy's meaning for each type
// that programs compute in, which are float, double, C64, C128 and integers of
// 32 and 64 bits. Integers wrap, and a zero divisor gives 0.
#pragma once

#include "complex.h"
#include "libm.h"

namespace gpuos::fn {

template <typename T>
GPUOS_DEVICE constexpr bool is_real_type() {
  return static_cast<T>(0.5) != 0;
}
template <typename T>
GPUOS_DEVICE constexpr bool is_signed_type() {
  return static_cast<T>(-1) < static_cast<T>(1);
}

using gpuos::add;
using gpuos::mul;
using gpuos::sub;
GPUOS_DEVICE inline float div(float a, float b) { return a / b; }
GPUOS_DEVICE inline double div(double a, double b) { return a / b; }

template <typename T>
GPUOS_DEVICE inline T neg(T x) {
  if constexpr (is_real_type<T>())
    return -x;
  else
    return sub(T{0}, x);
}
// Without a warning in branches where `x` is not a number.
template <typename T>
GPUOS_DEVICE inline bool is_below_zero(T x) {
  if constexpr (is_real_type<T>() || is_signed_type<T>())
    return x < T{0};
  else
    return false;
}
template <typename T>
GPUOS_DEVICE inline T abs(T x) {
  if constexpr (is_real_type<T>())
    return gpuos::abs(x);
  else
    return is_below_zero(x) ? sub(T{0}, x) : x;
}
template <typename T>
GPUOS_DEVICE inline T square(T x) {
  return mul(x, x);
}
// Divides integers and rounds towards zero. A division by 0 gives 0.
template <typename T>
GPUOS_DEVICE inline T reciprocal(T x) {
  if constexpr (is_real_type<T>())
    return 1 / x;
  else
    return x == 1 || (is_signed_type<T>() && x == T(-1)) ? x : T{0};
}
// NaN stays NaN.
template <typename T>
GPUOS_DEVICE inline T sign(T x) {
  const T of_rest = x == 0 ? T{0} : x;
  return x > 0 ? T{1} : is_below_zero(x) ? T(-1) : of_rest;
}

template <typename T>
GPUOS_DEVICE inline T floor_div(T a, T b) {
  if constexpr (is_real_type<T>())
    return real_floor_div(a, b);
  else if constexpr (is_signed_type<T>())
    return gpuos::floor_div(a, b);
  else
    return b == 0 ? T{0} : a / b;
}
template <typename T>
GPUOS_DEVICE inline T floor_mod(T a, T b) {
  if constexpr (is_real_type<T>())
    return real_floor_mod(a, b);
  else if constexpr (is_signed_type<T>())
    return gpuos::floor_mod(a, b);
  else
    return b == 0 ? T{0} : a % b;
}
// Returns the remainder with the sign of `a`, as in C.
template <typename T>
GPUOS_DEVICE inline T fmod(T a, T b) {
  if constexpr (is_real_type<T>()) {
    return c_fmod(a, b);
  } else {
    // The second test handles the one quotient that could overflow.
    if (b == 0 || (is_signed_type<T>() && b == T(-1))) return 0;
    return a % b;
  }
}

// Raises an integer to a power. A negative exponent gives the power rounded
// towards zero, and 0 for base 0.
template <typename T>
GPUOS_DEVICE inline T pow(T base, T exponent) {
  if (is_signed_type<T>() && exponent < T{0}) {
    if (base == T(-1)) return exponent & 1 ? base : T{1};
    return base == 1 ? T{1} : T{0};
  }
  T power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power = mul(power, base);
    base = mul(base, base);
  }
  return power;
}

// Hides a value from the compiler. Otherwise NVVM makes a minimum of `0 <= x ?
// 0 : x`, and the minimum of 0 and -0 is -0.
template <typename T>
GPUOS_DEVICE inline void hide(T&) {}
#if defined(__CUDA_ARCH__)
GPUOS_DEVICE inline void hide(float& x) { asm("" : "+f"(x)); }
GPUOS_DEVICE inline void hide(double& x) { asm("" : "+d"(x)); }
#endif

template <typename C, typename T>
GPUOS_DEVICE inline T choose(C condition, T a, T b) {
  hide(a);
  return condition ? a : b;
}

// Uses | instead of || below, because loops vectorise without branches.

// Here a NaN wins,
template <typename T>
GPUOS_DEVICE inline T maximum(T a, T b) {
  return choose((a >= b) | (a != a), a, b);
}
template <typename T>
GPUOS_DEVICE inline T minimum(T a, T b) {
  return choose((a <= b) | (a != a), a, b);
}
// and here the number.
template <typename T>
GPUOS_DEVICE inline T fmax(T a, T b) {
  return choose((a >= b) | (b != b), a, b);
}
template <typename T>
GPUOS_DEVICE inline T fmin(T a, T b) {
  return choose((a <= b) | (b != b), a, b);
}

#define GPUOS_DEFINE_COMPARISON(name, symbol) \
  template <typename T>                       \
  GPUOS_DEVICE inline bool name(T a, T b) {   \
    return a symbol b;                        \
  }
GPUOS_DEFINE_COMPARISON(less, <)
GPUOS_DEFINE_COMPARISON(less_equal, <=)
GPUOS_DEFINE_COMPARISON(greater, >)
GPUOS_DEFINE_COMPARISON(greater_equal, >=)
GPUOS_DEFINE_COMPARISON(equal, ==)
GPUOS_DEFINE_COMPARISON(not_equal, !=)
#undef GPUOS_DEFINE_COMPARISON

template <typename T>
GPUOS_DEVICE inline bool isnan(T x) {
  return x != x;
}
template <typename T>
GPUOS_DEVICE inline bool isinf(T x) {
  if constexpr (is_real_type<T>()) return is_infinite(x);
  return false;
}
template <typename T>
GPUOS_DEVICE inline bool isfinite(T x) {
  if constexpr (is_real_type<T>()) return is_finite(x);
  return true;
}
// Returns the sign bit, also that of -0.0 and of a NaN.
GPUOS_DEVICE inline bool signbit(float x) {
  return bit_cast<u32>(x) >> 31 != 0;
}
GPUOS_DEVICE inline bool signbit(double x) {
  return bit_cast<u64>(x) >> 63 != 0;
}
GPUOS_DEVICE inline float copysign(float size, float sign) {
  return copy_sign(size, sign);
}
GPUOS_DEVICE inline double copysign(double size, double sign) {
  return copy_sign(size, sign);
}
// A step from 0 to 1, with `at_zero` at 0.
template <typename T>
GPUOS_DEVICE inline T heaviside(T x, T at_zero) {
  const T of_rest = x == 0 ? at_zero : x;
  return x > 0 ? T{1} : is_below_zero(x) ? T{0} : of_rest;
}

template <typename T>
GPUOS_DEVICE inline T bit_and(T a, T b) {
  return a & b;
}
template <typename T>
GPUOS_DEVICE inline T bit_or(T a, T b) {
  return a | b;
}
template <typename T>
GPUOS_DEVICE inline T bit_xor(T a, T b) {
  return a ^ b;
}
template <typename T>
GPUOS_DEVICE inline T bit_not(T a) {
  return ~a;
}

// A negative number shifts all bits out.
template <typename T>
GPUOS_DEVICE inline T shift_left(T a, T by) {
  using U = typename Unsigned<T>::type;
  constexpr U kBits = 8 * sizeof(T);
  const U shift = static_cast<U>(by) & (kBits - 1);
  const T shifted = static_cast<T>(static_cast<U>(a) << shift);
  return static_cast<U>(by) < kBits ? shifted : T{0};
}
template <typename T>
GPUOS_DEVICE inline T shift_right(T a, T by) {
  using U = typename Unsigned<T>::type;
  constexpr U kBits = 8 * sizeof(T);
  const U shift = static_cast<U>(by) & (kBits - 1);
  const T all_out = is_below_zero(a) ? static_cast<T>(-1) : T{0};
  return static_cast<U>(by) < kBits ? static_cast<T>(a >> shift) : all_out;
}

}  // namespace gpuos::fn
