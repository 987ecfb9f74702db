#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "contract.h"
#include "operator_support.h"

namespace gpuos {
namespace {

using Floats = std::vector<float>;

class RuntimeOperators : public Contract {
 protected:
  Operator define(const std::string& name, const std::string& expression) {
    return runtime().define({.name = name, .expression = expression});
  }
  static OperatorDefinition body(const std::string& expression) {
    return {.expression = expression};
  }
};

TEST_P(RuntimeOperators, AnExpressionTakesItsScalarsByValue) {
  const Operator axpy =
      runtime().define({.name = "axpy",
                        .expression = "o = alpha * x + y",
                        .params = {{"alpha", DType::Float32}}});
  DeviceArray<float> x(runtime(), 1000, 3), y(runtime(), 1000, 1);
  DeviceArray<float> out(runtime(), 1000 * 20);
  for (int i = 0; i < 20; ++i)
    runtime().submit(axpy, {x.view(), y.view()}, out.view(i * 1000, 1000), {i});
  const Floats result = out.read();
  for (int i = 0; i < 20000; ++i)
    ASSERT_EQ(result[i], static_cast<float>(i / 1000 * 3 + 1));
}

TEST_P(RuntimeOperators, InputsHaveNames) {
  using Names = std::vector<std::string>;
  const Operator difference = define("difference", "o = y - x");
  EXPECT_EQ(difference.input_names(), (Names{"y", "x"}));
  EXPECT_EQ(difference.expression(), "o = y - x");
  const Operator named = runtime().define(
      {.name = "named", .expression = "o = y - x", .input_names = {"x", "y"}});
  EXPECT_EQ(named.input_names(), (Names{"x", "y"}));
  EXPECT_EQ(named.inputs(), 2);
  DeviceArray<float> x(runtime(), 8, 3), y(runtime(), 8, 5), out(runtime(), 8);
  runtime().submit(named, {x.view(), y.view()}, out.view());
  EXPECT_EQ(out.read(), Floats(8, 2));

  OperatorDefinition whole = whole_operator("twice", "2 * x[0]", 1);
  whole.input_names = {"x"};
  whole.inputs = -1;
  const Operator twice = runtime().define(whole);
  EXPECT_EQ(twice.inputs(), 1);
  EXPECT_EQ(twice.input_names(), Names{"x"});
  EXPECT_EQ(twice.expression(), "");
  runtime().replace(twice, body("o = x * 3"));
  EXPECT_EQ(twice.expression(), "o = x * 3");
  EXPECT_THROW(Operator().input_names(), InvalidArgument);
}

TEST_P(RuntimeOperators, AnExpressionOfEveryDtype) {
  const Operator op = runtime().define(
      {.name = "poly",
       .expression = "o = x * x + y",
       .dtypes = {DType::Float32, DType::Float64, DType::Int32, DType::Int64}});
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    DeviceArray<T> x(runtime(), 101, T{7}), y(runtime(), 101, T{2});
    DeviceArray<T> out(runtime(), 101);
    runtime().submit(op, {x.view(), y.view()}, out.view());
    EXPECT_EQ(out.read(), std::vector<T>(101, T{51}));
  };
  check(0.0f);
  check(0.0);
  check(std::int32_t{0});
  check(std::int64_t{0});
}

TEST_P(RuntimeOperators, MoreArgumentsThanADescriptorHolds) {
  const Operator sum =
      runtime().define({.name = "sum8",
                        .expression = "o = a + b + c + d + e + f + g + s * h",
                        .params = {{"s", DType::Float32}}});
  DeviceArray<float> x(runtime(), {1, 2, 3, 4, 5, 6, 7, 8});
  DeviceArray<float> out(runtime(), 100'000), ones(runtime(), 100'000, 1);
  runtime().submit(sum,
                   {x.view(0, 1), x.view(1, 1), x.view(2, 1), x.view(3, 1),
                    x.view(4, 1), x.view(5, 1), x.view(6, 1), x.view(7, 1)},
                   out.view(0, 1), {10});
  EXPECT_EQ(out.read()[0], 108.0f);
  const TensorView one = ones.view();
  runtime().submit(sum, {one, one, one, one, one, one, one, one}, out.view(),
                   {2});
  EXPECT_EQ(out.read(), Floats(100'000, 9));
}

TEST_P(RuntimeOperators, AWholeOperatorOfAnyDtype) {
  const Operator op = runtime().define(
      {.name = "plus",
       .source = "#include \"gpuos/half.h\"\n"
                 "GPUOS_OPERATOR(plus) {\n"
                 "  unsigned char* out = task.pointer<unsigned char>(0);\n"
                 "  const unsigned char* x =\n"
                 "      task.pointer<const unsigned char>(1);\n"
                 "  const float k = task.scalar<gpuos::F16>(2);\n"
                 "  for (gpuos::u32 i = lane.index(); i < task.count;\n"
                 "       i += lane.count())\n"
                 "    out[i] = static_cast<unsigned char>(x[i] + k);\n"
                 "}",
       .params = {{"k", DType::Float16}},
       .dtypes = {DType::UInt8},
       .inputs = 1});
  using Bytes = std::vector<std::uint8_t>;
  DeviceArray<std::uint8_t> x(runtime(), 1000, 200), out(runtime(), 1000);
  const auto view = [](const DeviceArray<std::uint8_t>& array) {
    return TensorView(array.data(), 1000, DType::UInt8);
  };
  runtime().submit(op, {view(x)}, view(out), {50});
  EXPECT_EQ(out.read(), Bytes(1000, 250));
  TensorView floats = view(out);
  floats.dtype = DType::Int8;
  EXPECT_THROW(runtime().submit(op, {floats}, floats, {1}), InvalidArgument);
}

TEST_P(RuntimeOperators, AWholeOperatorOfAnyShape) {
  const Operator sum = runtime().define(
      {.name = "total",
       .source = "GPUOS_OPERATOR(total) {\n"
                 "  const float* x = task.pointer<const float>(1);\n"
                 "  const long long n = task.scalar<long long>(2);\n"
                 "  if (lane.index() != 0) return;\n"
                 "  float sum = 0;\n"
                 "  for (long long i = 0; i < n; ++i) sum += x[i];\n"
                 "  *task.pointer<float>(0) = sum;\n"
                 "}",
       .params = {{"n", DType::Int64}},
       .inputs = 1,
       .elementwise = false});
  DeviceArray<float> x(runtime(), 1000, 2), out(runtime(), 1);
  runtime().submit(sum, {x.view()}, out.view(), {1000});
  EXPECT_EQ(out.read(), Floats(1, 2000));
}

TEST_P(RuntimeOperators, ATaskRunsWhatItsOperatorWasWhenItWasSubmitted) {
  constexpr int kRounds = 60, kSize = 256;
  const Operator op = define("step", "o = x + 0");
  DeviceArray<float> x(runtime(), kSize, 1), out(runtime(), kRounds * kSize);
  for (int i = 0; i < kRounds; ++i) {
    runtime().replace(op, body("o = x + " + std::to_string(i)));
    runtime().submit(op, {x.view()}, out.view(i * kSize, kSize));
  }
  const Floats result = out.read();
  for (int i = 0; i < kRounds * kSize; ++i)
    ASSERT_EQ(result[i], static_cast<float>(1 + i / kSize));
}

TEST_P(RuntimeOperators, AnAliasSwitchesAndRollsBack) {
  const Operator plus = define("plus", "o = x + y");
  const Operator minus = define("minus", "o = x - y");
  Alias alias = runtime().alias("logical", plus);
  DeviceArray<float> x(runtime(), 64, 5), y(runtime(), 64, 3);
  DeviceArray<float> out(runtime(), 64 * 3000);
  for (int i = 0; i < 3000; ++i) {
    if (i % 3 == 1) alias.switch_to(minus);
    if (i % 3 == 2) alias.rollback();
    runtime().submit("logical", {x.view(), y.view()}, out.view(i * 64, 64));
  }
  EXPECT_EQ(alias.target().name(), "plus");
  const Floats result = out.read();
  for (int i = 0; i < 3000 * 64; ++i)
    ASSERT_EQ(result[i], i / 64 % 3 == 1 ? 2.0f : 8.0f);
}

TEST_P(RuntimeOperators, AnAliasMaySwitchWhileOthersSubmit) {
  constexpr std::size_t kTasks = 20'000, kSize = 16;
  Alias alias = runtime().alias("logical", define("plus", "o = x + 10"));
  const Operator op = alias.as_operator();
  DeviceArray<float> x(runtime(), kSize, 1);
  DeviceArray<float> out(runtime(), kTasks * kSize, -1);
  std::atomic<bool> is_running{true};
  std::jthread submitter([&] {
    for (std::size_t i = 0; i < kTasks; ++i)
      runtime().submit(op, {x.view()}, out.view(i * kSize, kSize));
    is_running = false;
  });
  while (is_running) {
    const Operator other = define("other", "o = x * 3 + 100");
    alias.switch_to(other);
    alias.rollback();
    runtime().undefine(other);
  }
  submitter.join();
  const Floats result = out.read();
  for (std::size_t i = 0; i < result.size(); ++i) {
    ASSERT_TRUE(result[i] == 11.0f || result[i] == 103.0f) << result[i];
    ASSERT_EQ(result[i], result[i / kSize * kSize]);
  }
}

TEST_P(RuntimeOperators, AnAliasTakesItsLast256SwitchesBack) {
  const Operator plus = define("plus", "o = x + 1");
  const Operator times = define("times", "o = x * 7");
  Alias alias = runtime().alias("logical", plus);
  for (int i = 0; i < 300; ++i) alias.switch_to(i % 2 == 0 ? times : plus);
  for (int i = 0; i < 256; ++i) alias.rollback();
  EXPECT_THROW(alias.rollback(), InvalidArgument);
  EXPECT_EQ(alias.target().name(), "plus");
}

TEST_P(RuntimeOperators, AnAliasTakesOnlyWhatFits) {
  const Operator plus = define("plus", "o = x + y");
  const Operator negate = define("negate", "o = 0 - x");
  Alias alias = runtime().alias("logical", plus);
  EXPECT_THROW(alias.switch_to(negate), InvalidArgument);
  EXPECT_THROW(alias.switch_to(Operator()), InvalidArgument);
  EXPECT_THROW(alias.switch_to(alias.as_operator()), InvalidArgument);
  EXPECT_THROW(alias.rollback(), InvalidArgument);
  EXPECT_THROW(runtime().alias("logical", plus), InvalidArgument);
  EXPECT_EQ(alias.target().name(), "plus");
}

TEST_P(RuntimeOperators, UndefineLetsPendingTasksRun) {
  DeviceArray<float> x(runtime(), 16, 1), out(runtime(), 16 * 2000);
  const Operator op = define("gone", "o = x + 6");
  for (int i = 0; i < 2000; ++i)
    runtime().submit(op, {x.view()}, out.view(i * 16, 16));
  runtime().undefine(op);
  EXPECT_FALSE(op.is_defined());
  EXPECT_THROW(runtime().submit(op, {x.view()}, out.view(0, 16)),
               InvalidArgument);
  EXPECT_THROW(runtime().find("gone"), InvalidArgument);
  EXPECT_THROW(runtime().undefine(op), InvalidArgument);
  EXPECT_EQ(out.read(), Floats(16 * 2000, 7));
  const Operator again = define("gone", "o = x + 8");
  runtime().submit(again, {x.view()}, out.view(0, 16));
  EXPECT_EQ(out.read()[0], 9.0f);
}

TEST_P(RuntimeOperators, UnusedCodeIsUnloaded) {
  // More than the table has slots. Loading on a device takes its time.
  const int count = is_host() ? 1200 : 100;
  DeviceArray<float> x(runtime(), 16, 1);
  for (int i = 0; i < count; ++i) {
    const Operator op =
        runtime().define(whole_operator("passes_by", "x[0] + 1", 1));
    runtime().submit(op, {x.view()}, x.view());
    runtime().undefine(op);
  }
  EXPECT_EQ(x.read(), Floats(16, static_cast<float>(1 + count)));
  synchronize();
  const auto loaded = static_cast<std::uint64_t>(count);
  EXPECT_EQ(runtime().stats().injections, loaded);
  // Another thread unloads.
  EXPECT_TRUE(
      becomes_true([&] { return runtime().stats().unloads == loaded; }));
}

TEST_P(RuntimeOperators, NamesAreListedAndTaken) {
  define("mine", "o = x + 1");
  const auto names = runtime().operator_names();
  for (const char* name : {"add", "sub", "mul", "div", "copy", "fill", "mine"})
    EXPECT_TRUE(std::count(names.begin(), names.end(), name)) << name;
  EXPECT_THROW(define("mine", "o = x + 2"), InvalidArgument);
  EXPECT_THROW(define("add", "o = x + 2"), InvalidArgument);
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeOperators);

}  // namespace
}  // namespace gpuos
