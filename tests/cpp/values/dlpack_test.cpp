#include "gpuos/dlpack.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "errors.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

constexpr Role kRole{"add", 1};

class DlpackTest : public testing::Test {
 protected:
  dlpack::Tensor tensor() {
    return {memory_.data(), {dlpack::kCpu, 0}, 2, {2, 32, 1},
            shape_.data(),  strides_.data(),   4};
  }
  std::string refusal() {
    return thrown_by<InvalidArgument>(
        [&] { static_cast<void>(dlpack::view_of(tensor(), kRole)); });
  }

  std::array<float, 12> memory_{};
  std::array<std::int64_t, 2> shape_{3, 2};
  std::array<std::int64_t, 2> strides_{1, 3};
};

TEST_F(DlpackTest, ViewOfATensorIsItsMemory) {
  const TensorView view = dlpack::view_of(tensor(), kRole);
  EXPECT_EQ(to_string(view), "(3, 2) float32 with strides (1, 3)");
  EXPECT_EQ(view.data, &memory_[1]);
  strides_ = {2, 1};
  EXPECT_FALSE(dlpack::view_of(tensor(), kRole).has_strides);
}

TEST_F(DlpackTest, RefusesWhatNoMemoryHas) {
  shape_[0] = -1;
  EXPECT_TRUE(says(refusal(), "add: input 1: expected sizes of at least 0"));
  shape_[0] = std::int64_t{1} << 62;
  EXPECT_TRUE(says(refusal(), "no more bytes than the address space"));
  dlpack::Tensor odd = tensor();
  odd.dtype.code = 99;
  EXPECT_TRUE(says(thrown_by([&] { dlpack::view_of(odd, {"add", -1}); }),
                   "add: out: expected dtype float32, "));
  odd = tensor();
  odd.ndim = kMaxDims + 1;
  EXPECT_TRUE(says(thrown_by([&] { dlpack::view_of(odd, kRole); }),
                   "0 to 8 dimensions, got 9"));
}

TEST_F(DlpackTest, SharedMemoryLivesUntilTheDeleterIsCalled) {
  const TensorView view = dlpack::view_of(tensor(), kRole);
  auto keep = std::make_shared<int>();
  const std::weak_ptr<int> kept = keep;
  auto* shared = dlpack::share(view, {dlpack::kCuda, 3}, std::move(keep));
  EXPECT_TRUE(dlpack::is_in({true, true, 3}, shared->tensor.device));
  EXPECT_FALSE(dlpack::is_in({true, true, 2}, shared->tensor.device));
  EXPECT_EQ(to_string(dlpack::view_of(shared->tensor, kRole)), to_string(view));
  EXPECT_FALSE(kept.expired());
  shared->deleter(shared);
  EXPECT_TRUE(kept.expired());
}

TEST(ViewChecks, StridesAreWholeElements) {
  TensorView view(nullptr, 3, DType::Float32);
  const std::int64_t strides[] = {6};
  EXPECT_TRUE(says(thrown_by([&] { set_strides(view, kRole, strides, 4); }),
                   "multiples of the element's 4 bytes, got 6"));
}

}  // namespace
}  // namespace gpuos
