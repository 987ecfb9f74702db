// Tests of expression operators on each backend: their arguments, and their
// replacement while tasks run.
#include <numeric>

#include "contract.h"

namespace gpuos {
namespace {

class ExpressionPrograms : public Contract {
 protected:
  static std::vector<float> ramp(std::size_t count, float from = 0) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), from);
    return values;
  }
};

TEST_P(ExpressionPrograms, CastTheirResultToTheOutput) {
  const Operator op =
      runtime().define({.name = "f", .expression = "o = x + y"});
  const DeviceArray<std::int32_t> x(runtime(), {1, 2, 3});
  const DeviceArray<float> y(runtime(), {0.5f, 0.25f, 0.125f});
  const DeviceArray<double> out(runtime(), 3);
  runtime().submit(op, {x.view(), y.view()}, out.view());
  EXPECT_EQ(out.read(), (std::vector<double>{1.5, 2.25, 3.125}));
  const DeviceArray<std::int32_t> whole(runtime(), 3);
  EXPECT_THROW(runtime().submit(op, {x.view(), y.view()}, whole.view()),
               InvalidArgument);
  runtime().submit(op, {x.view(), x.view()}, whole.view());
  EXPECT_EQ(whole.read(), (std::vector<std::int32_t>{2, 4, 6}));
}

TEST_P(ExpressionPrograms, TakeStridesAndBroadcast) {
  const Operator op =
      runtime().define({.name = "f", .expression = "o = x - y"});
  const DeviceArray<float> x(runtime(), ramp(12)), y(runtime(), ramp(3));
  const DeviceArray<float> out(runtime(), 12);
  const TensorView columns = shaped(x.view(), {4, 3}, {1, 4});
  runtime().submit(op, {columns, y.view()}, shaped(out.view(), {4, 3}));
  const std::vector<float> got = out.read();
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 3; ++k)
      EXPECT_EQ(got[3 * i + k], static_cast<float>(i + 4 * k - k));
}

TEST_P(ExpressionPrograms, SayWhetherTheyReduce) {
  const std::pair<const char*, bool> texts[] = {
      {"o = x + y", false},          {"o = max(x, y)", false},
      {"o = max(x) - y", true},      {"o = x / sum(x)", true},
      {"o = where(x, y, 1)", false}, {"o = y + any(x, axis=0)", true}};
  for (const auto& [text, reduces] : texts) {
    const Operator op = runtime().define({.name = "f", .expression = text});
    EXPECT_EQ(op.reduces(), reduces) << text;
    runtime().undefine(op);
  }
  EXPECT_FALSE(runtime().find("add").reduces());
}

TEST_P(ExpressionPrograms, Reduce) {
  const Operator op =
      runtime().define({.name = "f", .expression = "o = sum(x * y)"});
  const DeviceArray<float> x(runtime(), ramp(1000)),
      ones(runtime(), 1000, 1.0f);
  const DeviceArray<float> out(runtime(), 1);
  const TensorView number = shaped(out.view(), {});
  runtime().submit(op, {x.view(), ones.view()}, number);
  EXPECT_EQ(out.read()[0], 499500.0f);
  EXPECT_THROW(runtime().submit(op, {x.view(), ones.view()}, out.view()),
               InvalidArgument);
}

TEST_P(ExpressionPrograms, OfNumbersFillTheOutput) {
  const Operator op = runtime().define({.name = "f",
                                        .expression = "o = 2 * k",
                                        .params = {{"k", DType::Int64}}});
  const DeviceArray<float> out(runtime(), 70001);
  runtime().submit(op, {}, out.view(), {21});
  EXPECT_EQ(out.read(), std::vector<float>(70001, 42.0f));
  EXPECT_THROW(runtime().submit(op, {}, out.view(), {2.5}), InvalidArgument);
}

TEST_P(ExpressionPrograms, RunAsManyTasks) {
  const Operator op = runtime().define({.name = "f",
                                        .expression = "o = y - k * x",
                                        .params = {{"k", DType::Float32}}});
  constexpr std::size_t kTasks = 700, kSize = 33;
  const DeviceArray<float> x(runtime(), ramp(kTasks * kSize));
  const DeviceArray<float> y(runtime(), ramp(kTasks * kSize, 1));
  const DeviceArray<float> out(runtime(), kTasks * kSize);
  std::vector<std::int64_t> sizes(kTasks);
  for (std::size_t i = 0; i < kTasks; ++i)
    sizes[i] = static_cast<std::int64_t>(i % (kSize + 1));
  ManyTasks many{.tasks = kTasks,
                 .out = out.column(kSize),
                 .inputs = {y.column(kSize), x.column(kSize)},
                 .params = {2},
                 .sizes = sizes.data()};
  runtime().submit_many(op, many);
  const std::vector<float> got = out.read();
  for (std::size_t i = 0; i < kTasks; ++i)
    for (std::size_t k = 0; k < kSize; ++k) {
      const auto at = static_cast<float>(i * kSize + k);
      ASSERT_EQ(got[i * kSize + k],
                k < i % (kSize + 1) ? at + 1 - 2 * at : 0.0f)
          << i << ", " << k;
    }
}

TEST_P(ExpressionPrograms, ManyTasksOfAReductionAreRefused) {
  const Operator op =
      runtime().define({.name = "f", .expression = "o = x - max(x)"});
  const DeviceArray<float> x(runtime(), ramp(8)), out(runtime(), 8);
  ManyTasks many = many_of(2, 4, DType::Float32);
  many.out = out.column(4);
  many.inputs = {x.column(4)};
  EXPECT_THROW(runtime().submit_many(op, many), InvalidArgument);
}

TEST_P(ExpressionPrograms, TakeOnlyTheDtypesThatAreSaid) {
  const Operator op =
      runtime().define({.name = "f",
                        .expression = "o = -x",
                        .dtypes = {DType::Int32, DType::Float32}});
  const DeviceArray<float> x(runtime(), ramp(3)), out(runtime(), 3);
  EXPECT_NO_THROW(runtime().submit(op, {x.view()}, out.view()));
  const DeviceArray<double> other(runtime(), 3);
  EXPECT_THROW(runtime().submit(op, {other.view()}, other.view()),
               InvalidArgument);
  EXPECT_THROW(
      runtime().define(
          {.name = "g", .expression = "o = x / 2", .dtypes = {DType::Int32}}),
      InvalidArgument);
}

TEST_P(ExpressionPrograms, TenThousandComeAndGoUnderLoad) {
  const DeviceArray<float> x(runtime(), 16, 1.0f), load(runtime(), 16, 0.0f);
  const DeviceArray<float> out(runtime(), 16);
  const std::uint64_t injections = runtime().stats().injections;
  constexpr int kDefinitions = 10000;
  for (int i = 0; i < kDefinitions; ++i) {
    runtime().submit("add", {load.view(), x.view()}, load.view());
    const Operator op = runtime().define(
        {.name = "f", .expression = "o = x * " + std::to_string(i) + " + y"});
    runtime().submit(op, {x.view(), load.view()}, out.view());
    if (i % 100 == 0) {
      ASSERT_EQ(out.read()[0], static_cast<float>(2 * i + 1));
    }
    runtime().replace(op, {.expression = "o = y - x"});
    runtime().submit(op, {x.view(), load.view()}, out.view());
    if (i % 100 == 50) {
      ASSERT_EQ(out.read()[0], static_cast<float>(i));
    }
    runtime().undefine(op);
  }
  EXPECT_EQ(load.read()[0], static_cast<float>(kDefinitions));
  // Not one pause: the same two passes, which are compiled once at most.
  EXPECT_LE(runtime().stats().injections, injections + 2);
}

GPUOS_INSTANTIATE_CONTRACT(ExpressionPrograms);

}  // namespace
}  // namespace gpuos
