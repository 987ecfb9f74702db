// Divides numbers of elements by a constant size with a multiplication
// (Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", 1994, figure 4.1).
#pragma once

#include "task_abi.h"

namespace gpuos {
namespace program {

// Works bit by bit, because it is rare and the code of a 64-bit division is
// long. A call would make the caller save registers.
__device__ inline u64 divide(u64 number, u32 size) {
  u64 quotient = 0;
  u64 rest = 0;
#pragma unroll 1
  for (u32 i = 0; i < 64; ++i) {
    rest = rest << 1 | number >> 63;
    number <<= 1;
    quotient <<= 1;
    if (rest < size) continue;
    rest -= size;
    quotient |= 1;
  }
  return quotient;
}

struct Divider {
  u32 size;
  u32 multiplier;
  u32 shift;

  static __device__ Divider of(u32 size) {
    const u32 shift = size <= 1 ? 0 : 32 - __clz(size - 1);
    const u64 above = (u64{1} << shift) - size;
    return {size, static_cast<u32>((above << 32) / size + 1), shift};
  }
  // Divides. Above 2^31 the sum would need more than 32 bits.
  template <bool kMayBeLarge>
  __device__ u64 quotient(u64 number) const {
    if (kMayBeLarge && number >> 31) return divide(number, size);
    const u32 low = static_cast<u32>(number);
    return (__umulhi(low, multiplier) + low) >> shift;
  }
};

}  // namespace program
}  // namespace gpuos
