// Shared and separate data of calls of one program.
#include <thread>

#include "errors.h"
#include "program_support.h"

namespace gpuos {
namespace {

/// x * k + y.
Program line_program() {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  const Value k = builder.scalar(DType::Float32);
  builder.output(binary(Op::Add, binary(Op::Multiply, x, k), y));
  return builder.build();
}

class ProgramCalls : public Contract {
 protected:
  std::string message_of(const Program& program,
                         const std::vector<TensorView>& inputs,
                         const TensorView& out) {
    const Scalar scalar(2.0f);
    return thrown_by<InvalidArgument>(
        [&] { runtime().submit(program, inputs, {&out, 1}, {&scalar, 1}); });
  }

  void line(const Program& program, const std::vector<TensorView>& inputs,
            const TensorView& out, float k) {
    const Scalar scalar(k);
    runtime().submit(program, inputs, {&out, 1}, {&scalar, 1});
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramCalls);

TEST_P(ProgramCalls, ResultsOfEqualInputsAreOneTask) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input_like(x, DType::Float32);
  builder.output(binary(Op::Add, x, x));
  builder.output(binary(Op::Multiply, y, y));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), 100, 3), b(runtime(), 100, 5);
  const DeviceArray<float> squares(runtime(), 100);
  const std::uint64_t before = runtime().stats().tasks_submitted;
  // The first output takes the place of what the second one reads.
  const TensorView inputs[] = {a.view(), b.view()};
  const TensorView outputs[] = {b.view(), squares.view()};
  runtime().submit(program, inputs, outputs);
  EXPECT_EQ(runtime().stats().tasks_submitted, before + 1);
  EXPECT_EQ(b.read(), std::vector<float>(100, 6));
  EXPECT_EQ(squares.read(), std::vector<float>(100, 25));
}

TEST_P(ProgramCalls, EqualInputsMustHaveOneShape) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value y = builder.input_like(x, DType::Float32);
  const Value k = builder.scalar(DType::Float32);
  builder.output(binary(Op::Multiply, binary(Op::Add, x, y), k));
  const Program program = builder.build();
  const DeviceArray<float> data(runtime(), 40, 1), out(runtime(), 20);
  const auto message = [&](std::int64_t rows, std::int64_t columns) {
    return message_of(
        program,
        {matrix(data.data(), 4, 5), matrix(data.data() + 20, rows, columns)},
        matrix(out.data(), 4, 5));
  };
  EXPECT_EQ(message(4, 1),
            "program: expected input 1 to have the shape of input 0, got 1 and "
            "5 elements along dimension 1");
  EXPECT_EQ(message(4, 5), "");
  EXPECT_EQ(out.read(), std::vector<float>(20, 4));
  EXPECT_NE(message(1, 5), "");
  EXPECT_THROW(static_cast<void>(program.output_shapes({{{4, 5}, {4, 1}}})),
               InvalidArgument);
  EXPECT_THROW(builder.input_like(k, DType::Float32), InvalidArgument);
}

TEST_P(ProgramCalls, RefusedSizesAreNotRemembered) {
  const Program program = line_program();
  const auto values = ramp(4096);
  const DeviceArray<float> x(runtime(), values);
  const DeviceArray<float> out(runtime(), 128);
  const auto typed = [](TensorView view) {
    view.dtype = DType::Int32;
    return view;
  };
  const auto sized = [](TensorView view, std::int64_t size, int dims) {
    view.shape[0] = size;
    view.dims = static_cast<std::uint8_t>(dims);
    return view;
  };
  // More sizes than are remembered, and in between calls of new ones.
  for (std::int64_t number = 0; number < 80; ++number) {
    const std::int64_t size = 2 + number % 40;
    const auto n = static_cast<std::size_t>(size);
    const TensorView a = x.view(n, n), b = x.view(0, n), to = out.view(0, n);
    const std::int64_t other = size + 50;
    for (const TensorView& bad : {typed(sized(b, other, 1)), sized(b, other, 2),
                                  sized(b, -1, 1), sized(b, other, 1)})
      EXPECT_NE(message_of(program, {a, bad}, to), "") << size;
    EXPECT_NE(message_of(program, {a}, to), "");
    EXPECT_NE(message_of(program, {a, b}, sized(to, other, 1)), "");
    EXPECT_NE(message_of(program, {sized(a, other, 1), sized(b, other, 1)},
                         typed(sized(to, other, 1))),
              "");
    line(program, {a, b}, to, 3.0f);
    const auto got = out.read();
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(got[i], values[n + i] * 3 + values[i]) << size << " " << i;
  }
}

// Where sizes are 1, arrays look alike that are not.
TEST_P(ProgramCalls, SimilarShapesAreDistinguished) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 3);
  builder.output(binary(Op::Add, ProgramBuilder::view(x, std::array{1, 0, 2}),
                        builder.literal(1.0)));
  const Program program = builder.build();
  const auto values = ramp(2 * 3 * 7);
  const DeviceArray<float> in(runtime(), values);
  const DeviceArray<float> out(runtime(), values.size());
  const auto submit = [&](std::int64_t a, std::int64_t b, std::int64_t c,
                          std::int64_t d) {
    const TensorView from = shaped(in.view(), {a, b, 7});
    const TensorView to = shaped(out.view(), {c, d, 7});
    runtime().submit(program, {&from, 1}, {&to, 1});
  };
  submit(1, 1, 1, 1);
  EXPECT_THROW(submit(2, 3, 2, 3), InvalidArgument);
  submit(2, 3, 3, 2);
  auto got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], values[i / 7 % 2 * 21 + i / 14 * 7 + i % 7] + 1) << i;
  submit(1, 1, 1, 1);
  submit(2, 2, 2, 2);
  got = out.read();
  for (std::size_t i = 0; i < 28; ++i)
    ASSERT_EQ(got[i], values[i / 7 % 2 * 14 + i / 14 * 7 + i % 7] + 1) << i;
}

TEST_P(ProgramCalls, AddressesAreCheckedEveryTime) {
  const Program program = line_program();
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
              "program: output 0: expected writable memory, got read-only");
    wrong = good;
    wrong.data = nullptr;
    EXPECT_EQ(message_of(program, inputs, wrong),
              "program: output 0: expected an address that is a multiple of 4, "
              "got 0");
    wrong.data = reinterpret_cast<char*>(good.data) + 2;
    EXPECT_NE(message_of(program, inputs, wrong), "");
    // A refused call is not remembered.
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

TEST_P(ProgramCalls, ThreadsCallOneProgram) {
  const Program program = line_program();
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
  const Program program = line_program();
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

}  // namespace
}  // namespace gpuos
