// Functions of complex numbers, in double inside: no square of a float is too
// large or too small there, and one rounding of each part is all that is lost.
// Infinities and NaN are as in annex G of the C standard.
#pragma once

#include "functions_real.h"

namespace gpuos::fn {

GPUOS_DEVICE inline float abs(C64 z) { return hypot(z.re, z.im); }
GPUOS_DEVICE inline float angle(C64 z) { return atan2(z.im, z.re); }

GPUOS_DEVICE inline C64 exp(C64 z) {
  const double size = exp(static_cast<double>(z.re));
  if (z.im == 0) return {static_cast<float>(size), z.im};
  // Then the angle has no say: C leaves the signs of its zeros and infinity.
  if (!is_finite(z.im) && is_infinite(z.re)) {
    if (z.re < 0) return {0, 0};
    return {z.re, Limits<float>::nan()};
  }
  const double im = z.im;
  return {static_cast<float>(size * cos(im)),
          static_cast<float>(size * sin(im))};
}

GPUOS_DEVICE inline C64 log(C64 z) {
  const double re = abs(static_cast<double>(z.re));
  const double im = abs(static_cast<double>(z.im));
  const double large = re > im ? re : im;
  const double small = re > im ? im : re;
  const double size = large * large + small * small;
  // Close to 1 the digits are in what it differs by.
  const bool near = (size > 0.5) & (size < 2);
  const double differs = (large - 1) * (large + 1) + small * small;
  const double twice = near ? log1p(differs) : log(size);
  const bool infinite = is_infinite(z.re) | is_infinite(z.im);
  return {
      infinite ? Limits<float>::infinity() : static_cast<float>(0.5 * twice),
      angle(z)};
}

GPUOS_DEVICE inline C64 sqrt(C64 z) {
  if (is_infinite(z.im)) return {Limits<float>::infinity(), z.im};
  if (z.re == -Limits<float>::infinity())
    return {is_nan(z.im) ? z.im : 0.0f,
            is_nan(z.im) ? -z.re : copysign(Limits<float>::infinity(), z.im)};
  if (z.re == Limits<float>::infinity())
    return {z.re, is_nan(z.im) ? z.im : copysign(0.0f, z.im)};
  if (z.re == 0 && z.im == 0) return {0, z.im};
  const double re = z.re;
  const double im = z.im;
  const double size = sqrt(re * re + im * im);
  const double root = sqrt(0.5 * (size + abs(re)));
  const double other = 0.5 * im / root;
  if (re >= 0) return {static_cast<float>(root), static_cast<float>(other)};
  return {static_cast<float>(abs(other)),
          copysign(static_cast<float>(root), z.im)};
}

}  // namespace gpuos::fn
