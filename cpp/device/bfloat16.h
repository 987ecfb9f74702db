// The upper half of a float, for storage: arithmetic on it is arithmetic on
// float.
#pragma once

#include "number_limits.h"

namespace gpuos {

// A tie goes to the even neighbour. A NaN becomes 0x7fff, which is what the
// device's instruction gives.
GPUOS_DEVICE inline u16 to_bfloat16_bits(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const u32 all = bit_cast<u32>(value);
  if ((all & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<u16>((all + 0x7fff + (all >> 16 & 1)) >> 16);
#endif
}

struct Bf16 {
  u16 bits;

  Bf16() = default;
  explicit GPUOS_DEVICE Bf16(float value) : bits(to_bfloat16_bits(value)) {}
  GPUOS_DEVICE operator float() const {
    return bit_cast<float>(static_cast<u32>(bits) << 16);
  }
};
static_assert(sizeof(Bf16) == 2 && alignof(Bf16) == 2, "as in memory");

template <>
struct Limits<Bf16> : RealLimits<Bf16, u16, 7> {};
template <>
struct Compute<Bf16> {
  using type = float;
};

}  // namespace gpuos
