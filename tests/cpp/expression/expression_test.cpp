#include "expression/expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/concat.h"
#include "errors.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

using Names = std::vector<std::string>;

Expression parse(std::string_view text, std::vector<Parameter> params = {}) {
  return parse_expression(text, params);
}

/// For arrays that all have one dtype and one dimension.
Program program(std::string_view text, DType dtype = DType::Float32,
                std::vector<Parameter> params = {}) {
  const Expression expression = parse(text, std::move(params));
  const std::vector<ProgramArgument> inputs(expression.inputs.size(),
                                            {dtype, 1});
  return program_of(expression, inputs, {dtype, 1});
}

std::string error_of(std::string_view text, DType dtype = DType::Float32,
                     std::vector<Parameter> params = {}) {
  return thrown_by<InvalidArgument>(
      [&] { program(text, dtype, std::move(params)); });
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void expect_same(std::string_view text, std::string_view said_otherwise) {
  EXPECT_EQ(program(text).hash(), program(said_otherwise).hash()) << text;
}
void expect_other(std::string_view text, std::string_view other) {
  EXPECT_NE(program(text).hash(), program(other).hash()) << text;
}

TEST(Expression, SymbolsBindAsPythons) {
  expect_same("o = a + b * c", "o = a + (b * c)");
  expect_other("o = a + b * c", "o = (a + b) * c");
  expect_same("o = a - b - c", "o = (a - b) - c");
  expect_other("o = a - b - c", "o = a - (b - c)");
  expect_same("o = a / b % c", "o = (a / b) % c");
  expect_same("o = a ** b ** c", "o = a ** (b ** c)");
  expect_other("o = a ** b ** c", "o = (a ** b) ** c");
  expect_same("o = -a ** b", "o = -(a ** b)");
  expect_same("o = a ** -b", "o = a ** (-b)");
  expect_same("o = a + b <= c", "o = (a + b) <= c");
  const auto of_integers = [](std::string_view text) {
    return program(text, DType::Int32).hash();
  };
  EXPECT_EQ(of_integers("o = a | b ^ c & d << e + f"),
            of_integers("o = a | (b ^ (c & (d << (e + f))))"));
  EXPECT_EQ(of_integers("o = ~a & b"), of_integers("o = (~a) & b"));
  EXPECT_NE(of_integers("o = a & b | c"), of_integers("o = a & (b | c)"));
}

TEST(Expression, SymbolsAreFunctions) {
  expect_same("o = a + b", "o = add(a, b)");
  expect_same("o = a // b", "o = floor_divide(a, b)");
  expect_same("o = a % b", "o = remainder(a, b)");
  expect_same("o = a > b", "o = greater(a, b)");
  expect_same("o = -a", "o = negative(a)");
  expect_same("o = min(a, max(b, c))", "o = minimum(a, maximum(b, c))");
  expect_same("o = pow(a, b)", "o = a ** b");
  expect_same("o = abs(a)", "o = absolute(a)");
}

TEST(Expression, EqualPartsAreComputedOnce) {
  EXPECT_EQ(program("o = exp(a * b) + exp(a * b)").operations(), 3u);
}

TEST(Expression, PowersOfNumbersAreWhatNumPyMakesOfThem) {
  expect_same("o = a ** 0.5", "o = sqrt(a)");
  expect_same("o = a ** 2", "o = square(a)");
  expect_same("o = pow(a, 2.0)", "o = square(a)");
  expect_same("o = a ** -1", "o = reciprocal(a)");
  expect_other("o = a ** -0.5", "o = rsqrt(a)");
}

TEST(Expression, ReductionsTakeAxes) {
  const Expression expression = parse("o = sum(a * b, axis=-1, keepdims=True)");
  const std::vector<ProgramArgument> inputs(2, {DType::Float32, 2});
  const Program made = program_of(expression, inputs, {DType::Float32, 2});
  EXPECT_EQ(made.output_shapes(std::vector<Shape>{{3, 4}, {3, 4}}),
            (std::vector<Shape>{{3, 1}}));
  const Program both = program_of(parse("o = max(a, axis=(0, 1))"),
                                  {inputs.data(), 1}, {DType::Float32, 0});
  EXPECT_EQ(both.output_shapes(std::vector<Shape>{{3, 4}}),
            (std::vector<Shape>{{}}));
}

TEST(Expression, NumbersAloneHaveTheShapeOfTheOutput) {
  const Program made = program_of(parse("o = 2 * 3"), {}, {DType::UInt8, 2});
  EXPECT_EQ(made.output_shapes(std::vector<Shape>{{3, 4}}),
            (std::vector<Shape>{{3, 4}}));
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

TEST(Expression, ItsNamesDoNotMatter) {
  EXPECT_EQ(
      program("o = k * x", DType::Float32, {{"k", DType::Float32}}).hash(),
      program("r = int_ * return_", DType::Float32, {{"int_", DType::Float32}})
          .hash());
}

TEST(Expression, AParameterTakesTheDtypeOfWhatItMeets) {
  const auto hash = [](DType param, DType array) {
    return program("o = k * x", array, {{"k", param}}).hash();
  };
  EXPECT_EQ(hash(DType::Float32, DType::Float64),
            hash(DType::Float64, DType::Float64));
  EXPECT_EQ(hash(DType::Int64, DType::Int8), hash(DType::UInt8, DType::Int8));
  EXPECT_TRUE(says(error_of("o = k * x", DType::Int32, {{"k", DType::Float32}}),
                   "expected an output that holds float64"));
}

TEST(Expression, AnOutputMayBeOfAnotherDtypeOfItsKindOrALaterOne) {
  const std::vector<ProgramArgument> input{{DType::Int32, 1}};
  const Expression half = parse("o = x / 2");
  for (const DType out : {DType::Float16, DType::Float64, DType::Complex64})
    EXPECT_NO_THROW(program_of(half, input, {out, 1}));
  for (const DType out : {DType::Bool, DType::UInt8, DType::Int64})
    EXPECT_THROW(program_of(half, input, {out, 1}), InvalidArgument);
  EXPECT_THROW(program_of(parse("o = -x"), input, {DType::UInt64, 1}),
               InvalidArgument);
  EXPECT_NO_THROW(program_of(parse("o = x > 2"), input, {DType::Bool, 1}));
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
      {"o = where()", "column 5: where takes 3 arguments, got 0"},
      {"o = elu(a, b, c)", "column 5: elu takes 1 to 2 arguments, got 3"},
      {"o = sum(a, b)", "column 5: sum takes 1 argument, got 2"},
      {"o = sum(a, axis=b)",
       "column 17: expected the number of an axis, got 'b'"},
      {"o = sum(a, axis=9)",
       "column 17: expected an axis of at most 8, got '9'"},
      {"o = sum(a, keepdims=1)", "column 21: expected True or False, got '1'"},
      {"o = sum(a, axis=0, a)",
       "column 20: expected ')', operands come before axis and keepdims, got "
       "'a'"},
      {"o = sin(a, axis=0)",
       "column 12: expected an operand, no keyword of reductions, got 'axis'"},
      {"o = sum(a, axis=1)", "column 5: sum: expected axes of -1 to 0, got 1"},
      {"o = a & b", "column 7: bitwise_and: expected integers, got float32"},
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
  EXPECT_TRUE(says(error, "column 5: expected one of negative, square"));
  EXPECT_TRUE(says(error, "got 'sine'"));
}

TEST(Expression, BadParamsAreErrors) {
  EXPECT_TRUE(says(error_of("o = a", DType::Float32, {{"1a", DType::Float32}}),
                   "expected a name for a parameter, got '1a'"));
  EXPECT_TRUE(says(error_of("o = a", DType::Float32, {{"exp", DType::Float32}}),
                   "'exp' has the name of a function"));
  EXPECT_TRUE(says(error_of("o = a", DType::Float32,
                            {{"k", DType::Float32}, {"k", DType::Int32}}),
                   "'k' is declared twice"));
  EXPECT_TRUE(says(error_of("k = a", DType::Float32, {{"k", DType::Float32}}),
                   "not a parameter's, got 'k'"));
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

TEST(Expression, MayHaveManyNumbers) {
  std::string text = "o = x";
  for (int i = 0; i < 500; ++i) text += " + " + std::to_string(i) + ".5 * x";
  EXPECT_EQ(error_of(text), "");
}

TEST(Expression, DeepNestingIsAnErrorAndLongChainsAreNot) {
  const std::string deep(5000, '(');
  EXPECT_TRUE(says(error_of("o = " + deep), "at most 200 levels of nesting"));
  std::string minus = "o = " + std::string(5000, '-') + "a";
  EXPECT_TRUE(says(error_of(minus), "at most 200 levels"));
  std::string chain = "o = a";
  for (int i = 0; i < 1000; ++i) chain += " + a";
  EXPECT_EQ(error_of(chain), "");
  for (int i = 0; i < 1000; ++i) chain += " + a";
  EXPECT_TRUE(says(error_of(chain), "at most 2048 operations"));
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
