// Which outputs of a program share memory, beside a look at every byte.
#include "program/overlap.h"

#include <gtest/gtest.h>

#include <bitset>
#include <vector>

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
  made.view.data = reinterpret_cast<void*>(kMiddle);
  made.view.dtype = dtype;
  made.view.dims = 2;
  made.view.has_strides = true;
  made.view.shape = {rows, columns};
  made.view.strides = {row, column};
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

TEST(ProgramOverlap, OfWhatTakesVeryLongIsTaken) {
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

}  // namespace
}  // namespace gpuos::program
