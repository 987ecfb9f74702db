// The memory that tasks of programs leave for each other.
#include <atomic>
#include <thread>

#include "program_support.h"

namespace gpuos {
namespace {

/// The sums of rows.
Program sum_program() {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(ProgramBuilder::reduce(Op::Sum, x, std::vector<int>{1}));
  return builder.build();
}

/// x minus its row's maximum.
Program below_maximum_program() {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(
      binary(Op::Subtract, x,
             ProgramBuilder::reduce(Op::Max, x, std::vector<int>{1}, true)));
  return builder.build();
}

class ProgramMemory : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    RuntimeOptions wanted = options();
    // Rows are shared among workers only where there are several.
    if (is_host()) wanted.workers = 4;
    restart(wanted);
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramMemory);

TEST_P(ProgramMemory, SlicedRowsKeepTheirSums) {
  const Program program = sum_program();
  constexpr std::int64_t kMost = 1 << 17;
  constexpr std::size_t kCalls = 1000, kRoom = 8, kOffsets = 37;
  const auto values = ramp(kMost + kOffsets);
  const DeviceArray<float> x(runtime(), values);
  std::vector<float> sums{0};  // of the first values; whole numbers
  for (const float value : values) sums.push_back(sums.back() + value);
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1, kMost}, {2, kMost / 2}, {1, kMost / 2}, {3, kMost / 4}, {8, 100}};
  const DeviceArray<float> out(runtime(), kCalls * kRoom);
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto& [rows, columns] = shapes[i % shapes.size()];
    const TensorView in = matrix(x.data() + i % kOffsets, rows, columns);
    const TensorView to = out.view(i * kRoom, static_cast<std::size_t>(rows));
    runtime().submit(program, {&in, 1}, {&to, 1});
  }
  const auto got = out.read();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto& [rows, columns] = shapes[i % shapes.size()];
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto first = i % kOffsets + static_cast<std::size_t>(r * columns);
      const auto last = first + static_cast<std::size_t>(columns);
      ASSERT_EQ(got[i * kRoom + static_cast<std::size_t>(r)],
                sums[last] - sums[first])
          << i << " " << r;
    }
  }
}

TEST_P(ProgramMemory, ResultsBetweenPassesStayApart) {
  const Program program = below_maximum_program();
  constexpr std::int64_t kRows = 2, kColumns = 70'000;  // long: two passes
  constexpr std::size_t kThreads = 4, kCalls = 25;
  std::atomic<int> wrong{0};
  const auto work = [&](std::size_t number) {
    for (std::size_t i = 0; i < kCalls; ++i) {
      auto values = ramp(kRows * kColumns);
      const auto top = static_cast<float>(1000 * (number + 1) + i);
      values[number * 100 + i] = top;
      values[kColumns + i] = top + 1;
      const DeviceArray<float> x(runtime(), values);
      const DeviceArray<float> out(runtime(), values.size());
      const TensorView in = matrix(x.data(), kRows, kColumns);
      const TensorView to = matrix(out.data(), kRows, kColumns);
      runtime().submit(program, {&in, 1}, {&to, 1});
      const auto got = out.read();
      for (std::size_t k = 0; k < got.size(); ++k)
        wrong += got[k] != values[k] - (k < kColumns ? top : top + 1);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

/// The sum of many matrices whose rows have gaps.
class ManyMatrices {
 public:
  explicit ManyMatrices(std::size_t count) : count_(count) {
    ProgramBuilder builder;
    Value sum = builder.input(DType::Float32, 4);
    for (std::size_t i = 1; i < count; ++i)
      sum = binary(Op::Add, sum, builder.input(DType::Float32, 4));
    builder.output(sum);
    program_ = builder.build();
  }

  /// 3 x 3 x 3 x `columns` of every second element in each dimension.
  static TensorView view(float* data, std::int64_t columns) {
    return shaped({data, 1}, {3, 3, 3, columns},
                  {400 * columns, 40 * columns, 4 * columns, 2});
  }

  void run(Runtime& runtime, const TensorView& x, const TensorView& out) const {
    const std::vector<TensorView> inputs(count_, x);
    runtime.submit(program_, inputs, {&out, 1});
  }

  /// Returns the result of run() for `values`. Other elements stay -7.
  std::vector<float> expected(const std::vector<float>& values,
                              std::int64_t columns) const {
    std::vector<float> result(values.size(), -7.0f);
    const TensorView to = view(nullptr, columns);
    for (std::int64_t i = 0; i < 27 * columns; ++i) {
      const std::int64_t at = i / (9 * columns) * to.strides[0] +
                              i / (3 * columns) % 3 * to.strides[1] +
                              i / columns % 3 * to.strides[2] +
                              i % columns * to.strides[3];
      const auto k = static_cast<std::size_t>(at);
      result[k] = static_cast<float>(count_) * values[k];
    }
    return result;
  }

 private:
  std::size_t count_;
  Program program_;
};

TEST_P(ProgramMemory, DistantTablesStayWithTheirShape) {
  const ManyMatrices matrices(8);
  const auto values = ramp(20'000);
  const DeviceArray<float> x(runtime(), values);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t columns = 1; columns <= 12; ++columns) {
      const DeviceArray<float> out(runtime(), 20'000, -7.0f);
      const TensorView to = ManyMatrices::view(out.data(), columns);
      matrices.run(runtime(), ManyMatrices::view(x.data(), columns), to);
      ASSERT_EQ(out.read(), matrices.expected(values, columns)) << columns;
    }
  }
}

TEST_P(ProgramMemory, ArgumentsThatDoNotFitOneTaskAreRead) {
  const auto values = ramp(20'000);
  const DeviceArray<float> x(runtime(), values);
  for (const std::size_t count : {24, 25, 26, 49, 64}) {
    const DeviceArray<float> out(runtime(), 20'000, -7.0f);
    const ManyMatrices matrices(count);
    matrices.run(runtime(), ManyMatrices::view(x.data(), 5),
                 ManyMatrices::view(out.data(), 5));
    EXPECT_EQ(out.read(), matrices.expected(values, 5)) << count;
  }
}

}  // namespace
}  // namespace gpuos
