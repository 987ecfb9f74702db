// Functions of complex numbers. They compute in double, where no square of a
// float overflows or underflows. Only the rounding of each part loses digits.
// Complex numbers of doubles are scaled instead where that matters. Infinities
// and NaN follow annex G of the C standard.
#pragma once

#include "functions/real.h"

namespace gpuos::fn {

template <typename Part>
GPUOS_DEVICE inline Part abs(Complex<Part> z) {
  return hypot(z.re, z.im);
}
template <typename Part>
GPUOS_DEVICE inline Part angle(Complex<Part> z) {
  return atan2(z.im, z.re);
}

// True for parts of double, whose squares may overflow in double.
template <typename Part>
constexpr bool kIsWidePart = sizeof(Part) == sizeof(double);

template <typename Part>
GPUOS_DEVICE inline Complex<Part> exp(Complex<Part> z) {
  // The angle does not matter then: C leaves the signs of its zeros and
  // infinity.
  if (z.im != 0 && !is_finite(z.im) && is_infinite(z.re)) {
    if (z.re < 0) return {0, 0};
    return {z.re, Limits<Part>::nan()};
  }
  // Computes sine and cosine first, when few values are kept.
  const double im = z.im;
  const double cosine = im == 0 ? 1.0 : cos(im);
  const double sine = im == 0 ? im : sin(im);
  // A part need not be as large as the size.
  const bool is_large = kIsWidePart<Part> && z.re > 700;
  const double size = exp(static_cast<double>(is_large ? z.re - 700 : z.re));
  const double up = is_large ? 0x1.d945df4f8ec8ep+1009 : 1;  // exp(700)
  if (im == 0) return {static_cast<Part>(size * up), z.im};
  return {static_cast<Part>(size * cosine * up),
          static_cast<Part>(size * sine * up)};
}

// The logarithm of the size of a number with these parts, of which the first
// is the larger one.
GPUOS_DEVICE inline double log_of_size(double large, double small) {
  const bool is_large = large > 0x1p500;
  const bool is_small = large < 0x1p-500;
  const double scale = is_large ? 0x1p-600 : is_small ? 0x1p600 : 1;
  const double distance = is_large   ? 415.88830833596717  // 600 log(2)
                          : is_small ? -415.88830833596717
                                     : 0;
  const double size = hypot(large * scale, small * scale);
  if (!(size > 0.75 && size < 1.375)) return log(size) + distance;
  // Close to 1, the result depends on the difference of the square from 1, with
  // the rounding errors of its terms and their sum.
  const double x = product(large, large);
  const double y = product(small, small);
  const double square = gpuos::add(x, y);
  const double rounded =
      gpuos::sub(y, gpuos::sub(square, x)) +
      (gpuos::fma(large, large, -x) + gpuos::fma(small, small, -y));
  return 0.5 * log1p(gpuos::add(gpuos::sub(square, 1.0), rounded));
}

template <typename Part>
GPUOS_DEVICE inline Complex<Part> log(Complex<Part> z) {
  const bool infinite = is_infinite(z.re) | is_infinite(z.im);
  if (infinite) return {Limits<Part>::infinity(), angle(z)};
  const double re = abs(static_cast<double>(z.re));
  const double im = abs(static_cast<double>(z.im));
  const double large = re > im ? re : im;
  const double small = re > im ? im : re;
  if constexpr (kIsWidePart<Part>) return {log_of_size(large, small), angle(z)};
  const double size = large * large + small * small;
  // Close to 1, the result depends on the difference from 1.
  const bool near = (size > 0.5) & (size < 2);
  const double differs = (large - 1) * (large + 1) + small * small;
  const double twice = near ? log1p(differs) : log(size);
  return {static_cast<Part>(0.5 * twice), angle(z)};
}

template <typename Part>
GPUOS_DEVICE inline Complex<Part> sqrt(Complex<Part> z) {
  if (is_infinite(z.im)) return {Limits<Part>::infinity(), z.im};
  if (z.re == -Limits<Part>::infinity())
    return {is_nan(z.im) ? z.im : Part{0},
            is_nan(z.im) ? -z.re : copysign(Limits<Part>::infinity(), z.im)};
  if (z.re == Limits<Part>::infinity())
    return {z.re, is_nan(z.im) ? z.im : copysign(Part{0}, z.im)};
  if (z.re == 0 && z.im == 0) return {0, z.im};
  double re = z.re;
  double im = z.im;
  double up = 1;
  double size = 0;
  if constexpr (kIsWidePart<Part>) {
    const double most = abs(re) > abs(im) ? abs(re) : abs(im);
    const bool is_large = most > 0x1p1000;
    const bool is_small = most < 0x1p-900;
    const double down = is_large ? 0x1p-600 : is_small ? 0x1p600 : 1;
    up = is_large ? 0x1p300 : is_small ? 0x1p-300 : 1;
    re *= down;
    im *= down;
    size = hypot(re, im);
  } else {
    size = sqrt(re * re + im * im);
  }
  const double root = sqrt(0.5 * (size + abs(re)));
  const double other = 0.5 * im / root;
  if (re >= 0)
    return {static_cast<Part>(root * up), static_cast<Part>(other * up)};
  return {static_cast<Part>(abs(other) * up),
          copysign(static_cast<Part>(root * up), z.im)};
}

}  // namespace gpuos::fn
