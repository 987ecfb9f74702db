// Compiled reductions of rows that few or many workers share.
#include <algorithm>
#include <chrono>

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
    TensorView in = x.view();
    in.dims = 2;
    in.shape[0] = rows;
    in.shape[1] = columns;
    in.has_strides = true;
    in.strides[0] = distance;
    in.strides[1] = 1;
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
  ASSERT_TRUE(runtime().compile(program, std::chrono::seconds(120)));
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {1, 1},       {1, 4'194'304}, {1, 1'000'003}, {3, 70'004},
      {7, 100'001}, {600, 4'096},   {1'100, 2'052}, {9'000, 65}};
  for (const auto& [rows, columns] : sizes)
    for (const std::int64_t gap : {0, 1, 4}) check(program, rows, columns, gap);
}

}  // namespace
}  // namespace gpuos
