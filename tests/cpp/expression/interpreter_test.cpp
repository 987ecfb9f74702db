#include "expression/interpreter.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/concat.h"
#include "expression_support.h"

namespace gpuos {
namespace {

template <typename T>
class FloatingInterpreter : public testing::Test {};
using FloatingTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatingInterpreter, FloatingTypes);

template <typename T>
class IntegerInterpreter : public testing::Test {};
using IntegerTypes = testing::Types<int, long long>;
TYPED_TEST_SUITE(IntegerInterpreter, IntegerTypes);

template <typename T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  return {T(0),     T(-0.0),       T(1),           T(-1),
          T(0.5),   T(-0.5),       T(1.5),         T(2.5),
          T(-2.5),  T(3.25),       T(-7.75),       T(1e10),
          T(-1e10), L::infinity(), -L::infinity(), L::quiet_NaN(),
          L::max(), L::lowest(),   L::min(),       L::denorm_min(),
          T(1e-5),  T(88.5),       T(-103.9),      T(2147483648.0)};
}

template <typename T>
std::string describe(std::string_view text, T a, T b, T got, T expected) {
  return concat(text, " of ", a, ", ", b, ": ", got, ", expected ", expected);
}

template <typename T, typename F>
void expect_unary(std::string_view text, double ulps, F expected) {
  const std::vector<T> a = special_values<T>();
  const std::vector<T> got = interpret_text<T>(text, {a}, a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T wanted = expected(a[i]);
    const bool ok = ulps == 0 ? is_same(got[i], wanted)
                              : ulps_between(got[i], wanted) <= ulps;
    EXPECT_TRUE(ok) << describe(text, a[i], T(0), got[i], wanted);
  }
}

template <typename T, typename F>
void expect_binary(std::string_view text, const std::vector<T>& values,
                   F expected) {
  std::vector<T> a;
  std::vector<T> b;
  for (const T x : values) {
    for (const T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const std::vector<T> got = interpret_text<T>(text, {a, b}, a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T wanted = expected(a[i], b[i]);
    EXPECT_TRUE(is_same(got[i], wanted))
        << describe(text, a[i], b[i], got[i], wanted);
  }
}

TYPED_TEST(FloatingInterpreter, FunctionsOfOneNumberAreThoseOfTheLibrary) {
  using T = TypeParam;
  expect_unary<T>("o = exp(a)", 2, [](T x) { return std::exp(x); });
  expect_unary<T>("o = exp2(a)", 2, [](T x) { return std::exp2(x); });
  expect_unary<T>("o = log(a)", 2, [](T x) { return std::log(x); });
  expect_unary<T>("o = log2(a)", 2, [](T x) { return std::log2(x); });
  expect_unary<T>("o = sin(a)", 2, [](T x) { return std::sin(x); });
  expect_unary<T>("o = cos(a)", 2, [](T x) { return std::cos(x); });
  expect_unary<T>("o = tan(a)", 2, [](T x) { return std::tan(x); });
  expect_unary<T>("o = tanh(a)", 2, [](T x) { return std::tanh(x); });
  expect_unary<T>("o = sigmoid(a)", 2,
                  [](T x) { return 1 / (1 + std::exp(-x)); });
  expect_unary<T>("o = rsqrt(a)", 2, [](T x) { return 1 / std::sqrt(x); });
  expect_unary<T>("o = sqrt(a)", 0, [](T x) { return std::sqrt(x); });
  expect_unary<T>("o = floor(a)", 0, [](T x) { return std::floor(x); });
  expect_unary<T>("o = ceil(a)", 0, [](T x) { return std::ceil(x); });
  expect_unary<T>("o = round(a)", 0, [](T x) { return std::nearbyint(x); });
  expect_unary<T>("o = abs(a)", 0, [](T x) { return std::abs(x); });
  expect_unary<T>("o = -a", 0, [](T x) { return -x; });
  expect_unary<T>("o = square(a)", 0, [](T x) { return x * x; });
  expect_unary<T>("o = a ** 2", 0, [](T x) { return x * x; });
  expect_unary<T>("o = relu(a)", 0,
                  [](T x) { return std::isnan(x) ? x : std::max(T(0), x); });
  expect_unary<T>("o = sign(a)", 0,
                  [](T x) { return std::isnan(x) ? x : T((x > 0) - (x < 0)); });
  expect_unary<T>("o = clip(a, -1, 2.5)", 0, [](T x) {
    return std::isnan(x) ? x : std::clamp(x, T(-1), T(2.5));
  });
}

TYPED_TEST(FloatingInterpreter, FunctionsOfTwoNumbersMatchSpecialValuesToo) {
  using T = TypeParam;
  const auto values = special_values<T>();
  const auto binary = [&](std::string_view text, auto expected) {
    expect_binary<T>(text, values, expected);
  };
  binary("o = a + b", [](T x, T y) { return x + y; });
  binary("o = a - b", [](T x, T y) { return x - y; });
  binary("o = a * b", [](T x, T y) { return x * y; });
  binary("o = a / b", [](T x, T y) { return x / y; });
  binary("o = a ** b", [](T x, T y) { return std::pow(x, y); });
  binary("o = pow(a, b)", [](T x, T y) { return std::pow(x, y); });
  binary("o = a < b", [](T x, T y) { return T(x < y); });
  binary("o = a <= b", [](T x, T y) { return T(x <= y); });
  binary("o = a > b", [](T x, T y) { return T(x > y); });
  binary("o = a >= b", [](T x, T y) { return T(x >= y); });
  binary("o = a == b", [](T x, T y) { return T(x == y); });
  binary("o = a != b", [](T x, T y) { return T(x != y); });
  binary("o = minimum(a, b)", [](T x, T y) {
    return std::isnan(x) ? x : std::isnan(y) ? y : x <= y ? x : y;
  });
  binary("o = maximum(a, b)", [](T x, T y) {
    return std::isnan(x) ? x : std::isnan(y) ? y : x >= y ? x : y;
  });
  binary("o = where(a, b, 7)", [](T x, T y) { return x != 0 ? y : T(7); });
  binary("o = fma(a, b, 1)", [](T x, T y) { return std::fma(x, y, T(1)); });
}

TYPED_TEST(FloatingInterpreter, ProductAndSumAreRoundedOneByOne) {
  using T = TypeParam;
  const T a = 1 + std::numeric_limits<T>::epsilon();
  const volatile T product = a * a;
  EXPECT_EQ(interpret_text<T>("o = a * a - b", {{a}, {T(1)}}, 1)[0],
            product - 1);
}

template <typename T>
std::pair<T, T> python_divmod(T a, T b) {
  T mod = std::fmod(a, b);
  if (b == 0) return {a / b, mod};
  T div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1;
    }
  } else {
    mod = std::copysign(T(0), b);
  }
  T floor = std::copysign(T(0), a / b);
  if (div != 0) {
    floor = std::floor(div);
    if (div - floor > T(0.5)) floor += 1;
  }
  return {floor, mod};
}

TYPED_TEST(FloatingInterpreter, FloorDivisionAndRestAreThoseOfPython) {
  using T = TypeParam;
  EXPECT_EQ(
      interpret_text<T>("o = a // b", {{7, -7, 7, -7}, {2, 2, -2, -2}}, 4),
      (std::vector<T>{3, -4, -4, 3}));
  EXPECT_EQ(interpret_text<T>("o = a % b", {{7, -7, 7, -7}, {2, 2, -2, -2}}, 4),
            (std::vector<T>{1, 1, -1, -1}));
  const auto values = special_values<T>();
  expect_binary<T>("o = a // b", values,
                   [](T x, T y) { return python_divmod(x, y).first; });
  expect_binary<T>("o = a % b", values,
                   [](T x, T y) { return python_divmod(x, y).second; });
}

TYPED_TEST(IntegerInterpreter, ArithmeticWrapsAndDivisionRoundsDown) {
  using T = TypeParam;
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  const auto run = [](std::string_view text, T a, T b) {
    return interpret_text<T>(text, {{a}, {b}}, 1)[0];
  };
  EXPECT_EQ(run("o = a + b", kMax, 1), kMin);
  EXPECT_EQ(run("o = a - b", kMin, 1), kMax);
  EXPECT_EQ(run("o = a * b", kMax, 2), -2);
  EXPECT_EQ(run("o = -a + 0 * b", kMin, 0), kMin);
  EXPECT_EQ(run("o = abs(a) + 0 * b", kMin, 0), kMin);
  for (const char* text : {"o = a / b", "o = a // b"}) {
    EXPECT_EQ(run(text, 7, 2), 3);
    EXPECT_EQ(run(text, -7, 2), -4);
    EXPECT_EQ(run(text, 7, -2), -4);
    EXPECT_EQ(run(text, -7, -2), 3);
    EXPECT_EQ(run(text, 7, 0), 0);
    EXPECT_EQ(run(text, kMin, -1), kMin);
  }
  EXPECT_EQ(run("o = a % b", 7, 3), 1);
  EXPECT_EQ(run("o = a % b", -7, 3), 2);
  EXPECT_EQ(run("o = a % b", 7, -3), -2);
  EXPECT_EQ(run("o = a % b", -7, -3), -1);
  EXPECT_EQ(run("o = a % b", 7, 0), 0);
  EXPECT_EQ(run("o = a % b", kMin, -1), 0);
}

TYPED_TEST(IntegerInterpreter, PowersAreExactOrWrap) {
  using T = TypeParam;
  const auto power = [](T a, T b) {
    return interpret_text<T>("o = a ** b", {{a}, {b}}, 1)[0];
  };
  EXPECT_EQ(power(3, 4), 81);
  EXPECT_EQ(power(-2, 3), -8);
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(power(2, std::numeric_limits<T>::digits + 1), 0);
  EXPECT_EQ(power(5, -1), 0);
  EXPECT_EQ(power(1, -3), 1);
  EXPECT_EQ(power(-1, -3), -1);
  EXPECT_EQ(power(-1, -4), 1);
  EXPECT_EQ(power(0, -1), 0);
}

TYPED_TEST(IntegerInterpreter, OtherFunctionsTakeIntegers) {
  using T = TypeParam;
  const std::vector<T> a{-5, -1, 0, 1, 5};
  const auto run = [&](std::string_view text) {
    return interpret_text<T>(text, {a}, a.size());
  };
  EXPECT_EQ(run("o = abs(a)"), (std::vector<T>{5, 1, 0, 1, 5}));
  EXPECT_EQ(run("o = sign(a)"), (std::vector<T>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(run("o = relu(a)"), (std::vector<T>{0, 0, 0, 1, 5}));
  EXPECT_EQ(run("o = square(a)"), (std::vector<T>{25, 1, 0, 1, 25}));
  EXPECT_EQ(run("o = clip(a, -1, 3)"), (std::vector<T>{-1, -1, 0, 1, 3}));
  EXPECT_EQ(run("o = fma(a, 2, 1)"), (std::vector<T>{-9, -1, 1, 3, 11}));
  EXPECT_EQ(run("o = where(a > 0, a, -1)"), (std::vector<T>{-1, -1, -1, 1, 5}));
  EXPECT_EQ(run("o = min(max(a, -2), 2)"), (std::vector<T>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(run("o = floor(a) + ceil(a) - round(a)"), a);
  EXPECT_EQ(run("o = (a == 1) + (a != 1) * 2"),
            (std::vector<T>{2, 2, 2, 1, 2}));
}

TEST(Interpreter, ParamsAreConvertedToTheElementType) {
  const std::vector<BoundParam> params{BoundParam::make("alpha", 2.5),
                                       BoundParam::make("k", 3),
                                       BoundParam::make("big", 1LL << 40)};
  EXPECT_EQ(interpret_text<float>("o = alpha * x + k", {{1, 2}}, 2, params),
            (std::vector<float>{5.5f, 8.0f}));
  EXPECT_EQ(interpret_text<int>("o = alpha * x + k + big", {{1, 2}}, 2, params),
            (std::vector<int>{5, 7}));
  const std::vector<BoundParam> real{
      BoundParam::make("a", 1e30), BoundParam::make("b", -1e30f),
      BoundParam::make("c", std::nan("")), BoundParam::make("d", -2.9)};
  EXPECT_EQ(interpret_text<int>("o = a", {}, 1, real)[0], 2147483647);
  EXPECT_EQ(interpret_text<long long>("o = b", {}, 1, real)[0],
            std::numeric_limits<long long>::min());
  EXPECT_EQ(interpret_text<int>("o = c", {}, 1, real)[0], 0);
  EXPECT_EQ(interpret_text<int>("o = d", {}, 1, real)[0], -2);
}

TEST(Interpreter, ResultMayBeAnInputOrANumber) {
  std::vector<float> a(3000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  EXPECT_EQ(interpret_text<float>("o = a", {a}, a.size()), a);
  EXPECT_EQ(interpret_text<float>("o = 2 * 3 - 1", {}, 3000),
            std::vector<float>(3000, 5.0f));
  EXPECT_EQ(interpret_text<float>("o = a", {{}}, 0), std::vector<float>{});
}

TEST(Interpreter, UniformPartsKeepTheirRegisterInEveryChunk) {
  const std::size_t n = 5000;
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i);
  const std::vector<BoundParam> params{BoundParam::make("k", 3.0)};
  const auto got = interpret_text<double>(
      "o = (x + 1) * (x - 2) + (k * 2 + 1) * (x - 3) + 4", {x}, n, params);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(got[i], (x[i] + 1) * (x[i] - 2) + 7 * (x[i] - 3) + 4);
  }
}

TEST(Interpreter, ManyLiveValuesShrinkTheChunk) {
  // Every product is alive until the end.
  std::string text = "o = ";
  std::string tail;
  for (int i = 1; i < 200; ++i) {
    text += concat("x * ", i, " + (");
    tail += ")";
  }
  text += "x" + tail;
  std::vector<double> x(777);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const auto got = interpret_text<double>(text, {x}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(got[i], x[i] * (199 * 100 + 1));
  }
}

TEST(Interpreter, OutputMayBeAnInput) {
  for (const char* text : {"o = a * b + a", "o = b - a", "o = a",
                           "o = exp(a) * (a + b) - a / (b + 1)"}) {
    const std::size_t n = 4099;
    std::vector<float> a(n);
    std::vector<float> b(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i % 17) / 4;
      b[i] = static_cast<float>(i % 23) / 8;
    }
    const auto expression = parse_expression(text, {});
    const auto program = make_interpreter_program(expression, DType::Float32);
    std::vector<std::vector<float>> inputs;
    for (const std::string& name : expression.inputs) {
      inputs.push_back(name == "a" ? a : b);
    }
    const auto expected = call<float>(interpret, program.get(), inputs, n);
    std::vector<u64> args{reinterpret_cast<u64>(a.data())};
    for (const std::string& name : expression.inputs) {
      args.push_back(reinterpret_cast<u64>(name == "a" ? a.data() : b.data()));
    }
    interpret(Task{args.data(), program.get(), static_cast<u32>(n)}, Lane{});
    EXPECT_EQ(a, expected) << text;
  }
}

TEST(Interpreter, ThreadsShareAProgram) {
  const auto program = make_interpreter_program(
      parse_expression("o = (a + 1) * (a - 1)", {}), DType::Int32);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<int> a(3001, static_cast<int>(t) + 2);
      const int expected = (a[0] + 1) * (a[0] - 1);
      for (int round = 0; round < 50; ++round) {
        for (const int x : call<int>(interpret, program.get(), {a}, a.size())) {
          if (x != expected) ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace gpuos
