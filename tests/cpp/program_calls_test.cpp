// What calls of one program share, and what each has for itself.
#include <atomic>
#include <numeric>
#include <thread>

#include "contract.h"

namespace gpuos {
namespace {

Value binary(Op op, const Value& a, const Value& b) {
  return ProgramBuilder::apply(op, {a, b});
}

/// x * k + y of some rank.
Program line_program(int rank) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, rank);
  const Value y = builder.input(DType::Float32, rank);
  const Value k = builder.scalar(DType::Float32);
  builder.output(binary(Op::Add, binary(Op::Multiply, x, k), y));
  return builder.build();
}

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

TensorView matrix(float* data, std::int64_t rows, std::int64_t columns) {
  TensorView view(data, rows);
  view.dims = 2;
  view.shape[1] = columns;
  return view;
}

std::vector<float> ramp(std::size_t size, int first = 0) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = static_cast<float>((static_cast<int>(i) + first) % 101) - 50;
  return values;
}

class ProgramCalls : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    RuntimeOptions wanted = options();
    // Rows are shared among workers only where there are several.
    if (is_host()) wanted.workers = 4;
    restart(wanted);
  }

  std::string message_of(const Program& program,
                         const std::vector<TensorView>& inputs,
                         const TensorView& out) {
    const Scalar scalar(2.0f);
    try {
      runtime().submit(program, inputs, {&out, 1}, {&scalar, 1});
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  }

  void line(const Program& program, const std::vector<TensorView>& inputs,
            const TensorView& out, float k) {
    const Scalar scalar(k);
    runtime().submit(program, inputs, {&out, 1}, {&scalar, 1});
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramCalls);

TEST_P(ProgramCalls, EachHasItsOwnAddressesAndScalars) {
  const Program program = line_program(1);
  constexpr std::size_t kSize = 1000, kCalls = 50;
  const auto values = ramp(kCalls * kSize);
  const DeviceArray<float> x(runtime(), values);
  const DeviceArray<float> out(runtime(), values.size());
  for (std::size_t i = 0; i < kCalls; ++i)
    line(program, {x.view(i * kSize, kSize), x.view(0, kSize)},
         out.view(i * kSize, kSize), static_cast<float>(i));
  const auto got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i],
              values[i] * static_cast<float>(i / kSize) + values[i % kSize])
        << i;
}

TEST_P(ProgramCalls, ShapesComeAndGo) {
  const Program program = line_program(1);
  const auto values = ramp(4096);
  const DeviceArray<float> x(runtime(), values);
  // More of them than are remembered.
  for (int round = 0; round < 3; ++round) {
    for (std::size_t size = 1; size < 30; ++size) {
      const DeviceArray<float> out(runtime(), 40, -7.0f);
      line(program, {x.view(size, size), x.view(0, size)}, out.view(0, size),
           3.0f);
      const auto got = out.read();
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], i < size ? values[size + i] * 3 + values[i] : -7.0f)
            << size << " " << i;
    }
  }
}

TEST_P(ProgramCalls, StridesTellCallsApart) {
  const Program program = line_program(2);
  constexpr std::int64_t kRows = 24, kColumns = 24;
  const auto values = ramp(kRows * kColumns);
  const DeviceArray<float> x(runtime(), values);
  const DeviceArray<float> out(runtime(), values.size());
  const TensorView plain = matrix(x.data(), kRows, kColumns);
  TensorView turned = plain;
  turned.has_strides = true;
  turned.strides[0] = 1;
  turned.strides[1] = kRows;
  TensorView still = plain;  // one row, again and again
  still.has_strides = true;
  still.strides[0] = 0;
  still.strides[1] = 1;
  const auto at = [&](const TensorView& view, std::int64_t r, std::int64_t c) {
    const auto strides = view.element_strides();
    return values[static_cast<std::size_t>(r * strides[0] + c * strides[1])];
  };
  for (const TensorView& view : {plain, turned, still, plain, turned}) {
    line(program, {view, plain}, matrix(out.data(), kRows, kColumns), 10.0f);
    const auto got = out.read();
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < kColumns; ++c)
        ASSERT_EQ(got[static_cast<std::size_t>(r * kColumns + c)],
                  at(view, r, c) * 10 + at(plain, r, c));
  }
}

TEST_P(ProgramCalls, AddressesAreCheckedEveryTime) {
  const Program program = line_program(1);
  const DeviceArray<float> x(runtime(), ramp(1000));
  const DeviceArray<float> out(runtime(), 1000);
  const std::vector<TensorView> inputs{x.view(0, 64), x.view(200, 64)};
  const TensorView good = out.view(0, 64);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(message_of(program, inputs, good), "");
    EXPECT_EQ(message_of(program, inputs, x.view(0, 64)), "") << "in place";
    EXPECT_EQ(message_of(program, inputs, x.view(1, 64)),
              "program: output 0 overlaps input 0 without being the same "
              "buffer");
    EXPECT_EQ(message_of(program, inputs, x.view(263, 64)),
              "program: output 0 overlaps input 1 without being the same "
              "buffer");
    TensorView wrong = good;
    wrong.read_only = true;
    EXPECT_EQ(message_of(program, inputs, wrong),
              "program: output 0 is read-only");
    wrong = good;
    wrong.data = nullptr;
    EXPECT_EQ(message_of(program, inputs, wrong),
              "program: output 0: expected an address that is a multiple of 4, "
              "got 0");
    wrong.data = reinterpret_cast<char*>(good.data) + 2;
    EXPECT_NE(message_of(program, inputs, wrong), "");
    // What was refused is not remembered.
    EXPECT_NE(message_of(program, inputs, out.view(0, 65)), "");
    EXPECT_NE(message_of(program, {x.view(0, 64), x.view(0, 63)}, good), "");
  }
}

TEST_P(ProgramCalls, OutputsOfOneAddressAreRefusedEveryTime) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  builder.output(binary(Op::Add, x, x));
  builder.output(binary(Op::Multiply, x, x));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), ramp(64));
  const DeviceArray<float> sum(runtime(), 64), product(runtime(), 64);
  const TensorView input = a.view();
  const std::array good{sum.view(), product.view()};
  const std::array same{sum.view(), sum.view()};
  for (int round = 0; round < 2; ++round) {
    EXPECT_NO_THROW(runtime().submit(program, {&input, 1}, good));
    EXPECT_THROW(runtime().submit(program, {&input, 1}, same), InvalidArgument);
  }
  synchronize();
}

TEST_P(ProgramCalls, SlicedRowsKeepTheirSums) {
  const Program program = sum_program();
  constexpr std::int64_t kMost = 1 << 17;
  const auto values = ramp(kMost);
  const DeviceArray<float> x(runtime(), values);
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1, kMost}, {2, kMost / 2}, {1, kMost / 2}, {3, kMost / 4}, {8, 100}};
  std::vector<std::vector<float>> sums;
  for (const auto& [rows, columns] : shapes) {
    auto& expected = sums.emplace_back();
    for (std::int64_t r = 0; r < rows; ++r)
      expected.push_back(std::accumulate(values.begin() + r * columns,
                                         values.begin() + (r + 1) * columns,
                                         0.0f));
  }
  constexpr std::size_t kCalls = 1000, kRoom = 8;
  const DeviceArray<float> out(runtime(), kCalls * kRoom);
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto& [rows, columns] = shapes[i % shapes.size()];
    const TensorView in = matrix(x.data(), rows, columns);
    const TensorView to = out.view(i * kRoom, static_cast<std::size_t>(rows));
    runtime().submit(program, {&in, 1}, {&to, 1});
  }
  const auto got = out.read();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto& expected = sums[i % shapes.size()];
    for (std::size_t r = 0; r < expected.size(); ++r)
      ASSERT_EQ(got[i * kRoom + r], expected[r]) << i << " " << r;
  }
}

TEST_P(ProgramCalls, ResultsBetweenPassesStayApart) {
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

TEST_P(ProgramCalls, ThreadsCallOneProgram) {
  const Program program = line_program(1);
  constexpr std::size_t kThreads = 4, kCalls = 400, kMost = 64;
  const auto values = ramp(kMost);
  const DeviceArray<float> x(runtime(), values);
  const DeviceArray<float> out(runtime(), kThreads * kCalls * kMost, -7.0f);
  const auto size_of_call = [](std::size_t i) { return 1 + i % 13; };
  const auto work = [&](std::size_t number) {
    for (std::size_t i = number * kCalls; i < (number + 1) * kCalls; ++i) {
      const std::size_t size = size_of_call(i);
      line(program, {x.view(0, size), x.view(1, size)},
           out.view(i * kMost, size), static_cast<float>(i));
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  const auto got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t call = i / kMost, at = i % kMost;
    ASSERT_EQ(got[i],
              at < size_of_call(call)
                  ? values[at] * static_cast<float>(call) + values[at + 1]
                  : -7.0f)
        << call << " " << at;
  }
}

TEST_P(ProgramCalls, AProgramOutlivesItsRuntime) {
  const Program program = line_program(1);
  const auto values = ramp(100);
  for (int round = 0; round < 3; ++round) {
    {
      const DeviceArray<float> x(runtime(), values);
      const DeviceArray<float> out(runtime(), 100);
      for (const float k : {1.0f, 2.0f}) {
        line(program, {x.view(), x.view()}, out.view(), k);
        EXPECT_EQ(out.read()[7], values[7] * (k + 1));
      }
    }
    restart(options());
  }
}

TEST_P(ProgramCalls, ARuntimeOutlivesItsPrograms) {
  const auto values = ramp(100);
  const DeviceArray<float> x(runtime(), values);
  const DeviceArray<float> out(runtime(), 100);
  for (int round = 0; round < 20; ++round) {
    // Of another structure each time, often at the address of the last one.
    ProgramBuilder builder;
    Value sum = builder.input(DType::Float32, 1);
    const Value y = builder.input(DType::Float32, 1);
    for (int i = 0; i <= round; ++i) sum = binary(Op::Add, sum, y);
    builder.output(sum);
    const Program program = builder.build();
    const std::array inputs{x.view(), x.view()};
    const TensorView to = out.view();
    runtime().submit(program, inputs, {&to, 1});
    EXPECT_EQ(out.read()[9], values[9] * static_cast<float>(round + 2));
    EXPECT_EQ(runtime().stats().programs, 1u);
  }
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
    TensorView view(data, 3);
    view.dims = 4;
    view.shape = {3, 3, 3, columns};
    view.has_strides = true;
    view.strides = {400 * columns, 40 * columns, 4 * columns, 2};
    return view;
  }

  void run(Runtime& runtime, const TensorView& x, const TensorView& out) const {
    const std::vector<TensorView> inputs(count_, x);
    runtime.submit(program_, inputs, {&out, 1});
  }

 private:
  std::size_t count_;
  Program program_;
};

TEST_P(ProgramCalls, TablesThatLieFarStayWithTheirShape) {
  const ManyMatrices matrices(8);
  const auto values = ramp(20'000);
  const DeviceArray<float> x(runtime(), values);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t columns = 1; columns <= 12; ++columns) {
      const DeviceArray<float> out(runtime(), 20'000, -7.0f);
      const TensorView to = ManyMatrices::view(out.data(), columns);
      matrices.run(runtime(), ManyMatrices::view(x.data(), columns), to);
      const auto got = out.read();
      std::vector<float> expected(got.size(), -7.0f);
      for (std::int64_t i = 0; i < 27 * columns; ++i) {
        const std::int64_t at = i / (9 * columns) * to.strides[0] +
                                i / (3 * columns) % 3 * to.strides[1] +
                                i / columns % 3 * to.strides[2] +
                                i % columns * to.strides[3];
        const auto k = static_cast<std::size_t>(at);
        expected[k] = 8 * values[k];
      }
      ASSERT_EQ(got, expected) << columns;
    }
  }
}

TEST_P(ProgramCalls, ArgumentsThatDoNotFitAreRefused) {
  const DeviceArray<float> x(runtime(), 20'000), out(runtime(), 20'000);
  const TensorView from = ManyMatrices::view(x.data(), 5);
  const TensorView to = ManyMatrices::view(out.data(), 5);
  EXPECT_NO_THROW(ManyMatrices(24).run(runtime(), from, to));
  EXPECT_THROW(ManyMatrices(25).run(runtime(), from, to), InvalidArgument);
  synchronize();
}

}  // namespace
}  // namespace gpuos
