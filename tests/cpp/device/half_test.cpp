#include "device/short_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "gpuos/dtype_list.h"

namespace gpuos {
namespace {

// A format that is read by the definition of IEEE 754, without the bits of a
// float. Without an infinity, a value that is too large becomes the largest
// number.
template <int kBits, int kFractionBits, std::uint32_t kMost>
struct Format {
  static constexpr std::uint32_t kSign = 1u << (kBits - 1);
  static constexpr std::uint32_t kNan = kSign - 1;
  static constexpr int kExponentBits = kBits - 1 - kFractionBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kFractions = 1 << kFractionBits;
  static constexpr int kExponents = (1 << kExponentBits) - 1;
  static constexpr bool kHasInfinity = kMost % kFractions == 0;

  static double value(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> kFractionBits) & kExponents;
    const int fraction = static_cast<int>(bits) & (kFractions - 1);
    double size = 0;
    if ((bits & kNan) > kMost) {
      size = std::numeric_limits<double>::quiet_NaN();
    } else if (kHasInfinity && (bits & kNan) == kMost) {
      size = std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
      size = std::ldexp(fraction, 1 - kBias - kFractionBits);
    } else {
      size =
          std::ldexp(kFractions + fraction, exponent - kBias - kFractionBits);
    }
    return bits & kSign ? -size : size;
  }

  // Returns the next number. Infinity counts as the number that would follow.
  static double above_of(std::uint32_t bits) {
    return kHasInfinity && bits + 1 == kMost ? 2 * value(bits) - value(bits - 1)
                                             : value(bits + 1);
  }

  // Searches all numbers of the format for the nearest one.
  static std::uint32_t nearest(float x) {
    if (std::isnan(x)) return kNan;
    const std::uint32_t sign = std::signbit(x) ? kSign : 0;
    const double size = std::fabs(static_cast<double>(x));
    if (std::isinf(size) || size >= value(kMost)) return sign | kMost;
    std::uint32_t low = 0;
    std::uint32_t high = kMost;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (value(middle) <= size ? low : high) = middle;
    }
    const double above = above_of(low);
    const double down = size - value(low);
    const double up = above - size;
    const bool rounds_up = up < down || (up == down && low % 2 == 1);
    return sign | (rounds_up ? high : low);
  }
};

template <typename T>
struct FormatOf;
#define GPUOS_FORMAT(with, name, text, bytes, Stored, fraction, most, ...) \
  template <>                                                              \
  struct FormatOf<Stored> : Format<8 * (bytes), fraction, most> {};
GPUOS_SHORT_FLOATS(GPUOS_FORMAT, )
#undef GPUOS_FORMAT

template <typename T>
T from_bits(std::uint32_t bits) {
  return std::bit_cast<T>(static_cast<decltype(T::bits)>(bits));
}
template <typename T>
constexpr std::uint32_t kPatterns = 2 * FormatOf<T>::kSign;

template <typename T>
void expect_nearest(float x) {
  ASSERT_EQ(T(x).bits, FormatOf<T>::nearest(x))
      << std::hexfloat << x << std::hex << " "
      << std::bit_cast<std::uint32_t>(x);
}

template <typename T>
class ShortFloats : public testing::Test {};
template <typename, typename... T>
struct AllOf {
  using Types = testing::Types<T...>;
};
#define GPUOS_STORED(with, name, text, bytes, Stored, ...) , Stored
using Types = AllOf<void GPUOS_SHORT_FLOATS(GPUOS_STORED, )>::Types;
#undef GPUOS_STORED
TYPED_TEST_SUITE(ShortFloats, Types);

TYPED_TEST(ShortFloats, EveryPatternHasItsValue) {
  for (std::uint32_t bits = 0; bits < kPatterns<TypeParam>; ++bits) {
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

TYPED_TEST(ShortFloats, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < kPatterns<TypeParam>; ++bits) {
    const float value = from_bits<TypeParam>(bits);
    ASSERT_EQ(TypeParam(value).bits,
              std::isnan(value) ? FormatOf<TypeParam>::kNan : bits);
  }
}

TYPED_TEST(ShortFloats, TiesGoToTheEvenNeighbourAndTheRestToTheNearest) {
  using Of = FormatOf<TypeParam>;
  const std::uint32_t most = Limits<TypeParam>::highest().bits;
  ASSERT_TRUE(std::isfinite(Of::value(most)));
  ASSERT_FALSE(std::isfinite(Of::value(most + 1)));
  for (std::uint32_t bits = 0; bits < most + Of::kHasInfinity; ++bits) {
    const double low = Of::value(bits);
    const double above = Of::above_of(bits);
    const auto middle = static_cast<float>((low + above) / 2);
    for (const float x :
         {middle, std::nextafter(middle, 0.0f),
          std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      expect_nearest<TypeParam>(x);
      expect_nearest<TypeParam>(-x);
    }
  }
}

TYPED_TEST(ShortFloats, EdgesAndRandomFloatsGoToTheNearest) {
  using Float = std::numeric_limits<float>;
  for (const float x :
       {Float::denorm_min(), Float::min(), Float::max(), 65519.996f, 464.1f,
        61440.0f, Float::signaling_NaN(), std::bit_cast<float>(0x7f800001u)}) {
    expect_nearest<TypeParam>(x);
    expect_nearest<TypeParam>(-x);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 1'000'000; ++i)
    expect_nearest<TypeParam>(
        std::bit_cast<float>(static_cast<std::uint32_t>(random())));
}

TYPED_TEST(ShortFloats, ArithmeticIsThatOfFloat) {
  const TypeParam a(1.5f);
  const TypeParam b(2.5f);
  static_assert(std::is_same_v<decltype(a * b), float>);
  EXPECT_EQ(a * b + 1, 4.75f);
  EXPECT_EQ(TypeParam(a + b).bits, TypeParam(4.0f).bits);
  EXPECT_TRUE(a < b);
}

}  // namespace
}  // namespace gpuos
