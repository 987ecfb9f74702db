// Functions that would lose digits as compositions of others. Each has its
// limit at both infinities.
#pragma once

#include "functions/exp.h"
#include "functions/real.h"

namespace gpuos::fn {

// Each of them is 0 below this number, and -inf * 0 would be a NaN.
template <typename T>
GPUOS_DEVICE inline T above_floor(T x) {
  constexpr T kFloor = sizeof(T) == 4 ? -200 : -800;
  return x < kFloor ? kFloor : x;
}

// top / (1 + exp(-x)). The root is never subnormal.
GPUOS_DEVICE inline double logistic(double top, double x) {
  if (x >= 0) return top / (1 + exp(-x));
  const double root = exp(0.5 * x);
  return top * root * root / (1 + root * root);
}

// 4 ulp are enough for gelu.
GPUOS_DEVICE inline double quick_erfc(double x) { return erfc(x); }
#if defined(__CUDACC__)
GPUOS_DEVICE inline float quick_erfc(float x) { return ::erfcf(x); }
#endif

// x / 2 erfc(-x sqrt(1/2)); the root is `high` + `low`.
template <typename T>
GPUOS_DEVICE inline T gelu_by_erfc(T x, T high, T low) {
  const T t = -x * high;
  const T whole = quick_erfc(t);
  // Corrects the rounding error of t to first order. It matters where erfc is
  // small.
  const T lack = gpuos::fma(-x, high, -t) - x * low;
  const T slope = static_cast<T>(0x1.20dd750429b6dp+0) * exp(-t * t);
  return T(0.5) * x * (t > 0 ? whole - slope * lack : whole);
}

// 2 sqrt(2 / pi) (x + 0.044715 x^3), for 1 + tanh(t) = 2 sigmoid(2 t).
GPUOS_DEVICE inline double gelu_angle(double x) {
  return x * (0x1.9884533d43651p+0 + 0.07135481627260025 * x * x);
}

GPUOS_DEVICE inline double sigmoid(double x) { return logistic(1, x); }
GPUOS_DEVICE inline double silu(double x) {
  return logistic(above_floor(x), above_floor(x));
}
GPUOS_DEVICE inline double gelu(double x) {
  return gelu_by_erfc(above_floor(x), 0x1.6a09e667f3bcdp-1,
                      -0x1.bdd3413b26456p-55);
}
GPUOS_DEVICE inline double gelu_tanh(double x) {
  return logistic(above_floor(x), gelu_angle(above_floor(x)));
}

#if defined(__CUDACC__)

// top / (1 + exp(-(x + rest))) for |rest| far below 1. Below -64 the
// exponential is divided by exp(37), whose inverse is nearly a float.
GPUOS_DEVICE inline float logistic(float top, float x, float rest) {
  const bool far = x < -64;
  const float e = close_exp(far ? -x - 37 : -x);
  // `rest` may be a NaN where the exponential is 0 or infinite.
  const bool plain = (e > 0) & (e < Limits<float>::infinity());
  const float exact = plain ? e - e * rest : e;
  return (far ? top * 0x1.898472p-54f : top) / (far ? exact : 1 + exact);
}
// This has no branch. Far below 0 only the exponential counts, and the division
// needs no check of the sum.
GPUOS_DEVICE inline float sigmoid(float x) {
  const bool far = x < -64;
  const float e = close_exp(far ? x : -x);
  const float sum = 1 + e;
  float near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(sum));
  return far ? e : ::fmaf(near, ::fmaf(-sum, near, 1), near);
}
GPUOS_DEVICE inline float silu(float x) {
  return logistic(above_floor(x), above_floor(x), 0);
}
GPUOS_DEVICE inline float gelu(float x) {
  return gelu_by_erfc(above_floor(x), 0x1.6a09e6p-1f, 0x1.9fcef4p-27f);
}
GPUOS_DEVICE inline float gelu_tanh(float x) {
  const double angle = gelu_angle(above_floor(x));
  const float near = static_cast<float>(angle);
  return logistic(above_floor(x), near, static_cast<float>(angle - near));
}

#endif

}  // namespace gpuos::fn
