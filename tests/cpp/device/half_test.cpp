#include "device/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "device/bfloat16.h"

namespace gpuos {
namespace {

// A 16-bit format, read by the definition of IEEE 754: no bit of a float is
// looked at.
template <int kExponentBits, int kFractionBits>
struct Format {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kFractions = 1 << kFractionBits;
  static constexpr int kSpecial = (1 << kExponentBits) - 1;

  static double value(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> kFractionBits) & kSpecial;
    const int fraction = static_cast<int>(bits) & (kFractions - 1);
    double size = 0;
    if (exponent == kSpecial) {
      size = fraction == 0 ? std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
      size = std::ldexp(fraction, 1 - kBias - kFractionBits);
    } else {
      size =
          std::ldexp(kFractions + fraction, exponent - kBias - kFractionBits);
    }
    return bits & 0x8000 ? -size : size;
  }

  // By search among all numbers of the format.
  static std::uint32_t nearest(float x) {
    if (std::isnan(x)) return 0x7fff;
    const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
    const double size = std::fabs(static_cast<double>(x));
    const std::uint32_t infinity = kSpecial << kFractionBits;
    std::uint32_t low = 0;
    std::uint32_t high = infinity;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (value(middle) <= size ? low : high) = middle;
    }
    // What infinity would be if the exponent went on.
    const double above =
        high == infinity ? 2 * value(infinity - kFractions) : value(high);
    const double down = size - value(low);
    const double up = above - size;
    if (std::isinf(size)) return sign | infinity;
    const bool rounds_up = up < down || (up == down && low % 2 == 1);
    return sign | (rounds_up ? high : low);
  }
};

template <typename T>
struct FormatOf;
template <>
struct FormatOf<F16> : Format<5, 10> {};
template <>
struct FormatOf<Bf16> : Format<8, 7> {};

template <typename T>
T from_bits(std::uint32_t bits) {
  return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
}

template <typename T>
void expect_nearest(float x) {
  ASSERT_EQ(T(x).bits, FormatOf<T>::nearest(x))
      << std::hexfloat << x << std::hex << " "
      << std::bit_cast<std::uint32_t>(x);
}

template <typename T>
class SixteenBits : public testing::Test {};
using Types = testing::Types<F16, Bf16>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, EveryPatternHasItsValue) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float got = from_bits<TypeParam>(bits);
    const double wanted = FormatOf<TypeParam>::value(bits);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(got, wanted) << bits;
      ASSERT_EQ(std::signbit(got), std::signbit(wanted)) << bits;
    }
  }
}

TYPED_TEST(SixteenBits, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = from_bits<TypeParam>(bits);
    ASSERT_EQ(TypeParam(value).bits, std::isnan(value) ? 0x7fff : bits);
  }
}

TYPED_TEST(SixteenBits, TiesGoToTheEvenNeighbourAndTheRestToTheNearest) {
  const auto infinity =
      static_cast<std::uint32_t>(Limits<TypeParam>::infinity().bits);
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const double low = FormatOf<TypeParam>::value(bits);
    const double above = bits + 1 == infinity
                             ? 2 * low - FormatOf<TypeParam>::value(bits - 1)
                             : FormatOf<TypeParam>::value(bits + 1);
    const auto middle = static_cast<float>((low + above) / 2);
    for (const float x :
         {middle, std::nextafter(middle, 0.0f),
          std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      expect_nearest<TypeParam>(x);
      expect_nearest<TypeParam>(-x);
    }
  }
}

TYPED_TEST(SixteenBits, EdgesAndRandomFloatsGoToTheNearest) {
  using Float = std::numeric_limits<float>;
  for (const float x :
       {0.0f, Float::denorm_min(), Float::min(), Float::max(), 65504.0f,
        65519.996f, 65520.0f, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 0x1p-14f,
        0x1.ffcp-15f, Float::infinity(), Float::quiet_NaN(),
        Float::signaling_NaN(), std::bit_cast<float>(0x7f800001u)}) {
    expect_nearest<TypeParam>(x);
    expect_nearest<TypeParam>(-x);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 1'000'000; ++i)
    expect_nearest<TypeParam>(
        std::bit_cast<float>(static_cast<std::uint32_t>(random())));
}

TYPED_TEST(SixteenBits, ArithmeticIsThatOfFloat) {
  const TypeParam a(1.5f);
  const TypeParam b(2.25f);
  static_assert(std::is_same_v<decltype(a * b), float>);
  EXPECT_EQ(a * b + 1, 4.375f);
  EXPECT_EQ(TypeParam(a + b).bits, TypeParam(3.75f).bits);
  EXPECT_TRUE(a < b);
}

}  // namespace
}  // namespace gpuos
