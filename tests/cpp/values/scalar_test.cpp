#include "gpuos/scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>

#include "device/short_floats.h"
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

TEST(Scalar, NumberThatIsNotWholeThrowsForAnInteger) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double value : {0.5, std::nan(""), inf, -inf, 9.3e18}) {
    EXPECT_THROW(Scalar(value).bits_as(DType::Int64), InvalidArgument) << value;
  }
}

TEST(Scalar, IntegersOfEveryWidthMustFit) {
  struct Case {
    DType dtype;
    std::int64_t lowest;
    std::uint64_t highest;
  };
  for (const Case& c :
       {Case{DType::Bool, 0, 1}, Case{DType::Int8, -128, 127},
        Case{DType::UInt8, 0, 255}, Case{DType::Int16, -32768, 32767},
        Case{DType::UInt16, 0, 65535}, Case{DType::UInt32, 0, 4294967295},
        Case{DType::Int32, -2147483648, 2147483647},
        Case{DType::Int64, std::numeric_limits<std::int64_t>::min(),
             std::numeric_limits<std::int64_t>::max()}}) {
    EXPECT_EQ(Scalar(c.highest).bits_as(c.dtype), c.highest);
    EXPECT_EQ(Scalar(c.lowest).bits_as(c.dtype),
              static_cast<std::uint64_t>(c.lowest) &
                  ~std::uint64_t{0} >> (64 - 8 * size_of(c.dtype)));
    EXPECT_THROW(Scalar(c.highest + 1).bits_as(c.dtype), InvalidArgument)
        << name_of(c.dtype);
    if (c.dtype == DType::Int64) continue;
    EXPECT_THROW(Scalar(c.lowest - 1).bits_as(c.dtype), InvalidArgument)
        << name_of(c.dtype);
    const auto above = static_cast<double>(c.highest) + 1;
    EXPECT_THROW(Scalar(above).bits_as(c.dtype), InvalidArgument);
    EXPECT_EQ(Scalar(above - 1).bits_as(c.dtype), c.highest);
  }
  EXPECT_THROW(Scalar(0.5).bits_as(DType::Bool), InvalidArgument);
  EXPECT_THROW(Scalar(-1.0).bits_as(DType::UInt64), InvalidArgument);
}

TEST(Scalar, UnsignedIntegersAreWhole) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  EXPECT_EQ(Scalar(kMost).bits_as(DType::UInt64), kMost);
  EXPECT_EQ(Scalar(kMost).real(), 0x1p64);
  EXPECT_EQ(Scalar(kMost).bits_as(DType::Float32),
            std::bit_cast<std::uint32_t>(0x1p64f));
  EXPECT_EQ(Scalar(0x1p63).bits_as(DType::UInt64), std::uint64_t{1} << 63);
  EXPECT_THROW(Scalar(kMost).bits_as(DType::Int64), InvalidArgument);
  EXPECT_THROW(Scalar(0x1p64).bits_as(DType::UInt64), InvalidArgument);
  EXPECT_TRUE(Scalar(kMost).is_integer());
  EXPECT_TRUE(Scalar(kMost).is_above_int64());
  EXPECT_FALSE(Scalar(kMost >> 1).is_above_int64());
}

TEST(Scalar, ShortFloatsAreThoseOfTheDeviceHeaders) {
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low :
         {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x8000u}) {
      const auto value = std::bit_cast<float>(high << 16 | low);
#define GPUOS_EXPECT(with, name, text, bytes, Stored, ...) \
  ASSERT_EQ(Scalar(value).bits_as(DType::name), Stored(value).bits) << value;
      GPUOS_SHORT_FLOATS(GPUOS_EXPECT, )
#undef GPUOS_EXPECT
    }
  }
}

TEST(Scalar, HalvesAreRoundedOnce) {
  // The value is above a tie by less than a float can represent.
  EXPECT_EQ(Scalar(1 + 0x1p-11 + 0x1p-40).bits_as(DType::Float16), 0x3c01u);
  EXPECT_EQ(Scalar(1 + 0x1p-11).bits_as(DType::Float16), 0x3c00u);
  EXPECT_EQ(Scalar(1 + 0x1p-8 + 0x1p-40).bits_as(DType::BFloat16), 0x3f81u);
  EXPECT_EQ(Scalar(1 + 0x1p-8).bits_as(DType::BFloat16), 0x3f80u);
  // The integer is above a tie by less than a double can represent.
  constexpr std::int64_t kTie = (std::int64_t{1} << 62) + (1LL << 54);
  EXPECT_EQ(Scalar(kTie).bits_as(DType::BFloat16), 0x5e80u);
  EXPECT_EQ(Scalar(kTie + 1).bits_as(DType::BFloat16), 0x5e81u);
  EXPECT_EQ(Scalar(-kTie - 1).bits_as(DType::BFloat16), 0xde81u);
  EXPECT_EQ(
      Scalar(static_cast<std::uint64_t>(kTie) * 2 + 1).bits_as(DType::BFloat16),
      0x5f01u);
  EXPECT_EQ(Scalar(1e300).bits_as(DType::Float16), 0x7c00u);
  EXPECT_EQ(Scalar(-1e-300).bits_as(DType::BFloat16), 0x8000u);
}

TEST(Scalar, ComplexNumbersFitComplexDtypesOnly) {
  const Scalar z(std::complex<float>(1.5f, -2.0f));
  EXPECT_TRUE(z.is_complex());
  EXPECT_EQ(z.bits_as(DType::Complex64), 0xc00000003fc00000u);
  EXPECT_EQ(Scalar(1.5).bits_as(DType::Complex64), 0x3fc00000u);
  EXPECT_EQ(Scalar(2).bits_as(DType::Complex64), 0x40000000u);
  const Scalar wide(std::complex<double>(0.1, -0.2));
  EXPECT_EQ(wide.bits_as(DType::Complex128), std::bit_cast<std::uint64_t>(0.1));
  EXPECT_EQ(wide.bits_as(DType::Complex128, true),
            std::bit_cast<std::uint64_t>(-0.2));
  EXPECT_TRUE(wide.is_same_as(wide, DType::Complex128));
  EXPECT_FALSE(wide.is_same_as(0.1, DType::Complex128));
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_complex(dtype)) continue;
    EXPECT_THROW(z.bits_as(dtype), InvalidArgument) << name_of(dtype);
  }
}

TEST(Scalar, UnknownDtypeThrows) {
  EXPECT_THROW(Scalar(1).bits_as(static_cast<DType>(kDTypeCount)),
               InvalidArgument);
}

}  // namespace
}  // namespace gpuos
