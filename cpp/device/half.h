// IEEE 754's binary16, for storage: arithmetic on it is arithmetic on float.
#pragma once

#include "number_limits.h"

namespace gpuos {

// Rounds to half precision, ties to even. A number that is too large becomes
// infinite. A NaN becomes 0x7fff, as the device's instruction gives.
GPUOS_DEVICE inline u16 to_half_bits(float value) {
#if defined(__CUDA_ARCH__)
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const u32 all = bit_cast<u32>(value);
  const u32 sign = all >> 16 & 0x8000;
  const u32 size = all & 0x7fffffff;
  if (size > 0x7f800000) return 0x7fff;
  if (size >= 0x47800000) return static_cast<u16>(sign | 0x7c00);
  if (size < 0x38800000) {
    // Subnormal. Adding 0.5 makes float round at 2^-24, the last bit of the
    // result.
    const float sum = bit_cast<float>(size) + 0.5f;
    return static_cast<u16>(sign | (bit_cast<u32>(sum) - 0x3f000000));
  }
  const u32 odd = size >> 13 & 1;
  return static_cast<u16>(sign | (size - 0x38000000 + 0xfff + odd) >> 13);
#endif
}

GPUOS_DEVICE inline float half_to_float(u16 bits) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  const u32 sign = static_cast<u32>(bits & 0x8000) << 16;
  const u32 size = bits & 0x7fff;
  if (size > 0x7c00) return bit_cast<float>(0x7fffffffu);
  if (size == 0x7c00) return bit_cast<float>(sign | 0x7f800000);
  // Uses no subnormal float, because the process may flush those to zero.
  const float value = size < 0x400 ? static_cast<float>(size) * 0x1p-24f
                                   : bit_cast<float>((size << 13) + 0x38000000);
  return bit_cast<float>(sign | bit_cast<u32>(value));
#endif
}

struct F16 {
  u16 bits;

  F16() = default;
  explicit GPUOS_DEVICE F16(float value) : bits(to_half_bits(value)) {}
  GPUOS_DEVICE operator float() const { return half_to_float(bits); }
};
static_assert(sizeof(F16) == 2 && alignof(F16) == 2, "as in memory");

template <>
struct Limits<F16> : RealLimits<F16, u16, 10> {};
template <>
struct Compute<F16> {
  using type = float;
};

}  // namespace gpuos
