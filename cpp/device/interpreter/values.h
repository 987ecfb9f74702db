// Conversions between the types of programs, and rounding to narrow dtypes.
#pragma once

#include "complex.h"
#include "integers.h"
#include "interpreter/codes.h"
#include "libm.h"
#include "short_floats.h"

namespace gpuos {
namespace program {

template <u32 kType>
struct ValueOf;
template <>
struct ValueOf<kF32> {
  using type = float;
};
template <>
struct ValueOf<kF64> {
  using type = double;
};
template <>
struct ValueOf<kI32> {
  using type = i32;
};
template <>
struct ValueOf<kU32> {
  using type = u32;
};
template <>
struct ValueOf<kI64> {
  using type = i64;
};
template <>
struct ValueOf<kU64> {
  using type = u64;
};
template <>
struct ValueOf<kC64> {
  using type = C64;
};
template <>
struct ValueOf<kC128> {
  using type = C128;
};

// Returns a value from the bits that arguments and the interpreter's cells
// have.
template <typename T>
GPUOS_DEVICE inline T from_bits(u64 bits) {
  if constexpr (sizeof(T) == 8)
    return bit_cast<T>(bits);
  else
    return bit_cast<T>(static_cast<u32>(bits));
}

// A scalar of a task, which takes the next word too if it has 16 bytes.
template <typename T>
GPUOS_DEVICE inline T scalar_at(const u64* words) {
  if constexpr (sizeof(T) == 16)
    return {from_bits<decltype(T::re)>(words[0]),
            from_bits<decltype(T::im)>(words[1])};
  else
    return from_bits<T>(words[0]);
}

template <typename T>
struct IsReal {
  enum : bool { kIs = false };
};
template <>
struct IsReal<float> {
  enum : bool { kIs = true };
};
template <>
struct IsReal<double> {
  enum : bool { kIs = true };
};

// GCC takes (float)(int)x for trunc(x). The result would be -0 in place of 0,
// or another number where x does not fit. -ftrapping-math would prevent it, but
// then erfc and gelu took 5 and 7 times as long. So this hides from the
// compiler that the value is 0.
#if defined(__GNUC__) && !defined(__CUDACC__)
[[gnu::used]] inline i32 unknown_zero = 0;
template <typename T>
inline T unknown(T x) {
  return x ^ static_cast<T>(unknown_zero);
}
#else
template <typename T>
GPUOS_DEVICE inline T unknown(T x) {
  return x;
}
#endif

// Rounds a real towards zero. For a number that does not fit, the processor
// decides, as in PyTorch. x86 gives the lowest value of 32 or 64 bits, a GPU
// the nearest limit. Narrower types keep the low bits of that value. Unsigned
// types of at most 32 bits are converted from 64 bits.
template <typename To, typename From>
GPUOS_DEVICE inline To to_integer(From x) {
  if constexpr (!IsReal<From>::kIs) {
    return static_cast<To>(x);
  } else if constexpr (static_cast<To>(-1) < 0) {
    return unknown(static_cast<To>(x));
  } else {
    if constexpr (sizeof(To) == 8) {
      if (!(x < 0)) return unknown(gpuos::convert<u64>(x));
    }
    return static_cast<To>(unknown(static_cast<i64>(x)));
  }
}

template <typename To>
struct Conversion {
  template <typename From>
  static GPUOS_DEVICE To of(From x) {
    if constexpr (IsReal<To>::kIs)
      return static_cast<To>(x);
    else
      return to_integer<To>(x);
  }
  template <typename Part>
  static GPUOS_DEVICE To of(Complex<Part> x) {
    return of(x.re);
  }
};
template <>
struct Conversion<bool> {
  template <typename From>
  static GPUOS_DEVICE i32 of(From x) {
    return x != 0;
  }
  template <typename Part>
  static GPUOS_DEVICE i32 of(Complex<Part> x) {
    return (x.re != 0) | (x.im != 0);
  }
};
template <typename To>
struct Conversion<Complex<To>> {
  template <typename From>
  static GPUOS_DEVICE Complex<To> of(From x) {
    return {static_cast<To>(x), 0};
  }
  template <typename Part>
  static GPUOS_DEVICE Complex<To> of(Complex<Part> x) {
    return {static_cast<To>(x.re), static_cast<To>(x.im)};
  }
};

// Returns the float that rounds to the same short float as the double. It is
// rounded towards zero, with the last bit set if inexact.
GPUOS_DEVICE inline float to_odd(double x) {
  const float near = static_cast<float>(x);
  if (!(static_cast<double>(near) != x)) return near;
  u32 bits = bit_cast<u32>(near);
  if (near != near) return near;
  const bool is_beyond =
      x > 0 ? static_cast<double>(near) > x : static_cast<double>(near) < x;
  if (is_beyond) --bits;
  return bit_cast<float>(bits | 1);
}

GPUOS_DEVICE inline float single_of(float x) { return x; }
GPUOS_DEVICE inline float single_of(double x) { return to_odd(x); }

template <typename Short>
struct RoundTo {
  template <typename T>
  static GPUOS_DEVICE float of(T x) {
    return static_cast<float>(Short(single_of(x)));
  }
};

template <typename Narrow>
struct WrapTo {
  template <typename T>
  static GPUOS_DEVICE T of(T x) {
    return static_cast<T>(static_cast<Narrow>(x));
  }
};
struct NotFunction {
  template <typename T>
  static GPUOS_DEVICE T of(T x) {
    return x == 0;
  }
};

// A bool in memory. Every value except 0 is true.
struct Flag {
  unsigned char byte;

  GPUOS_DEVICE explicit operator u32() const { return byte != 0; }
};

// The type of a cell that holds a stored type.
template <typename Stored>
struct CellOf {
  using type = u32;
};
template <>
struct CellOf<signed char> {
  using type = i32;
};
template <>
struct CellOf<short> {
  using type = i32;
};
template <>
struct CellOf<u64> {
  using type = u64;
};
template <>
struct CellOf<C128> {
  using type = C128;
};
#define GPUOS_CELL(with, name, text, bytes, Stored, ...) \
  template <>                                            \
  struct CellOf<Stored> {                                \
    using type = float;                                  \
  };
GPUOS_SHORT_FLOATS(GPUOS_CELL, )
#undef GPUOS_CELL

// The value that a reduction begins with.
template <typename T>
GPUOS_DEVICE inline T first_sum() {
  return T{};
}
template <typename T>
GPUOS_DEVICE inline T first_product() {
  return Conversion<T>::of(1.0f);
}
template <typename T>
GPUOS_DEVICE inline T lowest() {
  if constexpr (IsReal<T>::kIs)
    return -Limits<T>::infinity();
  else
    return Limits<T>::lowest();
}
template <typename T>
GPUOS_DEVICE inline T highest() {
  if constexpr (IsReal<T>::kIs)
    return Limits<T>::infinity();
  else
    return Limits<T>::highest();
}

// Returns whether an argmax or argmin takes `b` at `place_b` rather than `a`.
// NaN comes before numbers, then the value decides, then the first place.
template <bool kMax, typename T>
GPUOS_DEVICE inline bool takes(T a, u64 place_a, T b, u64 place_b) {
  const bool nan_a = a != a;
  const bool nan_b = b != b;
  if (nan_a | nan_b) return nan_b & (!nan_a | (place_b < place_a));
  const bool better = kMax ? a < b : b < a;
  return better | ((a == b) & (place_b < place_a));
}

}  // namespace program
}  // namespace gpuos
