// Compiled reductions of rows that few or many workers share.
#include <algorithm>
#include <type_traits>

#include "contract.h"

namespace gpuos {
namespace {

class ProgramRows : public Contract {
 protected:
  /// Sum, maximum and place of the minimum of each row.
  static Program build() {
    ProgramBuilder builder;
    const Value x = builder.input(DType::Int32, 2);
    builder.output(ProgramBuilder::reduce(Op::Sum, x, {{1}}));
    builder.output(ProgramBuilder::reduce(Op::Max, x, {{1}}));
    builder.output(ProgramBuilder::reduce(Op::Argmin, x, {{1}}));
    return builder.build();
  }

  /// `gap`: elements between rows.
  void check(const Program& program, std::int64_t rows, std::int64_t columns,
             std::int64_t gap) {
    const std::int64_t distance = columns + gap;
    std::vector<std::int32_t> a(static_cast<std::size_t>(rows * distance));
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<std::int32_t>(i * 2654435761u % 100'003) - 50'000;
    const DeviceArray<std::int32_t> x(runtime(), a);
    const auto count = static_cast<std::size_t>(rows);
    const DeviceArray<std::int64_t> sums(runtime(), count);
    const DeviceArray<std::int32_t> tops(runtime(), count);
    const DeviceArray<std::int64_t> places(runtime(), count);
    const TensorView in = shaped(x.view(), {rows, columns}, {distance, 1});
    const std::vector<TensorView> outputs{sums.view(), tops.view(),
                                          places.view()};
    // The second one finds counters as the first one left them.
    for (int call = 0; call < 2; ++call)
      runtime().submit(program, std::vector<TensorView>{in}, outputs);
    const auto got_sums = sums.read();
    const auto got_tops = tops.read();
    const auto got_places = places.read();
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = a.begin() + static_cast<std::int64_t>(i) * distance;
      const auto end = begin + columns;
      std::int64_t sum = 0;
      for (auto at = begin; at != end; ++at) sum += *at;
      ASSERT_EQ(got_sums[i], sum) << rows << ", " << columns << ", " << i;
      ASSERT_EQ(got_tops[i], *std::max_element(begin, end));
      ASSERT_EQ(got_places[i], std::min_element(begin, end) - begin);
    }
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramRows);

TEST_P(ProgramRows, AreRightForFewLongAndManyShortOnes) {
  const Program program = build();
  ASSERT_TRUE(runtime().compile(program, kCompileDeadline));
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {1, 1},       {1, 4'194'304}, {1, 1'000'003}, {3, 70'004},
      {7, 100'001}, {600, 4'096},   {1'100, 2'052}, {9'000, 65}};
  for (const auto& [rows, columns] : sizes)
    for (const std::int64_t gap : {0, 1, 4}) check(program, rows, columns, gap);
}

// The row that all workers share, if it begins where packs do.
template <typename T>
void expect_product_sum(Runtime& runtime, DType dtype) {
  ProgramBuilder builder;
  const Value x = builder.input(dtype, 1);
  const Value y = builder.input(dtype, 1);
  builder.output(ProgramBuilder::reduce(
      Op::Sum, ProgramBuilder::apply(Op::Multiply, {x, y}), {{0}}));
  builder.output(ProgramBuilder::reduce(Op::Max, y, {{0}}));
  const Program program = builder.build();
  ASSERT_TRUE(runtime.compile(program, kCompileDeadline));
  using Sum = std::conditional_t<std::is_same_v<T, std::int32_t>, std::int64_t,
                                 T>;  // as NumPy's
  for (const std::size_t size : {1'048'576, 1'500'016, 4'325'376, 1'000'001})
    for (const std::size_t first : {0, 1}) {
      // Such that sums are exact in all dtypes.
      std::vector<T> a(size + first);
      std::vector<T> b(size + first);
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<T>(i * 2654435761u >> 20 & 3);
        b[i] = static_cast<T>(i % 7 == 0);
      }
      const DeviceArray<T> left(runtime, a);
      const DeviceArray<T> right(runtime, b);
      const DeviceArray<Sum> sum(runtime, 1);
      const DeviceArray<T> top(runtime, 1);
      const auto view = [](auto& array, std::size_t from, std::size_t dims) {
        TensorView all = array.view();
        all.data = array.data() + from;
        all.shape[0] -= static_cast<std::int64_t>(from);
        all.dims = static_cast<std::uint8_t>(dims);
        return all;
      };
      for (int call = 0; call < 2; ++call)
        runtime.submit(
            program,
            std::vector<TensorView>{view(left, first, 1),
                                    view(right, first, 1)},
            std::vector<TensorView>{view(sum, 0, 0), view(top, 0, 0)});
      Sum wanted = 0;
      for (std::size_t i = first; i < a.size(); ++i) wanted += a[i] * b[i];
      ASSERT_EQ(sum.read()[0], wanted) << size << " from " << first;
      ASSERT_EQ(top.read()[0], T{1});
    }
}

TEST_P(ProgramRows, OneLongRowOfTwoArraysIsRightAtAnyAlignment) {
  expect_product_sum<float>(runtime(), DType::Float32);
  expect_product_sum<double>(runtime(), DType::Float64);
  expect_product_sum<std::int32_t>(runtime(), DType::Int32);
}

// Rows that workers stream: several in turn for the lanes of a whole worker or
// of a warp, with some too short to be copied ahead, and slices of several
// rows.
TEST_P(ProgramRows, LongRowsOfFloatsAreAllSummed) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(ProgramBuilder::reduce(Op::Sum, x, {{1}}));
  const Program sum = builder.build();
  builder.output(ProgramBuilder::reduce(Op::Max, x, {{1}}));
  const Program both = builder.build();
  for (const Program& program : {sum, both})
    ASSERT_TRUE(runtime().compile(program, kCompileDeadline));
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {1'700, 9'216}, {2'200, 4'100}, {20'000, 700}, {9'000, 1'028},
      {40, 300'000},  {5, 1'000'004}, {5, 1'000'001}};
  for (const auto& [rows, columns] : sizes) {
    // Such that sums are exact, and each row has its own.
    std::vector<float> a(static_cast<std::size_t>(rows * columns));
    std::vector<float> sums(static_cast<std::size_t>(rows));
    std::vector<float> tops(sums.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(columns);
      a[i] = static_cast<float>(i * 2654435761u >> 20 & 7) +
             static_cast<float>(row % 3);
      sums[row] += a[i];
      tops[row] = std::max(tops[row], a[i]);
    }
    const DeviceArray<float> in(runtime(), a);
    const DeviceArray<float> got_sums(runtime(), sums.size());
    const DeviceArray<float> got_tops(runtime(), sums.size());
    const std::vector inputs{shaped(in.view(), {rows, columns})};
    runtime().submit(sum, inputs, std::vector<TensorView>{got_sums.view()});
    ASSERT_EQ(got_sums.read(), sums) << rows << ", " << columns;
    for (int call = 0; call < 2; ++call)
      runtime().submit(
          both, inputs,
          std::vector<TensorView>{got_sums.view(), got_tops.view()});
    ASSERT_EQ(got_sums.read(), sums) << rows << ", " << columns;
    ASSERT_EQ(got_tops.read(), tops) << rows << ", " << columns;
  }
}

// Not all lanes of such a worker can take part.
TEST_P(ProgramRows, AreRightWithManyCellsAndOddWorkers) {
  restart({.backend = GetParam(),
           .threads_per_worker = 96,
           .compile_programs_after = 0});
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float64, 2);
  std::vector<Value> values{x};
  for (int i = 0; i < 60; ++i)
    values.push_back(
        ProgramBuilder::apply(Op::Add, {values.back(), builder.literal(1.0)}));
  Value total = values.front();
  for (std::size_t i = 1; i < values.size(); ++i)
    total = ProgramBuilder::apply(Op::Subtract, {values[i], total});
  builder.output(ProgramBuilder::reduce(Op::Sum, total, {{1}}));
  const Program program = builder.build();
  const std::int64_t rows = 5, columns = 700;
  std::vector<double> a(static_cast<std::size_t>(rows * columns));
  std::iota(a.begin(), a.end(), 0.0);
  const DeviceArray<double> x_array(runtime(), a);
  const DeviceArray<double> sums(runtime(), rows);
  const std::vector inputs{shaped(x_array.view(), {rows, columns})};
  const std::vector outputs{sums.view()};
  runtime().submit(program, inputs, outputs);
  const auto result = sums.read();
  for (std::int64_t i = 0; i < rows; ++i) {
    double expected = 0;
    for (std::int64_t k = 0; k < columns; ++k)
      expected += a[static_cast<std::size_t>(i * columns + k)] + 30;
    ASSERT_EQ(result[static_cast<std::size_t>(i)], expected);
  }
}

}  // namespace
}  // namespace gpuos
