#include "gpuos/scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gpuos/error.h"

namespace gpuos {
namespace {

TEST(Scalar, KeepsItsValueInEveryDtype) {
  EXPECT_EQ(Scalar(1.5).bits_as(DType::Float32), 0x3fc00000u);
  EXPECT_EQ(Scalar(1.5).bits_as(DType::Float64), 0x3ff8000000000000u);
  EXPECT_EQ(Scalar(3).bits_as(DType::Float32),
            std::bit_cast<std::uint32_t>(3.0f));
  EXPECT_EQ(Scalar(-1).bits_as(DType::Int32), 0xffffffffu);
  EXPECT_EQ(Scalar(-1).bits_as(DType::Int64), 0xffffffffffffffffu);
  EXPECT_EQ(Scalar(7.0).bits_as(DType::Int32), 7u);
}

TEST(Scalar, LargeIntegersAreNotRounded) {
  constexpr std::int64_t kBig = (std::int64_t{1} << 62) + 1;
  EXPECT_EQ(Scalar(kBig).bits_as(DType::Int64), std::uint64_t{kBig});
}

TEST(Scalar, IntegerThatDoesNotFitInt32Throws) {
  const std::int64_t too_big = std::int64_t{1} << 31;
  EXPECT_THROW(Scalar(too_big).bits_as(DType::Int32), InvalidArgument);
  EXPECT_THROW(Scalar(-too_big - 1).bits_as(DType::Int32), InvalidArgument);
  EXPECT_EQ(Scalar(-too_big).bits_as(DType::Int32), 0x80000000u);
}

TEST(Scalar, NumberThatIsNotWholeThrowsForAnInteger) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double value : {0.5, std::nan(""), inf, -inf, 9.3e18}) {
    EXPECT_THROW(Scalar(value).bits_as(DType::Int64), InvalidArgument) << value;
  }
}

}  // namespace
}  // namespace gpuos
