// Tests of row functions that run together with the request of their operand.

#include "request_contract.h"

namespace gpuos {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = kSize / kRows;

class FusedRows : public RequestContract {
 protected:
  static RequestOperand full(const DeviceArray<float>& array) {
    return matrix(array, kRows, kColumns, kColumns, 1);
  }
  static RequestOperand column(const DeviceArray<float>& array) {
    return matrix(array, kRows, 1, 1, 1);
  }
  void reduce(Function function, const DeviceArray<float>& out,
              const DeviceArray<float>& of) {
    list_.add(function, column(out), {full(of)},
              {.is_fresh = true, .axes = 2, .keepdims = true});
  }
  // Returns the result of reduce(), broadcast to each element.
  static RequestOperand spread(const DeviceArray<float>& array) {
    return matrix(array, kRows, kColumns, 1, 0);
  }
  static RequestOperand rows(const DeviceArray<float>& array) {
    return part(array, 0, kRows);
  }
  void map(Function function, const DeviceArray<float>& out,
           const DeviceArray<float>& of) {
    list_.add(function, full(out), {full(of)}, {.is_fresh = true, .axes = 2});
  }
  static void expect_column(const DeviceArray<float>& array, float value) {
    const auto values = array.read();
    for (std::int64_t row = 0; row < kRows; ++row)
      ASSERT_EQ(values[row], value) << "row " << row;
    ASSERT_EQ(values[kRows], kPoison);
  }
};
GPUOS_INSTANTIATE_CONTRACT(FusedRows);

TEST_P(FusedRows, AnyShapeOfTheResultWillDo) {
  const auto [x, twice, rows] = make_each(2, kPoison, kPoison);
  list_.add(Function::Multiply, whole(twice), {whole(x), 2.0}, kFresh);
  list_.add(Function::Sum, part(rows, 0, kRows), {full(twice)},
            {.is_fresh = true, .axes = 2});
  run_for({&rows});
  EXPECT_EQ(tasks(), 1u);
  expect_column(rows, 4 * kColumns);
}

TEST_P(FusedRows, ChainsContinueAfterASoftmax) {
  const auto [x, mask, a, b, c, d] =
      make_each(2, 1, kPoison, kPoison, kPoison, kPoison);
  list_.add(Function::Multiply, full(a), {full(x), 0.5}, kFresh);
  list_.add(Function::Add, full(b),
            {full(a), matrix(mask, kRows, kColumns, 0, 1)}, kFresh);
  map(Function::Softmax, c, b);
  list_.add(Function::Multiply, whole(d), {whole(c), 50.0}, kFresh);
  run_for({&d});
  EXPECT_EQ(tasks(), 1u);
  expect_all(c, kPoison);
  const auto values = d.read();
  for (const float value : values) ASSERT_FLOAT_EQ(value, 50.0f / kColumns);
}

TEST_P(FusedRows, ANormComesWithTheSumThatItIsOf) {
  const auto [x, residual, weight, sum, norm] =
      make_each(1, 2, 5, kPoison, kPoison);
  list_.add(Function::Add, full(sum), {full(x), full(residual)}, kFresh);
  TensorView last(weight.data(), kColumns);
  list_.add(Function::RmsNorm, full(norm),
            {full(sum), RequestOperand(last, weight.data()), 0.0},
            {.is_fresh = true, .axes = 2});
  run_for({&sum, &norm});
  EXPECT_EQ(tasks(), 1u);
  expect_all(sum, 3);
  for (const float value : norm.read()) ASSERT_FLOAT_EQ(value, 5);
}

TEST_P(FusedRows, ASumOfANeededResultIsALaterTask) {
  const auto [x, y, z, out, sums] =
      make_each(2, kPoison, kPoison, kPoison, kPoison);
  list_.add(Function::Multiply, full(y), {full(x), 2.0}, kFresh);
  reduce(Function::Sum, sums, y);
  list_.add(Function::Square, full(z), {full(y)}, kFresh);
  list_.add(Function::Subtract, full(out), {full(z), full(x)}, kFresh);
  run_for({&out, &sums});
  EXPECT_EQ(tasks(), 2u);
  expect_column(sums, 4 * kColumns);
  expect_all(z, kPoison);
  expect_all(out, 14);
}

TEST_P(FusedRows, SeveralReductionsOfOneChainAreOneTask) {
  const auto [x, y, most, sums] = make_each(3, kPoison, kPoison, kPoison);
  list_.add(Function::Square, full(y), {full(x)}, kFresh);
  reduce(Function::Amax, most, y);
  reduce(Function::Sum, sums, y);
  run_for({&most, &sums});
  EXPECT_EQ(tasks(), 1u);
  expect_all(y, kPoison);
  expect_column(most, 9);
  expect_column(sums, 9 * kColumns);
}

TEST_P(FusedRows, SeveralReductionsOfOneArrayAreOneTask) {
  const auto [x, most, sums, columns] = make_each(3, kPoison, kPoison, kPoison);
  reduce(Function::Amax, most, x);
  list_.add(Function::Sum, part(sums, 0, kRows), {full(x)},
            {.is_fresh = true, .axes = 2});
  list_.add(Function::Sum, matrix(columns, 1, kColumns, 1, 1), {full(x)},
            {.is_fresh = true, .axes = 1, .keepdims = true});
  run_for({&most, &sums, &columns});
  EXPECT_EQ(tasks(), 2u);
  expect_column(most, 3);
  expect_column(sums, 3 * kColumns);
  const auto values = columns.read();
  for (std::int64_t i = 0; i < kColumns; ++i) ASSERT_EQ(values[i], 3 * kRows);
}

TEST_P(FusedRows, ReductionsOverOtherAxesAreApart) {
  const auto [x, y, rows, columns] = make_each(3, kPoison, kPoison, kPoison);
  list_.add(Function::Square, full(y), {full(x)}, kFresh);
  reduce(Function::Sum, rows, y);
  list_.add(Function::Sum, matrix(columns, 1, kColumns, 1, 1), {full(y)},
            {.is_fresh = true, .axes = 1, .keepdims = true});
  run_for({&rows, &columns});
  EXPECT_LE(tasks(), 3u);
  expect_column(rows, 9 * kColumns);
  const auto values = columns.read();
  for (std::int64_t i = 0; i < kColumns; ++i) ASSERT_EQ(values[i], 9 * kRows);
}

TEST_P(FusedRows, ANormOfManyRequestsIsOneTask) {
  const auto [x, weight, square, mean, shifted, scale, scaled, out] =
      make_each(3, 5, kPoison, kPoison, kPoison, kPoison, kPoison, kPoison);
  list_.add(Function::Square, full(square), {full(x)}, kFresh);
  reduce(Function::Mean, mean, square);
  list_.add(Function::Add, rows(shifted), {rows(mean), 7.0}, kFresh);
  list_.add(Function::Rsqrt, rows(scale), {rows(shifted)}, kFresh);
  list_.add(Function::Multiply, full(scaled), {full(x), spread(scale)}, kFresh);
  list_.add(Function::Multiply, full(out),
            {full(scaled), matrix(weight, kRows, kColumns, 0, 1)}, kFresh);
  run_for({&out});
  EXPECT_EQ(tasks(), 1u);
  EXPECT_EQ(runner_->stats().unwritten, 5u);
  expect_all(scale, kPoison);
  for (const float value : out.read()) ASSERT_FLOAT_EQ(value, 15.0f / 4);
}

TEST_P(FusedRows, ResultsOfRowsThatAreNeededAreATaskOfTheirOwn) {
  const auto [x, most, inverse, out] = make_each(3, kPoison, kPoison, kPoison);
  reduce(Function::Amax, most, x);
  list_.add(Function::Reciprocal, rows(inverse), {rows(most)}, kFresh);
  list_.add(Function::Multiply, full(out), {full(x), spread(inverse)}, kFresh);
  run_for({&inverse, &out});
  EXPECT_EQ(tasks(), 2u);
  expect_column(inverse, 1 / 3.0f);
  for (const float value : out.read()) ASSERT_FLOAT_EQ(value, 1);
}

TEST_P(FusedRows, ASoftmaxOfManyRequestsIsOneTask) {
  const auto [x, most, less, power, sum, out] =
      make_each(3, kPoison, kPoison, kPoison, kPoison, kPoison);
  reduce(Function::Amax, most, x);
  list_.add(Function::Subtract, full(less), {full(x), spread(most)}, kFresh);
  list_.add(Function::Exp, full(power), {full(less)}, kFresh);
  // Without the axis, as if it was viewed with it later.
  list_.add(Function::Sum, rows(sum), {full(power)},
            {.is_fresh = true, .axes = 2});
  list_.add(Function::Divide, full(out), {full(power), spread(sum)}, kFresh);
  run_for({&out});
  EXPECT_EQ(tasks(), 1u);
  for (const float value : out.read()) ASSERT_FLOAT_EQ(value, 1.0f / kColumns);
}

TEST_P(FusedRows, ResultsBroadcastOtherwiseAreReadFromMemory) {
  // The numbers of columns and rows are equal, so either could be meant.
  auto& x = make(0);
  std::vector<float> ramp(kSize);
  for (std::size_t i = 0; i < kSize; ++i) ramp[i] = static_cast<float>(i);
  x.write(ramp);
  const auto [sums, out] = make_each(kPoison, kPoison);
  const auto square = [](const DeviceArray<float>& array) {
    return matrix(array, 10, 10, 10, 1);
  };
  list_.add(Function::Amax, matrix(sums, 10, 1, 1, 1), {square(x)},
            {.is_fresh = true, .axes = 2, .keepdims = true});
  list_.add(Function::Subtract, square(out),
            {square(x), matrix(sums, 10, 10, 0, 1)}, kFresh);
  run_for({&out});
  const auto values = out.read();
  for (std::size_t i = 0; i < kSize; ++i)
    ASSERT_EQ(values[i], ramp[i] - static_cast<float>(i % 10 * 10 + 9));
}

TEST_P(FusedRows, ResultsSpreadOverRowsAloneHaveTheirShape) {
  const auto [x, sums, out] = make_each(3, kPoison, kPoison);
  reduce(Function::Sum, sums, x);
  list_.add(Function::Multiply, full(out), {spread(sums), 2.0}, kFresh);
  run_for({&out});
  EXPECT_EQ(tasks(), 1u);
  expect_all(out, 6 * kColumns);
}

TEST_P(FusedRows, LongRowsAreRight) {
  constexpr std::int64_t kLong = 70'000;
  const DeviceArray<float> x(runtime(), 2 * kLong, 1);
  const DeviceArray<float> y(runtime(), 2 * kLong, 0);
  const DeviceArray<float> z(runtime(), 2 * kLong, 0);
  const DeviceArray<float> out(runtime(), 2 * kLong, 0);
  const auto rows = [](const DeviceArray<float>& array) {
    return matrix(array, 2, kLong, kLong, 1);
  };
  list_.add(Function::Multiply, rows(y), {rows(x), 3.0}, kFresh);
  list_.add(Function::Softmax, rows(z), {rows(y)},
            {.is_fresh = true, .axes = 2});
  list_.add(Function::Multiply, rows(out),
            {rows(z), static_cast<double>(kLong)}, kFresh);
  run_for({&out});
  for (const float value : out.read()) ASSERT_NEAR(value, 1, 1e-4);
}

}  // namespace
}  // namespace gpuos
