// Interpreted and compiled programs do the same, and one takes the other's
// place unseen.
#include <chrono>
#include <cmath>
#include <thread>

#include "program_support.h"
#include "scoped_variable.h"

namespace gpuos {
namespace {

using std::chrono::steady_clock;

/// An array and how it is looked at.
struct Input {
  DType dtype;
  Shape shape;
  std::vector<std::int64_t> strides{};  // in elements; empty: C order
  std::int64_t first = 0;               // element where the view begins
  std::int64_t elements = 0;            // of the memory; 0: as the shape says
};

class ProgramTiers : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    restart({.backend = GetParam(), .compile_programs_after = 0});
  }

  using Results = std::vector<std::vector<std::uint8_t>>;

  Results call(const Program& program, const std::vector<Input>& inputs,
               const std::vector<Scalar>& scalars, std::uint64_t seed) {
    Random random(seed);
    std::vector<DeviceArray<std::uint8_t>> memory;
    std::vector<TensorView> in;
    for (const Input& input : inputs) {
      std::int64_t elements = input.elements;
      if (elements == 0) {
        elements = 1;
        for (const std::int64_t size : input.shape) elements *= size;
      }
      memory.emplace_back(
          runtime(), random_bytes(input.dtype,
                                  static_cast<std::size_t>(elements), random));
      in.push_back(shaped(
          {memory.back().data() +
               input.first * static_cast<std::int64_t>(size_of(input.dtype)),
           1, input.dtype},
          input.shape, input.strides));
    }
    return outputs_of(runtime(), program, in, scalars);
  }

  std::uint64_t compiled_ = 0;

  struct Example {
    std::vector<Input> inputs;
    std::vector<Scalar> scalars{};
  };

  /// Every example before and after the compilation, bit for bit.
  void expect_same(const Program& program,
                   const std::vector<Example>& examples) {
    std::vector<Results> interpreted;
    for (std::size_t i = 0; i < examples.size(); ++i)
      interpreted.push_back(
          call(program, examples[i].inputs, examples[i].scalars, i + 1));
    ASSERT_EQ(runtime().stats().programs_compiled, compiled_);
    ASSERT_TRUE(runtime().compile(program, kCompileDeadline));
    // Programs that differ in their axes only share the code.
    compiled_ = runtime().stats().programs_compiled;
    ASSERT_GT(compiled_, 0u);
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Results results =
          call(program, examples[i].inputs, examples[i].scalars, i + 1);
      for (std::size_t k = 0; k < results.size(); ++k)
        ASSERT_EQ(difference(program.outputs()[k].dtype, interpreted[i][k],
                             results[k]),
                  "")
            << "example " << i << " output " << k;
    }
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramTiers);

TEST_P(ProgramTiers, AgreeForAnySizeAndAlignment) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  const Value alpha = builder.scalar(DType::Float32);
  builder.output(binary(Op::Multiply, binary(Op::Add, x, y), alpha));
  std::vector<Example> examples;
  for (const std::int64_t size :
       {1, 3, 31, 256, 257, 1000, 4096, 100'003, 1'000'000})
    for (const std::int64_t first : {0, 1})
      examples.push_back({{{DType::Float32, {size}, {}, first, size + 1},
                           {DType::Float32, {size}}},
                          {1.5 * static_cast<double>(size)}});
  examples.push_back({{{DType::Float32, {1000}, {-1}, 999, 1000},
                       {DType::Float32, {1000}, {3}, 0, 3000}},
                      {2.0}});
  examples.push_back(
      {{{DType::Float32, {5000}}, {DType::Float32, {5000}, {0}, 0, 1}}, {2.0}});
  expect_same(builder.build(), examples);
}

// The layouts of two dimensions: contiguous, broadcast both ways, transposed,
// backwards, cut out.
std::vector<std::vector<Input>> layouts(DType a, DType b) {
  std::vector<std::vector<Input>> all;
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{37, 53}, {64, 128}, {3, 4096}}) {
    const Shape shape{rows, columns};
    all.push_back({{a, shape}, {b, shape}});
    all.push_back({{a, shape}, {b, {1, columns}}});
    all.push_back({{a, {rows, 1}}, {b, shape}});
    all.push_back({{a, shape, {1, rows}, 0, rows * columns}, {b, shape}});
    all.push_back(
        {{a, shape},
         {b, shape, {-columns, 1}, (rows - 1) * columns, rows * columns}});
    all.push_back({{a, shape, {columns + 8, 1}, 8, rows * (columns + 8) + 8},
                   {b, shape, {2 * columns, 2}, 1, 2 * rows * columns + 2}});
  }
  return all;
}

// A value of every operation that takes the dtype.
Value random_value(Random& random, std::vector<Value>& values) {
  for (;;) {
    const OpInfo& info = kOpInfos[random.below(std::size(kOpInfos))];
    const Op op = info.op;
    if (info.rule == OpRule::Leaf || info.rule == OpRule::Reduction) continue;
    std::vector<Value> operands;
    for (std::size_t k = 0; k < info.operands; ++k)
      operands.push_back(
          values[values.size() - 1 -
                 random.below(std::min<std::size_t>(values.size(), 6))]);
    try {
      return ProgramBuilder::apply(op, operands);
    } catch (const InvalidArgument&) {
      continue;
    }
  }
}

Program random_program(Random& random, DType a, DType b) {
  ProgramBuilder builder;
  std::vector<Value> values{builder.input(a, 2), builder.input(b, 2)};
  values.push_back(builder.literal(1.0));
  for (int i = 0; i < 14; ++i) {
    values.push_back(random_value(random, values));
    if (random.below(4) == 0)
      values.push_back(ProgramBuilder::cast(
          values.back(), kAllDTypes[random.below(std::size(kAllDTypes))]));
  }
  for (std::size_t k = 0; k < 4; ++k)
    builder.output(values[values.size() - 1 - 2 * k]);
  return builder.build();
}

TEST_P(ProgramTiers, AgreeForRandomExpressions) {
  const std::uint64_t seed = 20'261'121;
  Random random(seed);
  for (int i = 0; i < 8; ++i) {
    const DType a = kAllDTypes[random.below(std::size(kAllDTypes))];
    const DType b = kAllDTypes[random.below(std::size(kAllDTypes))];
    Program program;
    try {
      program = random_program(random, a, b);
    } catch (const InvalidArgument&) {
      --i;  // an output that has no rank, or no common dtype
      continue;
    }
    std::vector<Example> examples;
    for (const auto& inputs : layouts(a, b)) examples.push_back({inputs});
    SCOPED_TRACE("seed " + std::to_string(seed) + " program " +
                 std::to_string(i));
    expect_same(program, examples);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ProgramTiers, AgreeForExactReductions) {
  for (const std::vector<int>& axes :
       {std::vector<int>{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    ProgramBuilder builder;
    const Value x = builder.input(DType::Int16, 3);
    const Value y = builder.input(DType::Float32, 3);
    builder.output(ProgramBuilder::reduce(Op::Sum, x, axes));
    builder.output(ProgramBuilder::reduce(Op::Max, y, axes, true));
    if (axes.size() == 1) {
      builder.output(ProgramBuilder::reduce(Op::Argmax, y, axes));
      builder.output(ProgramBuilder::reduce(Op::Argmin, x, axes));
    }
    std::vector<Example> examples;
    for (const Shape& shape :
         {Shape{4, 5, 6}, Shape{1, 300, 7}, Shape{100, 2, 90}, Shape{3, 3, 1},
          Shape{2, 3, 40'000}, Shape{1, 1, 300'001}})
      examples.push_back({{{DType::Int16, shape}, {DType::Float32, shape}}});
    expect_same(builder.build(), examples);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ProgramTiers, SoftmaxAgreesAndIsRight) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value most = ProgramBuilder::reduce(Op::Max, x, {{-1}}, true);
  const Value e = unary(Op::Exp, binary(Op::Subtract, x, most));
  const Value sum = ProgramBuilder::reduce(Op::Sum, e, {{-1}}, true);
  builder.output(binary(Op::Divide, e, sum));
  const Program program = builder.build();
  const auto rows_of = [&](std::int64_t rows, std::int64_t columns) {
    const auto count = static_cast<std::size_t>(rows * columns);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(i * 2654435761u % 1000) / 100;
    const DeviceArray<float> in(runtime(), values), out(runtime(), count);
    const std::vector from{matrix(in.data(), rows, columns)};
    const std::vector to{matrix(out.data(), rows, columns)};
    runtime().submit(program, from, to);
    const auto result = out.read();
    for (std::size_t row = 0; row < count; row += columns) {
      double total = 0;
      for (std::int64_t k = 0; k < columns; ++k)
        total += std::exp(double{values[row + k]});
      for (std::int64_t k = 0; k < columns; ++k) {
        const double wanted = std::exp(double{values[row + k]}) / total;
        EXPECT_NEAR(result[row + k], wanted, 2e-6 * wanted) << row << " " << k;
      }
    }
    return result;
  };
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {1, 1},     {3, 5},    {32, 1000},  {700, 33},
      {32, 4096}, {5000, 3}, {2, 100'000}};
  std::vector<std::vector<float>> interpreted;
  for (const auto& [rows, columns] : sizes)
    interpreted.push_back(rows_of(rows, columns));
  ASSERT_TRUE(runtime().compile(program, kCompileDeadline));
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    const auto results = rows_of(sizes[i].first, sizes[i].second);
    // On the host it is one order of addition.
    const double error = is_host() ? 0 : 1e-6;
    for (std::size_t k = 0; k < results.size(); ++k)
      ASSERT_NEAR(results[k], interpreted[i][k], error * interpreted[i][k])
          << sizes[i].first << " " << sizes[i].second << " " << k;
  }
}

Program add_one(int more) {
  ProgramBuilder builder;
  Value x = builder.input(DType::Float32, 1);
  for (int i = 0; i < more; ++i) x = binary(Op::Add, x, builder.literal(1.0));
  builder.output(x);
  return builder.build();
}

TEST_P(ProgramTiers, PromotionComesInTheBackgroundAndLosesNothing) {
  restart({.backend = GetParam(), .compile_programs_after = 8});
  const Program program = add_one(3);
  const DeviceArray<float> x(runtime(), 1000, 0.0f);
  const std::vector<TensorView> views{x.view()};
  const auto deadline = steady_clock::now() + kCompileDeadline;
  float expected = 0;
  steady_clock::duration longest{};
  int after = 100;
  while (after > 0) {
    ASSERT_LT(steady_clock::now(), deadline) << "not promoted";
    const auto begin = steady_clock::now();
    const Ticket ticket = runtime().submit(program, views, views);
    longest = std::max(longest, steady_clock::now() - begin);
    expected += 3;
    // Exact as long as it is below 2^24.
    ASSERT_LT(expected, 1 << 24);
    if (runtime().stats().programs_compiled > 0) --after;
    if (static_cast<int>(expected) % 30 == 0) {
      ASSERT_TRUE(runtime().wait(ticket, kDeadline));
    }
  }
  for (const float value : x.read()) ASSERT_EQ(value, expected);
  // Far below what the compiler takes, far above what a submission does.
  EXPECT_LT(longest, std::chrono::seconds(5));
  const Stats stats = runtime().stats();
  EXPECT_EQ(stats.programs, 1u);
  EXPECT_EQ(stats.programs_compiled, 1u);
  EXPECT_EQ(stats.programs_failed, 0u);
  EXPECT_EQ(stats.programs_waiting, 0u);
  EXPECT_EQ(static_cast<float>(stats.program_calls) * 3, expected);
}

TEST_P(ProgramTiers, ZeroMeansNever) {
  const Program program = add_one(2);
  const DeviceArray<float> x(runtime(), 1'000'000, 0.0f);
  const std::vector<TensorView> views{x.view()};
  for (int i = 0; i < 300; ++i) runtime().submit(program, views, views);
  synchronize();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(runtime().stats().programs_compiled, 0u);
  EXPECT_EQ(x.read()[7], 600.0f);
}

TEST_P(ProgramTiers, WithoutACompilerTheyStayInterpreted) {
  if (!is_host()) GTEST_SKIP() << "NVRTC cannot be taken away";
  const Program program = add_one(5);
  {
    const ScopedVariable compiler("CXX", "/nowhere/c++");
    EXPECT_THROW(runtime().compile(program, kCompileDeadline), CompileError);
  }
  EXPECT_EQ(runtime().stats().programs_failed, 1u);
  const DeviceArray<float> x(runtime(), 100, 0.0f);
  const std::vector<TensorView> views{x.view()};
  for (int i = 0; i < 50; ++i) runtime().submit(program, views, views);
  EXPECT_EQ(x.read()[99], 250.0f);
  EXPECT_EQ(runtime().stats().programs_failed, 1u);
}

TEST_P(ProgramTiers, CompileRefusesOtherOperators) {
  EXPECT_THROW(runtime().compile(Program(), kDeadline), InvalidArgument);
  runtime().close();
  EXPECT_THROW(runtime().compile(add_one(1), kDeadline), QueueClosed);
}

}  // namespace
}  // namespace gpuos
