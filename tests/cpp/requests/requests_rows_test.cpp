// Functions of rows. The values of the others are compared with those of
// PyTorch by test_torch_overloads.py and test_torch_opinfo.py.
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "request_support.h"

namespace gpuos {
namespace {

class RowContract : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (runtime_ != nullptr)
      runner_ = std::make_unique<RequestRunner>(runtime());
  }
  void TearDown() override { runner_.reset(); }

  static RequestOperand view_of(void* data, DType dtype,
                                std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> strides = {}) {
    return {shaped({data, 1, dtype}, shape, strides), data};
  }

  std::unique_ptr<RequestRunner> runner_;
};
GPUOS_INSTANTIATE_CONTRACT(RowContract);

TEST_P(RowContract, VarianceTakesTheCorrectionOffTheCount) {
  const DeviceArray<float> x(runtime(), {1, 2, 3, 6});
  for (const double correction : {0.0, 1.0, 2.0}) {
    const DeviceArray<float> out(runtime(), 1);
    RequestList list;
    list.add(Function::Var, view_of(out.data(), DType::Float32, {1}),
             {view_of(x.data(), DType::Float32, {1, 4}), correction},
             {.is_fresh = true, .axes = 2});
    list.run(*runner_);
    EXPECT_FLOAT_EQ(out.read()[0], static_cast<float>(14 / (4 - correction)));
  }
  EXPECT_EQ(runner_->stats().programs, 1u);  // for any correction
}

// PyTorch has it as one operator on GPUs alone.
TEST_P(RowContract, RootMeanSquareNormsMayHaveWeights) {
  const DeviceArray<float> x(runtime(), {1, 1, -7, 7});
  const DeviceArray<float> weight(runtime(), {1, 2, 3, 4});
  const DeviceArray<float> plain(runtime(), 4), weighted(runtime(), 4);
  const auto row = view_of(x.data(), DType::Float32, {1, 4});
  RequestList list;
  list.add(Function::RmsNormPlain,
           view_of(plain.data(), DType::Float32, {1, 4}), {row, 11.0},
           {.is_fresh = true, .axes = 2});
  list.add(Function::RmsNorm, view_of(weighted.data(), DType::Float32, {1, 4}),
           {row, view_of(weight.data(), DType::Float32, {4}), 11.0},
           {.is_fresh = true, .axes = 2});
  list.run(*runner_);
  for (int i = 0; i < 4; ++i) {
    const float expected = x.read()[i] / 6;  // the root of 100 / 4 + 11
    EXPECT_FLOAT_EQ(plain.read()[i], expected);
    EXPECT_FLOAT_EQ(weighted.read()[i], expected * static_cast<float>(i + 1));
  }
}

TEST_P(RowContract, AllAxesGiveOneNumber) {
  std::vector<float> values(15);
  std::iota(values.begin(), values.end(), 0.0f);
  values[8] = 100;  // row 3, column 1 of the matrix
  const DeviceArray<float> x(runtime(), values);
  const DeviceArray<float> sum(runtime(), 1);
  const DeviceArray<std::int64_t> place(runtime(), 1);
  const auto matrix =
      view_of(x.data(), DType::Float32, {5, 3}, {1, 5});  // transposed
  RequestList list;
  list.add(Function::Sum, view_of(sum.data(), DType::Float32, {}), {matrix},
           {.axes = 3});
  list.add(Function::Argmax, view_of(place.data(), DType::Int64, {}), {matrix},
           {.axes = 3});
  list.run(*runner_);
  EXPECT_FLOAT_EQ(sum.read()[0], 105 - 8 + 100);
  EXPECT_EQ(place.read()[0], 3 * 3 + 1);
}

TEST_P(RowContract, SumOfNothingIsZero) {
  const DeviceArray<float> x(runtime(), 1);
  const DeviceArray<float> out(runtime(), 3, 5.0f);
  RequestList list;
  list.add(Function::Sum, view_of(out.data(), DType::Float32, {3}),
           {view_of(x.data(), DType::Float32, {3, 0})}, {.axes = 2});
  list.run(*runner_);
  EXPECT_EQ(out.read(), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace gpuos
