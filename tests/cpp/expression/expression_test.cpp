#include "expression/expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

using Names = std::vector<std::string>;

Expression parse(std::string_view text, std::vector<Parameter> params = {}) {
  return parse_expression(text, params);
}

// The result as it is spelled in the generated source.
std::string body(std::string_view text, DType dtype = DType::Float32,
                 std::vector<Parameter> params = {}) {
  const std::string source =
      expression_source(parse(text, std::move(params)), dtype, "e");
  const std::size_t begin = source.find("-> T {\n") + 7;
  std::string lines;
  for (const char c : source.substr(begin, source.find("\n      }") - begin)) {
    if (c != '\n' || lines.back() != '\n') lines += c;
  }
  std::string squeezed;
  for (const char c : lines) {
    if (c == '\n') continue;
    if (c == ' ' && (squeezed.empty() || squeezed.back() == ' ')) continue;
    squeezed += c;
  }
  return squeezed;
}

std::string error_of(std::string_view text, DType dtype = DType::Float32,
                     std::vector<Parameter> params = {}) {
  try {
    expression_source(parse(text, std::move(params)), dtype, "e");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

TEST(Expression, ProductsBindTighterThanSums) {
  EXPECT_EQ(body("o = a + b * c"),
            "const T v3 = gpuos::mul(x[1], x[2]); "
            "return gpuos::add(x[0], v3);");
}

TEST(Expression, EqualLevelsGroupFromTheLeft) {
  EXPECT_EQ(body("o = a - b - c"),
            "const T v2 = gpuos::sub(x[0], x[1]); "
            "return gpuos::sub(v2, x[2]);");
  EXPECT_EQ(body("o = a / b % c"),
            "const T v2 = gpuos::div(x[0], x[1]); "
            "return gpuos::floor_mod(v2, x[2]);");
}

TEST(Expression, PowersGroupFromTheRightAndBindTighterThanMinus) {
  EXPECT_EQ(body("o = a ** b ** c"),
            "const T v3 = gpuos::pow(x[1], x[2]); "
            "return gpuos::pow(x[0], v3);");
  EXPECT_EQ(body("o = -a ** b"),
            "const T v2 = gpuos::pow(x[0], x[1]); return gpuos::neg(v2);");
  EXPECT_EQ(body("o = a ** -b"),
            "const T v2 = gpuos::neg(x[1]); return gpuos::pow(x[0], v2);");
}

TEST(Expression, ComparisonsBindLeast) {
  EXPECT_EQ(body("o = a + b <= c"),
            "const T v2 = gpuos::add(x[0], x[1]); "
            "return gpuos::less_equal(v2, x[2]);");
}

TEST(Expression, ParenthesesChangeTheOrder) {
  EXPECT_EQ(body("o=(a+b)*c"),
            "const T v2 = gpuos::add(x[0], x[1]); "
            "return gpuos::mul(v2, x[2]);");
}

TEST(Expression, EqualPartsAreComputedOnce) {
  EXPECT_EQ(body("o = exp(a * b) + exp(a * b)"),
            "const T v2 = gpuos::mul(x[0], x[1]); "
            "const T v3 = gpuos::exp(v2); return gpuos::add(v3, v3);");
}

TEST(Expression, SecondPowerIsASquareAndHalfAPowerIsARoot) {
  EXPECT_EQ(body("o = a ** 0.5"), "return gpuos::sqrt(x[0]);");
  EXPECT_EQ(body("o = a ** -0.5"), "return gpuos::pow(x[0], T(-0.5f));");
  EXPECT_EQ(body("o = a ** 2"), "return gpuos::square(x[0]);");
  EXPECT_EQ(body("o = pow(a, 2.0)"), "return gpuos::square(x[0]);");
  EXPECT_EQ(body("o = a ** -2"), "return gpuos::pow(x[0], T(-2.0f));");
}

TEST(Expression, MinAndMinimumAreTheSame) {
  EXPECT_EQ(body("o = min(a, max(b, c))"),
            body("o = minimum(a, maximum(b, c))"));
}

TEST(Expression, InputsAreInOrderOfFirstUse) {
  const Expression e = parse("out_1 = y * alpha + x * y - where(_m, x, 1)",
                             {{"alpha", DType::Float32}});
  EXPECT_EQ(e.output, "out_1");
  EXPECT_EQ(e.inputs, (Names{"y", "x", "_m"}));
  ASSERT_EQ(e.params.size(), 1u);
  EXPECT_EQ(e.params[0].name, "alpha");
}

TEST(Expression, GivenInputsKeepTheirPlaces) {
  const Names given{"x", "y", "z"};
  const Expression e = parse_expression("o = w * z + x", {}, given);
  EXPECT_EQ(e.inputs, (Names{"x", "y", "z", "w"}));
}

TEST(Expression, ParamsFollowTheInputsInOrderOfDeclaration) {
  const std::vector<Parameter> params{{"beta", DType::Int64},
                                      {"unused", DType::Float32},
                                      {"alpha", DType::Float64}};
  const std::string source = expression_source(
      parse("o = alpha * x + beta", params), DType::Float32, "axpb");
  EXPECT_NE(source.find("GPUOS_OPERATOR(axpb)"), std::string::npos);
  EXPECT_NE(source.find("p0 = gpuos::convert<T>(task.scalar<long long>(2))"),
            std::string::npos);
  EXPECT_NE(source.find("p2 = gpuos::convert<T>(task.scalar<double>(4))"),
            std::string::npos);
  EXPECT_EQ(source.find("p1"), std::string::npos);
}

TEST(Expression, SourceHasNoNamesOfTheExpression) {
  const Expression one = parse("o = k * x", {{"k", DType::Float32}});
  const Expression two =
      parse("r = int_ * return_", {{"int_", DType::Float32}});
  EXPECT_EQ(expression_source(one, DType::Float32, "e"),
            expression_source(two, DType::Float32, "e"));
}

TEST(Expression, NumbersKeepTheirValue) {
  EXPECT_EQ(body("o = 0.1"), "return T(0.1f);");
  EXPECT_EQ(body("o = 1e-3"), "return T(0.001f);");
  EXPECT_EQ(body("o = -2", DType::Float64), "return T(-2.0);");
  EXPECT_EQ(body("o = -0"), "return T(-0.0f);");
  EXPECT_EQ(body("o = 3", DType::Int32), "return T(3);");
  EXPECT_EQ(body("o = 1e3", DType::Int32), "return T(1000);");
  EXPECT_EQ(body("o = -2147483648", DType::Int32),
            "return T(-2147483647 - 1);");
  EXPECT_EQ(body("o = -9223372036854775808", DType::Int64),
            "return T(-9223372036854775807LL - 1);");
  EXPECT_EQ(body("o = 9007199254740993", DType::Int64),
            "return T(9007199254740993LL);");
}

TEST(Expression, ErrorsCarryTheColumnAndACaret) {
  EXPECT_EQ(error_of("o = (a +)"),
            "expression: column 9: expected an operand, got ')'\n"
            "  o = (a +)\n"
            "          ^");
}

TEST(Expression, SyntaxErrorsSayWhatWasExpected) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"",
       "column 1: expected the name of the output, as in 'o = a + b', "
       "got the end"},
      {"a + b", "column 3: expected '=', got '+'"},
      {"o == a", "column 3: expected '=', got '=='"},
      {"o =", "column 4: expected an operand, got the end"},
      {"o = a b", "column 7: expected an operator or the end, got 'b'"},
      {"o = 2x", "column 6: expected an operator or the end, got 'x'"},
      {"o = a, b", "column 6: expected an operator or the end, got ','"},
      {"o = (a", "column 7: expected ')', got the end"},
      {"o = a $ b",
       "column 7: expected a name, a number or an operator, "
       "got '$'"},
      {"o = \xC3\xA9",
       "column 5: expected a name, a number or an operator, "
       "got byte 0xC3"},
      {"o = 1e", "column 7: expected the digits of an exponent"},
      {"o = 1e999", "column 5: expected a number within float64, got 1e999"},
      {"o = a < b < c",
       "column 11: expected parentheses, because comparisons "
       "do not chain, got '<'"},
      {"o = sin + 1", "column 9: expected '(' after function sin, got '+'"},
      {"o = sin(a, b)", "column 5: sin takes 1 argument, got 2"},
      {"o = clip(a)", "column 5: clip takes 3 arguments, got 1"},
      {"o = fma()", "column 5: fma takes 3 arguments, got 0"},
      {"o = sin(a b)", "column 11: expected ',' or ')', got 'b'"},
      {"o = min(a,)", "column 11: expected an operand, got ')'"},
      {"sin = a",
       "column 1: expected the name of the output, which is not a "
       "function's, got 'sin'"},
      {"o = a + o",
       "column 9: expected an input, got the output 'o'; give it "
       "another name and pass the same buffer"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(first_line(error_of(text)), concat("expression: ", message))
        << text;
  }
}

TEST(Expression, UnknownFunctionIsAnErrorThatNamesAll) {
  const std::string error = error_of("o = sine(a)");
  EXPECT_NE(error.find("column 5: expected one of abs, ceil, clip"),
            std::string::npos);
  EXPECT_NE(error.find("got 'sine'"), std::string::npos);
}

TEST(Expression, BadParamsAreErrors) {
  EXPECT_NE(error_of("o = a", DType::Float32, {{"1a", DType::Float32}})
                .find("expected a name for a parameter, got '1a'"),
            std::string::npos);
  EXPECT_NE(error_of("o = a", DType::Float32, {{"exp", DType::Float32}})
                .find("'exp' has the name of a function"),
            std::string::npos);
  EXPECT_NE(error_of("o = a", DType::Float32,
                     {{"k", DType::Float32}, {"k", DType::Int32}})
                .find("'k' is declared twice"),
            std::string::npos);
  EXPECT_NE(error_of("k = a", DType::Float32, {{"k", DType::Float32}})
                .find("not a parameter's, got 'k'"),
            std::string::npos);
}

TEST(Expression, MoreThanThirtyTwoArgumentsAreAnErrorWithBothNumbers) {
  std::string text = "o = x0";
  for (int i = 1; i < 30; ++i) text += " + x" + std::to_string(i);
  EXPECT_EQ(parse(text, {{"k", DType::Float32}}).inputs.size(), 30u);
  EXPECT_EQ(error_of(text, DType::Float32,
                     {{"k", DType::Float32}, {"l", DType::Float32}}),
            "expression: expected at most 32 arguments, got 1 output + 30 "
            "inputs + 2 parameters = 33");
}

TEST(Expression, LiteralsThatDoNotFitAreErrors) {
  EXPECT_EQ(first_line(error_of("o = a + 2.5", DType::Int32)),
            "expression: column 9: expected a number that fits int32, "
            "got 2.5");
  EXPECT_EQ(first_line(error_of("o = 2147483648", DType::Int32)),
            "expression: column 5: expected a number that fits int32, "
            "got 2147483648");
  EXPECT_EQ(first_line(error_of("o = -2147483649", DType::Int32)),
            "expression: column 6: expected a number that fits int32, "
            "got -2147483649");
  EXPECT_EQ(first_line(error_of("o = 9223372036854775808", DType::Int64)),
            "expression: column 5: expected a number that fits int64, "
            "got 9223372036854775808");
  EXPECT_EQ(first_line(error_of("o = 1e39", DType::Float32)),
            "expression: column 5: expected a number that fits float32, "
            "got 1e+39");
  EXPECT_EQ(error_of("o = 1e39", DType::Float64), "no error");
}

TEST(Expression, FloatingFunctionsOfIntegersAreErrors) {
  for (const char* name : {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin",
                           "cos", "tan", "tanh", "sigmoid"}) {
    EXPECT_EQ(
        first_line(error_of(concat("o = 1 + ", name, "(a)"), DType::Int64)),
        concat("expression: column 9: expected floating buffers for ", name,
               ", got int64"));
  }
  EXPECT_EQ(error_of("o = clip(round(abs(-a)), 0, 9)", DType::Int32),
            "no error");
}

TEST(Expression, DeepNestingIsAnErrorAndLongChainsAreNot) {
  const std::string deep(5000, '(');
  EXPECT_NE(error_of("o = " + deep).find("at most 200 levels of nesting"),
            std::string::npos);
  std::string minus = "o = " + std::string(5000, '-') + "a";
  EXPECT_NE(error_of(minus).find("at most 200 levels"), std::string::npos);
  std::string chain = "o = a";
  for (int i = 0; i < 1000; ++i) chain += " + a";
  EXPECT_EQ(error_of(chain), "no error");
  for (int i = 0; i < 1000; ++i) chain += " + a";
  EXPECT_NE(error_of(chain).find("at most 2048 operations"), std::string::npos);
}

TEST(Expression, LongTextsShowThePlaceOfTheError) {
  std::string text = "o = a";
  for (int i = 0; i < 100; ++i) text += " + a";
  text += " + ) + a";
  const std::string error = error_of(text);
  const std::size_t second = error.find('\n') + 1;
  const std::size_t third = error.find('\n', second) + 1;
  const std::size_t caret = error.find('^') - third;
  EXPECT_EQ(error[second + caret], ')');
  EXPECT_LT(error.size(), 250u);
}

}  // namespace
}  // namespace gpuos
