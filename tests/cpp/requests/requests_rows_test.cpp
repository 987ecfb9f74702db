// Row functions, compared with a reference in double.
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "request_support.h"

namespace gpuos {
namespace {

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kColumns = 7;

using Row = std::vector<double>;

double sum_of(const Row& row) {
  return std::accumulate(row.begin(), row.end(), 0.0);
}
double mean_of(const Row& row) {
  return sum_of(row) / static_cast<double>(row.size());
}
double squares_of(const Row& row, double from = 0) {
  double sum = 0;
  for (const double x : row) sum += (x - from) * (x - from);
  return sum;
}
double exponentials_of(const Row& row) {
  double sum = 0;
  for (const double x : row) sum += std::exp(x);
  return sum;
}
double place_of(const Row& row, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i)
    if (!std::isnan(row[best]) &&
        (std::isnan(row[i]) ||
         (largest ? row[i] > row[best] : row[i] < row[best])))
      best = i;
  return static_cast<double>(best);
}
double extreme_of(const Row& row, bool largest) {
  return row[static_cast<std::size_t>(place_of(row, largest))];
}

class RowContract : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (runtime_ == nullptr) return;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i)
      values_.push_back(static_cast<float>(i * 37 % 23) / 8 - 1);
    values_[2 * kColumns + 3] = NAN;
    runner_ = std::make_unique<RequestRunner>(runtime());
  }
  void TearDown() override { runner_.reset(); }

  static RequestOperand view_of(void* data, DType dtype,
                                std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> strides = {}) {
    return {shaped({data, 1, dtype}, shape, strides), data};
  }

  Row row(std::int64_t i) const {
    return {values_.begin() + i * kColumns,
            values_.begin() + (i + 1) * kColumns};
  }
  Row column(std::int64_t i) const {
    Row column;
    for (std::int64_t r = 0; r < kRows; ++r)
      column.push_back(values_[r * kColumns + i]);
    return column;
  }

  static void expect_near(double got, double expected) {
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(got)) << got;
    else
      EXPECT_NEAR(got, expected, 2e-5);
  }

  /// One number of each row, then of each column.
  template <typename T>
  void check(Function function,
             const std::function<double(const Row&)>& reference,
             DType out_dtype, std::vector<RequestOperand> numbers = {}) {
    const DeviceArray<float> x(runtime(), values_);
    for (const bool of_rows : {true, false}) {
      for (const bool keepdims : {false, true}) {
        const std::int64_t count = of_rows ? kRows : kColumns;
        const DeviceArray<T> out(runtime(), count);
        std::vector<std::int64_t> shape{count};
        if (keepdims) shape.insert(of_rows ? shape.end() : shape.begin(), 1);
        std::vector<RequestOperand> operands{
            view_of(x.data(), DType::Float32, {kRows, kColumns})};
        operands.insert(operands.end(), numbers.begin(), numbers.end());
        RequestList list;
        list.add(function, view_of(out.data(), out_dtype, shape), operands,
                 {.is_fresh = true,
                  .axes = static_cast<std::uint8_t>(of_rows ? 2 : 1),
                  .keepdims = keepdims});
        list.run(*runner_);
        const auto got = out.read();
        for (std::int64_t i = 0; i < count; ++i)
          expect_near(got[i], reference(of_rows ? row(i) : column(i)));
      }
    }
  }

  void check_map(
      Function function,
      const std::function<double(const Row&, std::size_t)>& reference,
      const std::vector<RequestOperand>& more = {}) {
    const DeviceArray<float> x(runtime(), values_);
    const DeviceArray<float> out(runtime(), values_.size());
    std::vector<RequestOperand> operands{
        view_of(x.data(), DType::Float32, {kRows, kColumns})};
    operands.insert(operands.end(), more.begin(), more.end());
    RequestList list;
    list.add(function, view_of(out.data(), DType::Float32, {kRows, kColumns}),
             operands, {.is_fresh = true, .axes = 2});
    list.run(*runner_);
    const auto got = out.read();
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < kColumns; ++c)
        expect_near(got[r * kColumns + c], reference(row(r), c));
  }

  std::vector<float> values_;
  std::unique_ptr<RequestRunner> runner_;
};
GPUOS_INSTANTIATE_CONTRACT(RowContract);

TEST_P(RowContract, ReductionsGiveWhatPyTorchGives) {
  const auto real = [this](Function function, double (*reference)(const Row&)) {
    check<float>(function, reference, DType::Float32);
  };
  real(Function::Sum, [](const Row& x) { return sum_of(x); });
  real(Function::Mean, [](const Row& x) { return mean_of(x); });
  real(Function::Prod, [](const Row& x) {
    return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
  });
  real(Function::Amax, [](const Row& x) { return extreme_of(x, true); });
  real(Function::Amin, [](const Row& x) { return extreme_of(x, false); });
  real(Function::Logsumexp,
       [](const Row& x) { return std::log(exponentials_of(x)); });
  real(Function::Norm, [](const Row& x) { return std::sqrt(squares_of(x)); });
  check<std::int64_t>(
      Function::Argmax, [](const Row& x) { return place_of(x, true); },
      DType::Int64);
  check<std::int64_t>(
      Function::Argmin, [](const Row& x) { return place_of(x, false); },
      DType::Int64);
  check<std::uint8_t>(
      Function::Any, [](const Row&) { return 1.0; }, DType::Bool);
  check<std::uint8_t>(
      Function::All,
      [](const Row& x) {
        return std::count(x.begin(), x.end(), 0.0) == 0 ? 1.0 : 0.0;
      },
      DType::Bool);
}

TEST_P(RowContract, VarianceTakesTheCorrectionOffTheCount) {
  for (const double correction : {0.0, 1.0, 2.0}) {
    const auto variance = [=](const Row& x) {
      return squares_of(x, mean_of(x)) /
             (static_cast<double>(x.size()) - correction);
    };
    check<float>(Function::Var, variance, DType::Float32, {correction});
    check<float>(Function::Std,
                 [=](const Row& x) { return std::sqrt(variance(x)); },
                 DType::Float32, {correction});
  }
  EXPECT_EQ(runner_->stats().programs, 4u);
}

TEST_P(RowContract, SoftmaxesGiveWhatPyTorchGives) {
  check_map(Function::Softmax, [](const Row& x, std::size_t i) {
    return std::exp(x[i]) / exponentials_of(x);
  });
  check_map(Function::LogSoftmax, [](const Row& x, std::size_t i) {
    return x[i] - std::log(exponentials_of(x));
  });
}

TEST_P(RowContract, NormsTakeWeightsOfTheLastAxes) {
  const DeviceArray<float> weight(runtime(), {1, 2, 3, 4, 5, 6, 7});
  const DeviceArray<float> bias(runtime(), {7, 6, 5, 4, 3, 2, 1});
  const auto w = view_of(weight.data(), DType::Float32, {kColumns});
  const auto b = view_of(bias.data(), DType::Float32, {kColumns});
  const auto layer = [](const Row& x, std::size_t i) {
    const double mean = mean_of(x);
    return (x[i] - mean) / std::sqrt(squares_of(x, mean) / kColumns + 1e-5);
  };
  const auto rms = [](const Row& x, std::size_t i) {
    return x[i] / std::sqrt(squares_of(x) / kColumns + 1e-5);
  };
  check_map(Function::LayerNormPlain, layer, {1e-5});
  check_map(Function::RmsNormPlain, rms, {1e-5});
  check_map(Function::LayerNorm,
            [&](const Row& x, std::size_t i) {
              const auto place = static_cast<double>(i);
              return layer(x, i) * (place + 1) + 7 - place;
            },
            {w, b, 1e-5});
  check_map(Function::RmsNorm,
            [&](const Row& x, std::size_t i) {
              return rms(x, i) * (static_cast<double>(i) + 1);
            },
            {w, 1e-5});
}

TEST_P(RowContract, AllAxesGiveOneNumber) {
  values_[2 * kColumns + 3] = 100;
  const DeviceArray<float> x(runtime(), values_);
  const DeviceArray<float> sum(runtime(), 1);
  const DeviceArray<std::int64_t> place(runtime(), 1);
  const auto matrix = view_of(x.data(), DType::Float32, {kColumns, kRows},
                              {1, kColumns});  // transposed
  RequestList list;
  list.add(Function::Sum, view_of(sum.data(), DType::Float32, {}), {matrix},
           {.axes = 3});
  list.add(Function::Argmax, view_of(place.data(), DType::Int64, {}), {matrix},
           {.axes = 3});
  list.run(*runner_);
  EXPECT_FLOAT_EQ(
      sum.read()[0],
      static_cast<float>(sum_of(Row(values_.begin(), values_.end()))));
  EXPECT_EQ(place.read()[0], 3 * kRows + 2);
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
