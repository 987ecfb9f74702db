#include <array>

#include "contract.h"
#include "errors.h"

namespace gpuos {
namespace {

class RuntimeDefineMany : public Contract {
 protected:
  static OperatorDefinition times(int factor) {
    return {.name = "times" + std::to_string(factor),
            .expression = "o = x * " + std::to_string(factor)};
  }
  // A source with a helper function of the same name each time.
  static OperatorDefinition plus(int value) {
    const std::string name = "plus" + std::to_string(value);
    return {.name = name,
            .source = "static __device__ float change(float x) { return x + " +
                      std::to_string(value) +
                      "; }\n"
                      "GPUOS_OPERATOR(" +
                      name +
                      ") {\n"
                      "  const float* x = task.pointer<const float>(1);\n"
                      "  float* o = task.pointer<float>(0);\n"
                      "  for (gpuos::u32 i = lane.index(); i < task.count; i "
                      "+= lane.count()) o[i] = change(x[i]);\n"
                      "}\n",
            .inputs = 1};
  }
  float result(const Operator& op, float x) {
    DeviceArray<float> in(runtime(), 3, x);
    DeviceArray<float> out(runtime(), 3);
    const TensorView input = in.view();
    runtime().wait(runtime().submit(op, {&input, 1}, out.view()), kDeadline);
    return out.read()[1];
  }
  bool is_known(const std::string& name) {
    try {
      runtime().find(name);
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }
};

TEST_P(RuntimeDefineMany, EachDoesItsOwn) {
  std::vector<OperatorDefinition> definitions;
  for (int i = 0; i < 64; ++i) definitions.push_back(times(i));
  const std::vector<Operator> operators = runtime().define_many(definitions);
  ASSERT_EQ(operators.size(), 64);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(operators[static_cast<std::size_t>(i)].name(),
              definitions[static_cast<std::size_t>(i)].name);
    EXPECT_EQ(result(operators[static_cast<std::size_t>(i)], 2),
              static_cast<float>(2 * i));
  }
  for (const Operator& op : operators) runtime().undefine(op);
  EXPECT_FALSE(is_known("times0"));
}

TEST_P(RuntimeDefineMany, ExpressionsAndSourcesGoTogether) {
  const std::array definitions{times(3), plus(4), plus(5)};
  std::vector<Operator> operators;
  try {
    operators = runtime().define_many(definitions);
  } catch (const BackendUnavailable& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(result(operators[0], 2), 6);
  EXPECT_EQ(result(operators[1], 2), 6);
  EXPECT_EQ(result(operators[2], 2), 7);
}

TEST_P(RuntimeDefineMany, OneFailureDefinesNone) {
  const std::array wrong{
      times(3), OperatorDefinition{.name = "bad", .expression = "o ="}};
  EXPECT_THROW(runtime().define_many(wrong), InvalidArgument);
  const std::array twice{times(3), times(3)};
  EXPECT_THROW(runtime().define_many(twice), InvalidArgument);
  EXPECT_FALSE(is_known("times3"));
  OperatorDefinition broken = plus(1);
  broken.source = "GPUOS_OPERATOR(plus1) { nonsense }";
  const std::array sources{times(3), plus(2), broken};
  try {
    runtime().define_many(sources);
    FAIL() << "no exception";
  } catch (const CompileError& error) {
    EXPECT_TRUE(says(error.what(), "plus1"));
  } catch (const BackendUnavailable& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_FALSE(is_known("times3"));
  EXPECT_FALSE(is_known("plus2"));
  EXPECT_EQ(result(runtime().define(times(3)), 2), 6);
}

TEST_P(RuntimeDefineMany, TieredCodeIsRightBeforeAndAfterItsUpgrade) {
  OperatorDefinition definition = plus(9);
  definition.tiered = true;
  Operator op;
  try {
    op = runtime().define(definition);
  } catch (const BackendUnavailable& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(result(op, 2), 11);
  const std::uint64_t wanted = is_host() ? 0 : 1;
  EXPECT_TRUE(
      becomes_true([&] { return runtime().stats().upgrades == wanted; }));
  EXPECT_EQ(result(op, 2), 11);
  definition = times(3);
  definition.tiered = true;
  EXPECT_THROW(runtime().define(definition), InvalidArgument);
}

TEST_P(RuntimeDefineMany, NoneIsNothing) {
  EXPECT_TRUE(runtime().define_many({}).empty());
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeDefineMany);

}  // namespace
}  // namespace gpuos
