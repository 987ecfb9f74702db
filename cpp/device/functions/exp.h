// Computes exp of a float within 1 ulp. The host uses it, and so does the
// device where the 2 ulp of CUDA's exp lose too much. It has no branch, so that
// loops vectorise.
#pragma once

#include "number_limits.h"

namespace gpuos::fn {

namespace wide {

template <typename T>
GPUOS_DEVICE inline T polynomial(T, T last) {
  return last;
}
template <typename T, typename... More>
GPUOS_DEVICE inline T polynomial(T x, T first, More... more) {
  return first + x * polynomial(x, more...);
}

// NaN stays NaN.
template <typename T>
GPUOS_DEVICE inline T clamp(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

// Returns 2 to the exponent, which must give a normal float.
GPUOS_DEVICE inline float power_of_two(int exponent) {
  return bit_cast<float>(static_cast<u32>(exponent + 127) << 23);
}

// Adding this number rounds a small float to a whole number. The low bits of
// the sum are that number.
GPUOS_DEVICE constexpr float whole() { return 0x1.8p23f; }

// 2^n exp(r), n being the whole number in `shifted`.
GPUOS_DEVICE inline float exp_of_rest(float r, float shifted) {
  const float tail = polynomial(r, 0.49999999537f, 0.16666575241f,
                                0.04166685770f, 0.00836348559f, 0.00139014282f);
  const float power = 1 + (r + r * r * tail);
  // Multiplies by 2^n in two factors, because 2^n may not be a normal number.
  const int n =
      static_cast<int>(bit_cast<u32>(shifted) - bit_cast<u32>(whole()));
  const int half = n >> 1;
  return power * power_of_two(half) * power_of_two(n - half);
}

}  // namespace wide

GPUOS_DEVICE inline float close_exp(float x) {
  const float y = wide::clamp(x, -110.0f, 110.0f);
  const float shifted = y * 0x1.715476p+0f + wide::whole();
  const float k = shifted - wide::whole();
  const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
  return wide::exp_of_rest(r, shifted);
}

}  // namespace gpuos::fn
