#include "gpuos/tensor_view.h"

#include <gtest/gtest.h>

#include <utility>

#include "views.h"

namespace gpuos {
namespace {

TensorView view_of(const std::vector<std::int64_t>& shape) {
  return shaped({}, shape);
}

TensorView strided(const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& strides) {
  TensorView view = shaped({}, shape, strides);
  view.data = reinterpret_cast<void*>(1000);  // NOLINT(*-no-int-to-ptr)
  view.has_strides = true;
  return view;
}

std::pair<std::uint64_t, std::uint64_t> range_of(const TensorView& view) {
  const ByteRange range = view.byte_range();
  return {range.low, range.high};
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
  EXPECT_EQ(to_string(strided({3, 2}, {1, 3})),
            "(3, 2) float32 with strides (1, 3)");
}

TEST(TensorView, IsContiguousIfItsStridesAreThoseOfCOrder) {
  EXPECT_TRUE(view_of({2, 3}).is_contiguous());
  EXPECT_TRUE(strided({2, 3}, {3, 1}).is_contiguous());
  EXPECT_TRUE(strided({}, {}).is_contiguous());
  EXPECT_FALSE(strided({2, 3}, {1, 2}).is_contiguous());
  EXPECT_FALSE(strided({2, 3}, {4, 1}).is_contiguous());
  EXPECT_FALSE(strided({4}, {-1}).is_contiguous());
  EXPECT_FALSE(strided({4}, {0}).is_contiguous());
}

TEST(TensorView, StridesThatNothingFollowsDoNotMatter) {
  EXPECT_TRUE(strided({2, 1, 3}, {3, 77, 1}).is_contiguous());
  EXPECT_TRUE(strided({1}, {-5}).is_contiguous());
  EXPECT_TRUE(strided({2, 0}, {9, 9}).is_contiguous());
}

TEST(TensorView, StridesAreThoseOfCOrderUnlessItHasItsOwn) {
  using Strides = std::array<std::int64_t, kMaxDims>;
  EXPECT_EQ(view_of({2, 3, 4}).element_strides(), (Strides{12, 4, 1}));
  EXPECT_EQ(view_of({}).element_strides(), Strides{});
  EXPECT_EQ(strided({2, 3}, {-1, 7}).element_strides(), (Strides{-1, 7}));
}

TEST(TensorView, CoversTheBytesThatItsStridesReach) {
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(range_of(strided({2, 3}, {3, 1})), Range(1000, 1024));
  EXPECT_EQ(range_of(strided({2, 3}, {10, 2})), Range(1000, 1060));
  EXPECT_EQ(range_of(strided({4}, {-2})), Range(976, 1004));
  EXPECT_EQ(range_of(strided({2, 3}, {-3, 1})), Range(988, 1012));
  EXPECT_EQ(range_of(strided({5}, {0})), Range(1000, 1004));
  EXPECT_EQ(range_of(strided({5, 0}, {7, 7})), Range(1000, 1000));
  EXPECT_EQ(range_of(strided({}, {})), Range(1000, 1004));
  TensorView plain = view_of({2, 3});
  plain.dtype = DType::Int8;
  plain.data = reinterpret_cast<void*>(1000);  // NOLINT(*-no-int-to-ptr)
  EXPECT_EQ(range_of(plain), Range(1000, 1006));
}

}  // namespace
}  // namespace gpuos
