// The Open Compute Project's numbers of 8 bits, for storage: arithmetic on them
// is arithmetic on float.
#pragma once

#include "integers.h"
#include "number_limits.h"

namespace gpuos {

// `kFraction` is the number of bits of the fraction, and `kMost` the first
// number that is too large. A tie goes to the even neighbour, and a NaN becomes
// 0x7f. Otherwise the bits are PyTorch's. The device's instructions need sm_89
// and do not produce infinities, which E5M2 has.
template <u32 kFraction, u32 kMost>
struct Float8 {
  u8 bits;

  Float8() = default;
  explicit GPUOS_DEVICE Float8(float value) : bits(bits_of(value)) {}
  GPUOS_DEVICE operator float() const {
    const u32 sign = static_cast<u32>(bits & 0x80) << 24;
    const u32 size = bits & 0x7f;
    if (size > kMost) return bit_cast<float>(0x7fffffffu);
    if (kHasInfinity && size == kMost)
      return bit_cast<float>(sign | 0x7f800000);
    // Uses no subnormal float, because the process may flush those to zero.
    const float value = size < 1u << kFraction
                            ? static_cast<float>(size) * bit_cast<float>(kUnit)
                            : bit_cast<float>((size << kDropped) + kExponents);
    return bit_cast<float>(sign | bit_cast<u32>(value));
  }

 private:
  // All of these are bits of a float.
  enum : u32 {
    kBias = (1u << (6 - kFraction)) - 1,
    kDropped = 23 - kFraction,
    kExponents = (127 - kBias) << 23,  // what its exponents are less
    kLeast = (128 - kBias) << 23,      // the least number with all digits
    kUnit = (128 - kBias - kFraction) << 23,  // the least of all
    kShift = kUnit + (23u << 23),             // puts kUnit where float rounds
    kHasInfinity = (kMost & ((1u << kFraction) - 1)) == 0
  };

  static GPUOS_DEVICE u8 bits_of(float value) {
    const u32 all = bit_cast<u32>(value);
    const u32 size = all & 0x7fffffff;
    if (size > 0x7f800000) return 0x7f;
    u32 nearest = 0;
    if (size < kLeast) {
      const float sum = bit_cast<float>(size) + bit_cast<float>(kShift);
      nearest = bit_cast<u32>(sum) - kShift;
    } else {
      const u32 odd = size >> kDropped & 1;
      nearest =
          (size - kExponents + (1u << (kDropped - 1)) - 1 + odd) >> kDropped;
    }
    const u32 bits = nearest < kMost ? nearest : kMost;
    return static_cast<u8>((all >> 24 & 0x80) | bits);
  }
};

// A number that is too large becomes 448, because there is no infinity.
using E4M3 = Float8<3, 0x7e>;
using E5M2 = Float8<2, 0x7c>;
static_assert(sizeof(E4M3) == 1 && sizeof(E5M2) == 1, "as in memory");

template <>
struct Limits<E5M2> : RealLimits<E5M2, u8, 2> {};
template <>
struct Limits<E4M3> : RealLimits<E4M3, u8, 3> {
  static constexpr GPUOS_DEVICE E4M3 nan() { return from(0x7f); }
  static constexpr GPUOS_DEVICE E4M3 infinity() { return nan(); }
  static constexpr GPUOS_DEVICE E4M3 highest() { return from(0x7e); }
  static constexpr GPUOS_DEVICE E4M3 lowest() { return from(0xfe); }

 private:
  static constexpr GPUOS_DEVICE E4M3 from(u8 bits) {
    return bit_cast<E4M3>(bits);
  }
};
template <u32 kFraction, u32 kMost>
struct Compute<Float8<kFraction, kMost>> {
  using type = float;
};

}  // namespace gpuos
