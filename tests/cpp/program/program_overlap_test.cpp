// Outputs of a program that share memory, compared with a test of every byte.
#include "program/calls/call_checks.h"

#include <gtest/gtest.h>

#include <bitset>
#include <vector>

#include "views.h"

namespace gpuos::program {
namespace {

constexpr std::uint64_t kMiddle = 64;  // bytes
using Bytes = std::bitset<2 * kMiddle>;

struct Array {
  TensorView view;
  Bytes bytes;
};

Array array_of(DType dtype, std::int64_t rows, std::int64_t row,
               std::int64_t columns, std::int64_t column) {
  Array made;
  made.view = shaped({reinterpret_cast<void*>(kMiddle), 1, dtype},
                     {rows, columns}, {row, column});
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t byte = 0; byte < size; ++byte)
        made.bytes.set(
            static_cast<std::size_t>(static_cast<std::int64_t>(kMiddle) +
                                     (i * row + j * column) * size + byte));
  return made;
}

std::vector<Array> arrays_of(DType dtype) {
  std::vector<Array> arrays;
  for (std::int64_t rows = 0; rows <= 3; ++rows)
    for (std::int64_t columns = 1; columns <= 3; ++columns)
      for (const std::int64_t row : {-2, 0, 1, 3, 5})
        for (const std::int64_t column : {-1, 1, 2, 4})
          arrays.push_back(array_of(dtype, rows, row, columns, column));
  return arrays;
}

TEST(ProgramOverlap, IsThatOfTheBytes) {
  const std::vector<Array> ones = arrays_of(DType::Int16);
  std::size_t together = 0;
  for (const DType dtype : {DType::Int8, DType::Int16}) {
    for (Array other : arrays_of(dtype)) {
      for (std::size_t far = 0; far < 12; ++far) {
        other.view.data = reinterpret_cast<void*>(kMiddle + far);
        const Bytes bytes = other.bytes << far;
        for (const Array& one : ones) {
          const bool share = (one.bytes & bytes).any();
          together += share ? 1 : 0;
          ASSERT_EQ(share_memory(one.view, other.view), share)
              << to_string(one.view) << " and " << far << " bytes behind "
              << to_string(other.view);
          ASSERT_EQ(share_memory(other.view, one.view), share);
        }
      }
    }
  }
  EXPECT_GT(together, 0u);
}

TEST(ProgramOverlap, OfAnArrayWithItselfIsThatOfItsBytes) {
  std::size_t overlapping = 0;
  for (const Array& array : arrays_of(DType::Int16)) {
    const auto elements = static_cast<std::size_t>(array.view.size());
    const bool overlaps = array.bytes.count() != 2 * elements;
    overlapping += overlaps ? 1 : 0;
    ASSERT_EQ(overlaps_itself(array.view), overlaps) << to_string(array.view);
  }
  EXPECT_GT(overlapping, 0u);
}

TEST(ProgramOverlap, OfThreeAxesWithThemselves) {
  for (int number = 0; number < 9 * 9 * 9 * 27; ++number) {
    TensorView view(reinterpret_cast<float*>(kMiddle), 1);
    view.dims = 3;
    view.has_strides = true;
    int left = number;
    for (int d = 0; d < 3; ++d, left /= 9) view.strides[d] = left % 9 - 2;
    for (int d = 0; d < 3; ++d, left /= 3) view.shape[d] = 1 + left % 3;
    std::bitset<64> places;
    for (int i = 0; i < view.shape[0]; ++i)
      for (int j = 0; j < view.shape[1]; ++j)
        for (int k = 0; k < view.shape[2]; ++k)
          places.set(static_cast<std::size_t>(20 + i * view.strides[0] +
                                              j * view.strides[1] +
                                              k * view.strides[2]));
    ASSERT_EQ(overlaps_itself(view),
              places.count() != static_cast<std::size_t>(view.size()))
        << to_string(view);
  }
}

TEST(ProgramOverlap, UndecidedOverlapsCountAsOverlaps) {
  TensorView one(reinterpret_cast<float*>(1 << 20), 1000);
  one.has_strides = true;
  one.dims = kMaxDims;
  TensorView other = one;
  // Sums of many strides that hardly differ, and never meet.
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    one.shape[d] = other.shape[d] = 50;
    one.strides[d] = 2 * static_cast<std::int64_t>(1000 + d);
    other.strides[d] = 2 * static_cast<std::int64_t>(1100 + d);
  }
  other.data = reinterpret_cast<void*>((1 << 20) + 4);
  EXPECT_TRUE(share_memory(one, other));
}

TEST(ProgramOverlap, OfLargeArraysIsFoundSoon) {
  TensorView matrix = shaped({reinterpret_cast<float*>(1 << 20), 1},
                             {1 << 20, 1 << 10, 7}, {7, 7 << 20, 1});
  EXPECT_FALSE(overlaps_itself(matrix));
  matrix.strides = {7 << 10, 7, 1};
  EXPECT_FALSE(overlaps_itself(matrix));
  matrix.strides = {6 << 10, 6, 1};
  EXPECT_TRUE(overlaps_itself(matrix));
}

}  // namespace
}  // namespace gpuos::program
