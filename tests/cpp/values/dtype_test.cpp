#include "gpuos/dtype.h"

#include <gtest/gtest.h>

namespace gpuos {
namespace {

TEST(DType, NamesGoBothWays) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(cpp_name_of(DType::Int64), "long long");
  EXPECT_EQ(cpp_name_of(DType::UInt16), "unsigned short");
  EXPECT_EQ(cpp_name_of(DType::Complex64), "gpuos::C64");
}

TEST(DType, BuiltInOperatorsKeepTheirSlots) {
  EXPECT_EQ(static_cast<int>(DType::Float32), 0);
  EXPECT_EQ(static_cast<int>(DType::Float64), 1);
  EXPECT_EQ(static_cast<int>(DType::Int32), 2);
  EXPECT_EQ(static_cast<int>(DType::Int64), 3);
}

TEST(DType, EveryDtypeIsOfOneKind) {
  std::size_t floating = 0;
  std::size_t integers = 0;
  std::size_t is_signed_too = 0;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(is_floating(dtype) + is_integer(dtype) + is_complex(dtype) +
                  (dtype == DType::Bool),
              1)
        << name_of(dtype);
    floating += is_floating(dtype);
    integers += is_integer(dtype);
    is_signed_too += is_signed(dtype);
    const bool is_named_unsigned =
        name_of(dtype).starts_with("uint") || dtype == DType::Bool;
    EXPECT_EQ(is_signed(dtype), !is_named_unsigned) << name_of(dtype);
  }
  EXPECT_EQ(integers, 8u);
  // Four signed integers, two complex dtypes, and all floating ones.
  EXPECT_EQ(is_signed_too, 6 + floating);
}

TEST(DType, UnknownNameIsEmpty) {
  EXPECT_EQ(dtype_from_name("float128"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(dtype_from_name("Float32"), std::nullopt);
}

// The names are those of name_of(): "float16" has 2 bytes of 8 bits.
TEST(DType, NamesSayHowManyBits) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string_view name = name_of(dtype);
    const auto digits = name.find_first_of("0123456789");
    if (digits == name.npos) {
      EXPECT_EQ(size_of(dtype), sizeof(bool)) << name;
      continue;
    }
    const int bits = std::atoi(name.data() + digits);
    EXPECT_EQ(8 * size_of(dtype), static_cast<std::size_t>(bits)) << name;
  }
}

}  // namespace
}  // namespace gpuos
