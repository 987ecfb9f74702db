// exp of a float within 1 ulp: the host's, and on the device for what would
// lose too much by the 2 ulp of CUDA's. No branch, so that loops vectorise.
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

// As a float that is normal.
GPUOS_DEVICE inline float power_of_two(int exponent) {
  return bit_cast<float>(static_cast<u32>(exponent + 127) << 23);
}

}  // namespace wide

GPUOS_DEVICE inline float close_exp(float x) {
  constexpr float kWhole = 0x1.8p23f;
  const float y = wide::clamp(x, -110.0f, 110.0f);
  const float shifted = y * 0x1.715476p+0f + kWhole;
  const float k = shifted - kWhole;
  const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
  const float tail =
      wide::polynomial(r, 0.49999999537f, 0.16666575241f, 0.04166685770f,
                       0.00836348559f, 0.00139014282f);
  const float power = 1 + (r + r * r * tail);
  // 2^k in two factors, because it may be no normal number.
  const int n =
      static_cast<int>(bit_cast<u32>(shifted) - bit_cast<u32>(kWhole));
  const int half = n >> 1;
  return power * wide::power_of_two(half) * wide::power_of_two(n - half);
}

}  // namespace gpuos::fn
