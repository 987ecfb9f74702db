#include "gpuos/dtype.h"

#include <gtest/gtest.h>

namespace gpuos {
namespace {

TEST(DType, NamesGoBothWays) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(name_of(DType::Int64), "int64");
  EXPECT_EQ(cpp_name_of(DType::Int64), "long long");
}

TEST(DType, UnknownNameIsEmpty) {
  EXPECT_EQ(dtype_from_name("float16"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(dtype_from_name("Float32"), std::nullopt);
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(size_of(DType::Float32), sizeof(float));
  EXPECT_EQ(size_of(DType::Float64), sizeof(double));
  EXPECT_EQ(size_of(DType::Int32), sizeof(int));
  EXPECT_EQ(size_of(DType::Int64), sizeof(long long));
}

}  // namespace
}  // namespace gpuos
