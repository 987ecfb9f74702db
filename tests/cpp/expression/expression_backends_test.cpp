// Random expressions: the interpreter against the compiled source.
#include <gtest/gtest.h>

#include <random>

#include "base/concat.h"
#include "expression_support.h"
#include "host/host_compiler.h"

namespace gpuos {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed, bool is_floating)
      : random_(seed), is_floating_(is_floating) {}

  std::string operand(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    switch (pick(12)) {
      case 0:
        return concat("where(", operand(depth - 1), ", ", operand(depth - 1),
                      ", ", operand(depth - 1), ")");
      case 1:
        return concat("(-", operand(depth - 1), ")");
      case 2: {
        static constexpr const char* kNames[] = {"min", "max"};
        return concat(kNames[pick(2)], "(", operand(depth - 1), ", ",
                      operand(depth - 1), ")");
      }
      case 3: {
        static constexpr const char* kNames[] = {
            "abs", "sign", "relu", "square", "floor", "ceil", "round"};
        return concat(kNames[pick(7)], "(", operand(depth - 1), ")");
      }
      default: {
        static constexpr const char* kSymbols[] = {
            "+", "-", "*", "/", "+", "*", "//", "%", "<", "<=", ">", "!="};
        return concat("(", operand(depth - 1), " ", kSymbols[pick(12)], " ",
                      operand(depth - 1), ")");
      }
    }
  }

  unsigned pick(unsigned count) {
    return std::uniform_int_distribution<unsigned>(0, count - 1)(random_);
  }

 private:
  std::string leaf() {
    switch (pick(5)) {
      case 0:
        return is_floating_ && pick(2) == 0 ? concat(pick(99), ".", pick(99))
                                            : concat(pick(9));
      case 1:
        return concat("p", pick(2));
      default:
        return concat("abc"[pick(3)]);
    }
  }

  std::mt19937 random_;
  bool is_floating_;
};

template <typename T>
std::vector<T> random_values(unsigned seed, std::size_t n) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      static constexpr T kSpecial[] = {T(0),
                                       T(-0.0),
                                       std::numeric_limits<T>::infinity(),
                                       -std::numeric_limits<T>::infinity(),
                                       std::numeric_limits<T>::quiet_NaN(),
                                       std::numeric_limits<T>::denorm_min(),
                                       T(1),
                                       T(-2)};
      values[i] = i % 7 == 0 ? kSpecial[random() % 8]
                             : std::normal_distribution<T>(0, 20)(random);
    } else {
      values[i] = i % 2 == 0 ? static_cast<T>(random())
                             : static_cast<T>(random() % 21) - 10;
    }
  }
  return values;
}

template <typename T>
class ExpressionBackends : public testing::Test {};
using Types = testing::Types<float, double, int, long long>;
TYPED_TEST_SUITE(ExpressionBackends, Types);

TYPED_TEST(ExpressionBackends, InterpreterAndCompilerAgreeBitForBit) {
  using T = TypeParam;
  constexpr unsigned kCount = 60;
  constexpr std::size_t kElements = 2100;
  const std::vector<BoundParam> bound{BoundParam::make("p0", 1.75),
                                      BoundParam::make("p1", -3)};
  const std::vector<Parameter> params{bound[0].param, bound[1].param};
  const std::vector<std::string> names{"a", "b", "c"};
  const std::vector<std::vector<T>> inputs{random_values<T>(1, kElements),
                                           random_values<T>(2, kElements),
                                           random_values<T>(3, kElements)};
  Generator generator(7, std::is_floating_point_v<T>);
  std::vector<Expression> expressions;
  std::vector<std::string> texts;
  std::string source;
  for (unsigned k = 0; k < kCount; ++k) {
    texts.push_back("o = " + generator.operand(5));
    expressions.push_back(parse_expression(texts.back(), params, names));
    source +=
        expression_source(expressions.back(), kDTypeOf<T>, concat("e", k));
  }
  for (unsigned k = 0; k < kCount; ++k) {
    const host::HostModule module =
        host::compile_host_operator({source, concat("e", k)});
    const auto program = make_interpreter_program(expressions[k], kDTypeOf<T>);
    const auto compiled =
        call<T>(module.entry, nullptr, inputs, kElements, bound);
    const auto interpreted =
        call<T>(interpret, program.get(), inputs, kElements, bound);
    for (std::size_t i = 0; i < kElements; ++i) {
      ASSERT_TRUE(is_same(compiled[i], interpreted[i]))
          << texts[k] << " with a = " << inputs[0][i]
          << ", b = " << inputs[1][i] << ", c = " << inputs[2][i]
          << ": compiled " << compiled[i] << ", interpreted " << interpreted[i];
    }
  }
}

template <typename T>
class FloatingBackends : public testing::Test {};
using FloatingTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatingBackends, FloatingTypes);

TYPED_TEST(FloatingBackends, FunctionsAgreeWithinTwoUnits) {
  using T = TypeParam;
  const std::vector<const char*> texts{
      "o = exp(a)",  "o = exp2(a)",   "o = log(a)",       "o = log2(a)",
      "o = sqrt(a)", "o = rsqrt(a)",  "o = sin(a)",       "o = cos(a)",
      "o = tan(a)",  "o = tanh(a)",   "o = sigmoid(a)",   "o = a ** b",
      "o = a ** -2", "o = pow(2, a)", "o = fma(a, b, a)", "o = 0.1 ** a",
      "o = a ** 0.5"};
  std::string source;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    source += expression_source(parse_expression(texts[k], {}), kDTypeOf<T>,
                                concat("e", k));
  }
  const std::vector<std::vector<T>> inputs{random_values<T>(1, 1000),
                                           random_values<T>(2, 1000)};
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const host::HostModule module =
        host::compile_host_operator({source, concat("e", k)});
    const auto compiled = call<T>(module.entry, nullptr, inputs, 1000);
    const auto interpreted = interpret_text<T>(texts[k], inputs, 1000);
    for (std::size_t i = 0; i < 1000; ++i) {
      EXPECT_LE(ulps_between(compiled[i], interpreted[i]), 2)
          << texts[k] << ", a = " << inputs[0][i];
    }
  }
}

}  // namespace
}  // namespace gpuos
