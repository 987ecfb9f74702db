// Complex numbers of two floats or doubles. A product uses two products for
// each part and one sum. A quotient is Smith's. Both are as in NumPy. Nothing
// is merged, so the backends agree bit for bit.
#pragma once

#include "arithmetic.h"
#include "number_limits.h"

namespace gpuos {

template <typename Part>
struct alignas(2 * sizeof(Part)) Complex {
  Part re, im;
};
using C64 = Complex<float>;
using C128 = Complex<double>;
static_assert(sizeof(C64) == 8 && sizeof(C128) == 16, "as in memory");

namespace fn {

// Keeps a product separate. g++ 12 merges an addition and a subtraction of
// neighbours into one instruction, even with -ffp-contract=off.
template <typename Part>
GPUOS_DEVICE inline Part product(Part a, Part b) {
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__CUDACC__)
  return __builtin_assoc_barrier(a * b);
#else
  return gpuos::mul(a, b);
#endif
}

template <typename Part>
GPUOS_DEVICE inline Complex<Part> add(Complex<Part> a, Complex<Part> b) {
  return {gpuos::add(a.re, b.re), gpuos::add(a.im, b.im)};
}
template <typename Part>
GPUOS_DEVICE inline Complex<Part> sub(Complex<Part> a, Complex<Part> b) {
  return {gpuos::sub(a.re, b.re), gpuos::sub(a.im, b.im)};
}
template <typename Part>
GPUOS_DEVICE inline Complex<Part> mul(Complex<Part> a, Complex<Part> b) {
  return {gpuos::sub(product(a.re, b.re), product(a.im, b.im)),
          gpuos::add(product(a.re, b.im), product(a.im, b.re))};
}
template <typename Part>
GPUOS_DEVICE inline Complex<Part> div(Complex<Part> a, Complex<Part> b) {
  // Not -b.re, which is -0 of 0.
  const Part re = b.re > 0 ? b.re : 0 - b.re;
  const Part im = b.im > 0 ? b.im : 0 - b.im;
  if (re == 0 && im == 0) return {a.re / re, a.im / re};
  // `ratio` is the smaller part of b over the larger one, so no square
  // overflows.
  if (re >= im) {
    const Part ratio = b.im / b.re;
    const Part scale = 1 / gpuos::add(b.re, product(b.im, ratio));
    return {product(gpuos::add(a.re, product(a.im, ratio)), scale),
            product(gpuos::sub(a.im, product(a.re, ratio)), scale)};
  }
  const Part ratio = b.re / b.im;
  const Part scale = 1 / gpuos::add(b.im, product(b.re, ratio));
  return {product(gpuos::add(product(a.re, ratio), a.im), scale),
          product(gpuos::sub(product(a.im, ratio), a.re), scale)};
}

template <typename Part>
GPUOS_DEVICE inline Complex<Part> neg(Complex<Part> z) {
  return {-z.re, -z.im};
}
template <typename Part>
GPUOS_DEVICE inline Complex<Part> conj(Complex<Part> z) {
  return {z.re, -z.im};
}
template <typename Part>
GPUOS_DEVICE inline Complex<Part> square(Complex<Part> z) {
  return mul(z, z);
}
template <typename Part>
GPUOS_DEVICE inline Complex<Part> reciprocal(Complex<Part> z) {
  return div(Complex<Part>{1, 0}, z);
}
template <typename Part>
GPUOS_DEVICE inline Part real(Complex<Part> z) {
  return z.re;
}
template <typename Part>
GPUOS_DEVICE inline Part imag(Complex<Part> z) {
  return z.im;
}

template <typename Part>
GPUOS_DEVICE inline bool equal(Complex<Part> a, Complex<Part> b) {
  return (a.re == b.re) & (a.im == b.im);
}
template <typename Part>
GPUOS_DEVICE inline bool not_equal(Complex<Part> a, Complex<Part> b) {
  return !equal(a, b);
}
template <typename Part>
GPUOS_DEVICE inline bool isnan(Complex<Part> z) {
  return is_nan(z.re) | is_nan(z.im);
}
template <typename Part>
GPUOS_DEVICE inline bool isinf(Complex<Part> z) {
  return is_infinite(z.re) | is_infinite(z.im);
}
template <typename Part>
GPUOS_DEVICE inline bool isfinite(Complex<Part> z) {
  return is_finite(z.re) & is_finite(z.im);
}

}  // namespace fn
}  // namespace gpuos
