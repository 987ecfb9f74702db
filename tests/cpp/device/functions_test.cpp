#include <gtest/gtest.h>

#include "device/functions.h"
#include "functions_support.h"

namespace gpuos {
namespace {

template <typename T>
class RealFunctions : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(RealFunctions, Reals);

TYPED_TEST(RealFunctions, ClassifyNumbers) {
  for (const TypeParam x : special_numbers<TypeParam>()) {
    EXPECT_EQ(fn::isnan(x), std::isnan(x));
    EXPECT_EQ(fn::isinf(x), std::isinf(x));
    EXPECT_EQ(fn::isfinite(x), std::isfinite(x));
    EXPECT_EQ(fn::signbit(x), std::signbit(x));
  }
}

TYPED_TEST(RealFunctions, NumberOrNaNWins) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto& [a, b] : {std::pair{nan, T{1}}, std::pair{T{1}, nan}}) {
    EXPECT_TRUE(std::isnan(fn::maximum(a, b)));
    EXPECT_TRUE(std::isnan(fn::minimum(a, b)));
    EXPECT_EQ(fn::fmax(a, b), 1);
    EXPECT_EQ(fn::fmin(a, b), 1);
    EXPECT_FALSE(fn::less(a, b) || fn::greater_equal(a, b));
    EXPECT_TRUE(fn::not_equal(a, b));
  }
  EXPECT_TRUE(std::isnan(fn::sign(nan)));
  EXPECT_TRUE(std::isnan(fn::heaviside(nan, T{1})));
  EXPECT_EQ(fn::heaviside(T{-0.0}, T{7}), 7);
}

TEST(FloatFunctions, NearAndFarAnglesMeet) {
  EXPECT_TRUE(fn::is_near(1048575.9f));
  EXPECT_FALSE(fn::is_near(0x1p20f));
  EXPECT_FALSE(fn::is_near(-0x1p20f));
  EXPECT_FALSE(fn::is_near(NAN));
  for (const float x : {3.0f, -1048575.9f}) {
    EXPECT_EQ(fn::sin(x), fn::sin_near(x));
    EXPECT_EQ(fn::cos(x), fn::cos_near(x));
    EXPECT_EQ(fn::tan(x), fn::tan_near(x));
  }
  EXPECT_EQ(fn::sin(1e30f), static_cast<float>(std::sin(double{1e30f})));
}

template <typename T>
class IntegerFunctions : public testing::Test {};
using Integers = testing::Types<int, unsigned, long long, unsigned long long>;
TYPED_TEST_SUITE(IntegerFunctions, Integers);

TYPED_TEST(IntegerFunctions, WrapAndNeverTrap) {
  using T = TypeParam;
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  EXPECT_EQ(fn::add(kHigh, T{1}), kLow);
  EXPECT_EQ(fn::sub(kLow, T{1}), kHigh);
  EXPECT_EQ(fn::neg(kLow), kLow);
  EXPECT_EQ(fn::abs(kLow), kLow);
  EXPECT_EQ(fn::floor_div(T{7}, T{0}), T{0});
  EXPECT_EQ(fn::floor_mod(T{7}, T{0}), T{0});
  EXPECT_EQ(fn::fmod(T{7}, T{0}), T{0});
  EXPECT_EQ(fn::reciprocal(T{0}), T{0});
  EXPECT_EQ(fn::floor_div(kLow, static_cast<T>(-1)),
            std::is_signed_v<T> ? kLow : T{0});
  EXPECT_EQ(fn::fmod(kLow, static_cast<T>(-1)), T{0});
  EXPECT_EQ(fn::floor_div(kHigh, kHigh), T{1});
  EXPECT_EQ(fn::floor_mod(T{1}, kHigh), T{1});
}

TYPED_TEST(IntegerFunctions, ShiftsBeyondTheBitsLeaveTheSign) {
  using T = TypeParam;
  constexpr T kBits = 8 * sizeof(T);
  for (const T by : {kBits, T(kBits + 1), static_cast<T>(-1)}) {
    EXPECT_EQ(fn::shift_left(T{5}, by), T{0});
    EXPECT_EQ(fn::shift_right(T{5}, by), T{0});
    if (std::is_signed_v<T>) {
      EXPECT_EQ(fn::shift_right(T(-5), by), T(-1));
    }
  }
  EXPECT_EQ(fn::shift_left(T{5}, T{2}), T{20});
  EXPECT_EQ(fn::shift_right(T{20}, T{2}), T{5});
}

TYPED_TEST(IntegerFunctions, PowersAreProducts) {
  using T = TypeParam;
  for (const T base : {T{0}, T{1}, T{3}, static_cast<T>(-1), T(-7)}) {
    T power = 1;
    for (T exponent = 0; exponent < 70; ++exponent) {
      ASSERT_EQ(fn::pow(base, exponent), power) << base << " " << exponent;
      power = fn::mul(power, base);
    }
  }
}

}  // namespace
}  // namespace gpuos
