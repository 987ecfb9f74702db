// The limits of the types of numbers. The file is not named limits.h, because
// NVRTC would then give it to a source that includes <limits.h>.
#pragma once

#include "task_abi.h"

namespace gpuos {

// Returns the same bits as another type of that size.
template <typename To, typename From>
GPUOS_DEVICE constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast: the sizes differ");
#if __has_builtin(__builtin_bit_cast)
  return __builtin_bit_cast(To, from);
#else  // NVRTC 12.1: then no constant expression
  To to{};
  memcpy(&to, &from, sizeof(To));
  return to;
#endif
}

// Uses functions only, because each constant would be a variable in every
// image. This class serves the integer types. The real types follow, and the
// short floats add theirs.
template <typename T>
struct Limits {
  static_assert(static_cast<T>(3) / 2 == 1, "Limits: T is no number");

  static constexpr GPUOS_DEVICE bool is_integer() { return true; }
  static constexpr GPUOS_DEVICE bool is_signed() {
    return static_cast<T>(-1) < static_cast<T>(1);
  }
  static constexpr GPUOS_DEVICE int digits() {
    return static_cast<int>(8 * sizeof(T)) - is_signed();
  }
  static constexpr GPUOS_DEVICE T highest() {
    return static_cast<T>(~0ull >> (64 - digits()));
  }
  static constexpr GPUOS_DEVICE T lowest() {
    return is_signed() ? static_cast<T>(-highest() - 1) : T{0};
  }
};

// A binary format: a sign, then the exponent, then `kFraction` bits.
template <typename T, typename Bits, int kFraction>
struct RealLimits {
  static constexpr GPUOS_DEVICE bool is_integer() { return false; }
  static constexpr GPUOS_DEVICE bool is_signed() { return true; }
  static constexpr GPUOS_DEVICE int digits() { return kFraction + 1; }

  static constexpr GPUOS_DEVICE T infinity() { return from(infinity_bits()); }
  static constexpr GPUOS_DEVICE T nan() {
    return from(infinity_bits() | exponent_one() >> 1);
  }
  static constexpr GPUOS_DEVICE T highest() {
    return from(infinity_bits() - 1);
  }
  static constexpr GPUOS_DEVICE T lowest() {
    return from(sign() | (infinity_bits() - 1));
  }
  // The smallest positive number with all digits, and with at least one.
  static constexpr GPUOS_DEVICE T smallest() { return from(exponent_one()); }
  static constexpr GPUOS_DEVICE T smallest_subnormal() { return from(1); }
  // The distance from 1 to the next number.
  static constexpr GPUOS_DEVICE T epsilon() {
    return from(((infinity_bits() >> 1) - kFraction * exponent_one()) &
                infinity_bits());
  }

 private:
  // Uses 64 bits, because narrower types would be promoted to int.
  static constexpr GPUOS_DEVICE u64 sign() {
    return 1ull << (8 * sizeof(T) - 1);
  }
  static constexpr GPUOS_DEVICE u64 exponent_one() { return 1ull << kFraction; }
  static constexpr GPUOS_DEVICE u64 infinity_bits() {
    return sign() - exponent_one();
  }
  static constexpr GPUOS_DEVICE T from(u64 bits) {
    return bit_cast<T>(static_cast<Bits>(bits));
  }
};

template <>
struct Limits<float> : RealLimits<float, u32, 23> {};
template <>
struct Limits<double> : RealLimits<double, u64, 52> {};

// `x` is of any real type. NaN alone is unequal to itself.
template <typename T>
GPUOS_DEVICE constexpr bool is_nan(T x) {
  return x != x;
}
template <typename T>
GPUOS_DEVICE constexpr bool is_infinite(T x) {
  return x == Limits<T>::infinity() || x == -Limits<T>::infinity();
}
template <typename T>
GPUOS_DEVICE constexpr bool is_finite(T x) {
  return x - x == 0;
}

// The type to compute with T, and the type to sum many of them.
template <typename T>
struct Compute {
  using type = T;
};
template <typename T>
using ComputeType = typename Compute<T>::type;

}  // namespace gpuos
