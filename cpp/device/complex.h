// Complex numbers of two floats. A product is two products of each side and
// one sum, and a quotient is Smith's, as NumPy's are; nothing is merged, so
// the backends agree bit for bit.
#pragma once

#include "arithmetic.h"
#include "number_limits.h"

namespace gpuos {

struct alignas(8) C64 {
  float re, im;
};
static_assert(sizeof(C64) == 8, "as in memory");

namespace fn {

// A product that stays one: g++ 12 merges what is added to one float and taken
// from its neighbour into one instruction, whatever -ffp-contract=off says.
GPUOS_DEVICE inline float product(float a, float b) {
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__CUDACC__)
  return __builtin_assoc_barrier(a * b);
#else
  return gpuos::mul(a, b);
#endif
}

GPUOS_DEVICE inline C64 add(C64 a, C64 b) {
  return {gpuos::add(a.re, b.re), gpuos::add(a.im, b.im)};
}
GPUOS_DEVICE inline C64 sub(C64 a, C64 b) {
  return {gpuos::sub(a.re, b.re), gpuos::sub(a.im, b.im)};
}
GPUOS_DEVICE inline C64 mul(C64 a, C64 b) {
  return {gpuos::sub(product(a.re, b.re), product(a.im, b.im)),
          gpuos::add(product(a.re, b.im), product(a.im, b.re))};
}
GPUOS_DEVICE inline C64 div(C64 a, C64 b) {
  // Not -b.re, which is -0 of 0.
  const float re = b.re > 0 ? b.re : 0 - b.re;
  const float im = b.im > 0 ? b.im : 0 - b.im;
  if (re == 0 && im == 0) return {a.re / re, a.im / re};
  // `ratio` is the smaller part of b by the larger one, so no square overflows.
  if (re >= im) {
    const float ratio = b.im / b.re;
    const float scale = 1 / gpuos::add(b.re, product(b.im, ratio));
    return {product(gpuos::add(a.re, product(a.im, ratio)), scale),
            product(gpuos::sub(a.im, product(a.re, ratio)), scale)};
  }
  const float ratio = b.re / b.im;
  const float scale = 1 / gpuos::add(b.im, product(b.re, ratio));
  return {product(gpuos::add(product(a.re, ratio), a.im), scale),
          product(gpuos::sub(product(a.im, ratio), a.re), scale)};
}

GPUOS_DEVICE inline C64 neg(C64 z) { return {-z.re, -z.im}; }
GPUOS_DEVICE inline C64 conj(C64 z) { return {z.re, -z.im}; }
GPUOS_DEVICE inline C64 square(C64 z) { return mul(z, z); }
GPUOS_DEVICE inline C64 reciprocal(C64 z) { return div(C64{1, 0}, z); }
GPUOS_DEVICE inline float real(C64 z) { return z.re; }
GPUOS_DEVICE inline float imag(C64 z) { return z.im; }

GPUOS_DEVICE inline bool equal(C64 a, C64 b) {
  return (a.re == b.re) & (a.im == b.im);
}
GPUOS_DEVICE inline bool not_equal(C64 a, C64 b) { return !equal(a, b); }
GPUOS_DEVICE inline bool isnan(C64 z) { return is_nan(z.re) | is_nan(z.im); }
GPUOS_DEVICE inline bool isinf(C64 z) {
  return is_infinite(z.re) | is_infinite(z.im);
}
GPUOS_DEVICE inline bool isfinite(C64 z) {
  return is_finite(z.re) & is_finite(z.im);
}

}  // namespace fn
}  // namespace gpuos
