#include "gpuos/tensor_view.h"

#include <gtest/gtest.h>

namespace gpuos {
namespace {

TensorView view_of(std::initializer_list<std::int64_t> shape) {
  TensorView view;
  view.dims = static_cast<std::uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  return view;
}

TEST(TensorView, SizeIsTheProductOfItsShape) {
  EXPECT_EQ(view_of({2, 3, 4}).size(), 24);
  EXPECT_EQ(view_of({}).size(), 1);
  EXPECT_EQ(view_of({5, 0}).size(), 0);
  EXPECT_EQ(view_of({5, -1}).size(), -1);
}

TEST(TensorView, PrintsAsNumPyPrintsIt) {
  EXPECT_EQ(to_string(view_of({2, 3})), "(2, 3) float32");
  EXPECT_EQ(to_string(view_of({7})), "(7,) float32");
  EXPECT_EQ(to_string(view_of({})), "() float32");
}

}  // namespace
}  // namespace gpuos
