// Each elementwise function, compared with a reference in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "program/graph/plan.h"
#include "program_support.h"
#include "request_support.h"
#include "requests/fused_requests.h"

namespace gpuos {
namespace {

using Args = std::array<double, 4>;

struct Case {
  Function function;
  int arrays;
  std::vector<double> numbers;  // after the arrays
  double (*reference)(const Args&);
  bool is_test = false;  // gives a bool
};

// 'std::max' would lose a NaN in its second place.
double most(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}
double least(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x, double beta, double threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
}
double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double floor_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b);
  const double quotient = (a - rest) / b;
  return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
}
double logaddexp(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  const double top = most(a, b);
  return top + std::log1p(std::exp(-std::abs(a - b)));
}
double limited(double x) { return least(most(x + 3, 0), 6); }

#define GPUOS_REFERENCE(expression) \
  [](const Args& x) -> double {     \
    (void)x;                        \
    return expression;              \
  }
#define GPUOS_UNARY(function, expression) \
  {Function::function, 1, {}, GPUOS_REFERENCE(expression)}
#define GPUOS_BINARY(function, expression) \
  {Function::function, 2, {}, GPUOS_REFERENCE(expression)}
#define GPUOS_TEST_OF(function, arrays, expression) \
  {Function::function, arrays, {}, GPUOS_REFERENCE(expression), true}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      GPUOS_UNARY(Copy, x[0]),
      GPUOS_BINARY(Add, x[0] + x[1]),
      {Function::AddScaled, 2, {0.75}, GPUOS_REFERENCE(x[0] + x[2] * x[1])},
      GPUOS_BINARY(Subtract, x[0] - x[1]),
      {Function::SubScaled, 2, {0.75}, GPUOS_REFERENCE(x[0] - x[2] * x[1])},
      GPUOS_BINARY(Multiply, x[0] * x[1]),
      GPUOS_BINARY(Divide, x[0] / x[1]),
      GPUOS_BINARY(FloorDivide, floor_quotient(x[0], x[1])),
      GPUOS_BINARY(DivTrunc, std::trunc(x[0] / x[1])),
      GPUOS_BINARY(TorchRemainder, remainder_of(x[0], x[1])),
      GPUOS_BINARY(Fmod, std::fmod(x[0], x[1])),
      GPUOS_BINARY(Power, std::pow(x[0], x[1])),
      GPUOS_BINARY(Arctan2, std::atan2(x[0], x[1])),
      GPUOS_BINARY(Hypot, std::hypot(x[0], x[1])),
      GPUOS_BINARY(Copysign, std::copysign(x[0], x[1])),
      GPUOS_BINARY(Logaddexp, logaddexp(x[0], x[1])),
      GPUOS_BINARY(Maximum, most(x[0], x[1])),
      GPUOS_BINARY(Minimum, least(x[0], x[1])),
      GPUOS_BINARY(Fmax, std::fmax(x[0], x[1])),
      GPUOS_BINARY(Fmin, std::fmin(x[0], x[1])),
      GPUOS_TEST_OF(Less, 2, x[0] < x[1]),
      GPUOS_TEST_OF(LessEqual, 2, x[0] <= x[1]),
      GPUOS_TEST_OF(Greater, 2, x[0] > x[1]),
      GPUOS_TEST_OF(GreaterEqual, 2, x[0] >= x[1]),
      GPUOS_TEST_OF(Equal, 2, x[0] == x[1]),
      GPUOS_TEST_OF(NotEqual, 2, x[0] != x[1]),
      GPUOS_TEST_OF(LogicalAnd, 2, x[0] != 0 && x[1] != 0),
      GPUOS_TEST_OF(LogicalOr, 2, x[0] != 0 || x[1] != 0),
      GPUOS_TEST_OF(LogicalXor, 2, (x[0] != 0) != (x[1] != 0)),
      {Function::Where, 3, {}, GPUOS_REFERENCE(x[0] != 0 ? x[1] : x[2])},
      {Function::MaskedFill, 2, {1.5}, GPUOS_REFERENCE(x[1] != 0 ? 1.5 : x[0])},
      {Function::Lerp,
       3,
       {},
       GPUOS_REFERENCE(std::abs(x[2]) < 0.5
                           ? x[0] + x[2] * (x[1] - x[0])
                           : x[1] - (x[1] - x[0]) * (1 - x[2]))},
      {Function::Addcmul, 3, {0.5}, GPUOS_REFERENCE(x[0] + x[3] * x[1] * x[2])},
      {Function::Addcdiv, 3, {0.5}, GPUOS_REFERENCE(x[0] + x[3] * x[1] / x[2])},
      {Function::Clamp, 1, {-1, 2}, GPUOS_REFERENCE(least(most(x[0], -1), 2))},
      {Function::Clamp, 3, {}, GPUOS_REFERENCE(least(most(x[0], x[1]), x[2]))},
      {Function::ClampMin, 1, {0.5}, GPUOS_REFERENCE(most(x[0], 0.5))},
      {Function::ClampMax, 1, {0.5}, GPUOS_REFERENCE(least(x[0], 0.5))},
      GPUOS_UNARY(Negative, -x[0]),
      GPUOS_UNARY(Absolute, std::abs(x[0])),
      GPUOS_UNARY(TorchSign, (x[0] > 0) - (x[0] < 0)),
      GPUOS_UNARY(Square, x[0] * x[0]),
      GPUOS_UNARY(Reciprocal, 1 / x[0]),
      GPUOS_UNARY(Sqrt, std::sqrt(x[0])),
      GPUOS_UNARY(Rsqrt, 1 / std::sqrt(x[0])),
      GPUOS_UNARY(Exp, std::exp(x[0])),
      GPUOS_UNARY(Exp2, std::exp2(x[0])),
      GPUOS_UNARY(Expm1, std::expm1(x[0])),
      GPUOS_UNARY(Log, std::log(x[0])),
      GPUOS_UNARY(Log2, std::log2(x[0])),
      GPUOS_UNARY(Log10, std::log10(x[0])),
      GPUOS_UNARY(Log1p, std::log1p(x[0])),
      GPUOS_UNARY(Sin, std::sin(x[0])),
      GPUOS_UNARY(Cos, std::cos(x[0])),
      GPUOS_UNARY(Tan, std::tan(x[0])),
      GPUOS_UNARY(Arcsin, std::asin(x[0])),
      GPUOS_UNARY(Arccos, std::acos(x[0])),
      GPUOS_UNARY(Arctan, std::atan(x[0])),
      GPUOS_UNARY(Sinh, std::sinh(x[0])),
      GPUOS_UNARY(Cosh, std::cosh(x[0])),
      GPUOS_UNARY(Tanh, std::tanh(x[0])),
      GPUOS_UNARY(Arcsinh, std::asinh(x[0])),
      GPUOS_UNARY(Arccosh, std::acosh(x[0])),
      GPUOS_UNARY(Arctanh, std::atanh(x[0])),
      GPUOS_UNARY(Erf, std::erf(x[0])),
      GPUOS_UNARY(Erfc, std::erfc(x[0])),
      GPUOS_UNARY(Lgamma, std::lgamma(x[0])),
      GPUOS_UNARY(Floor, std::floor(x[0])),
      GPUOS_UNARY(Ceil, std::ceil(x[0])),
      GPUOS_UNARY(Trunc, std::trunc(x[0])),
      GPUOS_UNARY(TorchRound, std::nearbyint(x[0])),
      GPUOS_UNARY(Frac, x[0] - std::trunc(x[0])),
      GPUOS_UNARY(Sigmoid, sigmoid(x[0])),
      GPUOS_UNARY(LogSigmoid,
                  least(0, x[0]) - std::log1p(std::exp(-std::abs(x[0])))),
      GPUOS_UNARY(Relu, most(x[0], 0)),
      {Function::LeakyRelu,
       1,
       {0.25},
       GPUOS_REFERENCE(x[0] > 0 ? x[0] : 0.25 * x[0])},
      {Function::Elu,
       1,
       {1.5, 2, 0.5},
       GPUOS_REFERENCE(x[0] > 0 ? 2 * x[0] : std::expm1(x[0] * 0.5) * 3)},
      {Function::Softplus, 1, {2, 20}, GPUOS_REFERENCE(softplus(x[0], 2, 20))},
      // x * sigmoid(x) is no number at -inf, and 0 in gpuos.
      GPUOS_UNARY(Silu, x[0] == -INFINITY ? 0 : x[0] * sigmoid(x[0])),
      GPUOS_UNARY(Mish, x[0] * std::tanh(softplus(x[0], 1, 20))),
      GPUOS_UNARY(Gelu, x[0] == -INFINITY
                            ? 0
                            : x[0] * 0.5 * std::erfc(-x[0] * M_SQRT1_2)),
      GPUOS_UNARY(GeluTanh,
                  x[0] == -INFINITY
                      ? 0
                      : x[0] * sigmoid(2 * std::sqrt(2 / M_PI) *
                                       (x[0] + 0.044715 * x[0] * x[0] * x[0]))),
      GPUOS_UNARY(Hardsigmoid, limited(x[0]) / 6),
      GPUOS_UNARY(Hardswish, x[0] * limited(x[0]) / 6),
      {Function::Hardtanh,
       1,
       {-2, 1},
       GPUOS_REFERENCE(least(most(x[0], -2), 1))},
      {Function::Threshold,
       1,
       {0.5, 7},
       GPUOS_REFERENCE(x[0] <= 0.5 ? 7 : x[0])},
      GPUOS_TEST_OF(Isnan, 1, std::isnan(x[0])),
      GPUOS_TEST_OF(Signbit, 1, std::signbit(x[0])),
      GPUOS_TEST_OF(Isinf, 1, std::isinf(x[0])),
      GPUOS_TEST_OF(Isfinite, 1, std::isfinite(x[0])),
      GPUOS_TEST_OF(LogicalNot, 1, x[0] == 0),
      GPUOS_BINARY(SigmoidBackward, x[0] * (1 - x[1]) * x[1]),
      GPUOS_BINARY(TanhBackward, x[0] * (1 - x[1] * x[1])),
      {Function::ThresholdBackward,
       2,
       {0.5},
       GPUOS_REFERENCE(x[1] <= 0.5 ? 0 : x[0])},
      GPUOS_BINARY(SiluBackward,
                   x[0] * sigmoid(x[1]) * (1 + x[1] * (1 - sigmoid(x[1])))),
  };
  return all;
}

constexpr double kValues[] = {NAN,  INFINITY, -INFINITY, 0.0,  -0.0, 0.5,
                              -0.5, 1,        -1,        1.5,  -2.5, 2.5,
                              3.5,  100,      -100,      4096, 0.25, -0.25};
constexpr std::size_t kCount = std::size(kValues);
constexpr std::size_t kPairs = kCount * kCount;

std::vector<std::uint8_t> bytes_of(DType dtype,
                                   const std::vector<double>& values) {
  std::vector<std::uint8_t> bytes(values.size() * size_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::Float64)
      put(bytes, i, values[i]);
    else if (dtype == DType::Float32)
      put(bytes, i, static_cast<float>(values[i]));
    else
      put(bytes, i, to_half_bits(static_cast<float>(values[i])));
  }
  return bytes;
}

double largest_of(DType dtype) {
  if (dtype == DType::Float16) return 65504;
  return dtype == DType::Float32 ? std::numeric_limits<float>::max()
                                 : std::numeric_limits<double>::max();
}

double error_of(DType dtype) {
  if (dtype == DType::Float16) return 1e-3;
  return dtype == DType::Float32 ? 2e-6 : 1e-12;
}

bool is_close(DType dtype, double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::abs(expected) > largest_of(dtype) * (1 - error_of(dtype)))
    return std::isinf(got) ? (got > 0) == (expected > 0)
                           : std::isfinite(expected);
  const double least_size = dtype == DType::Float16 ? 1e-4 : 1e-30;
  return std::abs(got - expected) <=
         error_of(dtype) * std::max(std::abs(expected), least_size);
}

class FunctionContract : public Contract {
 protected:
  void check(const Case& tried, DType dtype) {
    std::array<std::vector<double>, 3> values;
    for (std::size_t i = 0; i < kPairs; ++i) {
      values[0].push_back(kValues[i % kCount]);
      values[1].push_back(kValues[i / kCount]);
      values[2].push_back(kValues[(i * 7 + i / kCount) % kCount]);
    }
    std::vector<DeviceArray<std::uint8_t>> arrays;
    std::vector<RequestOperand> operands;
    for (int k = 0; k < tried.arrays; ++k) {
      arrays.emplace_back(runtime(), bytes_of(dtype, values[k]));
      operands.push_back(operand_of(arrays.back(), dtype));
    }
    for (const double number : tried.numbers) operands.emplace_back(number);
    const DType out_dtype = tried.is_test ? DType::Bool : dtype;
    const DeviceArray<std::uint8_t> out(runtime(), kPairs * size_of(out_dtype));
    run_request(runtime(), tried.function, operand_of(out, out_dtype), operands,
                {.is_fresh = true,
                 .compute = dtype == DType::Float16 ? DType::Float32 : dtype});
    const auto bytes = out.read();
    for (std::size_t i = 0; i < kPairs; ++i) {
      Args args{};
      for (int k = 0; k < tried.arrays; ++k) args[k] = values[k][i];
      for (std::size_t k = 0; k < tried.numbers.size(); ++k)
        args[tried.arrays + k] = tried.numbers[k];
      const double expected = tried.reference(args);
      const double got =
          tried.is_test ? bytes[i]
                        : number_at(dtype, bytes.data() + i * size_of(dtype));
      ASSERT_TRUE(is_close(dtype, got, expected))
          << "function " << static_cast<int>(tried.function) << " of "
          << name_of(dtype) << " " << args[0] << ", " << args[1] << ", "
          << args[2] << ": got " << got << ", expected " << expected;
    }
  }
};
GPUOS_INSTANTIATE_CONTRACT(FunctionContract);

TEST_P(FunctionContract, RealNumbersGiveWhatPyTorchGives) {
  for (const Case& tried : cases())
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16})
      ASSERT_NO_FATAL_FAILURE(check(tried, dtype));
}

TEST_P(FunctionContract, HalfTypesAreRoundedOnce) {
  // 3 * 0.8 is 2.4, and the next half to 2050.4 is 2050.
  const DeviceArray<std::uint8_t> x(runtime(),
                                    bytes_of(DType::Float16, {2048.0}));
  const DeviceArray<std::uint8_t> y(runtime(), bytes_of(DType::Float16, {0.8}));
  const DeviceArray<std::uint8_t> out(runtime(), 2);
  const DType half = DType::Float16;
  run_request(runtime(), Function::AddScaled, operand_of(out, half),
              {operand_of(x, half), operand_of(y, half), 3.0});
  EXPECT_EQ(number_at(DType::Float16, out.read().data()), 2050);
}

// The runner counts on it when it fills a task.
TEST(Functions, HaveNoMoreNumbersThanTheyAreCountedWith) {
  for (const Case& tried : cases()) {
    for (const DType dtype : {DType::Float32, DType::Float16, DType::Int32}) {
      Request request;
      request.function = bridge::function_of(tried.function);
      request.operands =
          static_cast<std::uint8_t>(tried.arrays + tried.numbers.size());
      request.compute = dtype;
      request.out_dtype = tried.is_test ? DType::Bool : dtype;
      requests::FusedRequests part;
      std::vector<requests::OperandSource> links;
      for (int k = 0; k < request.operands; ++k) {
        float* const address = nullptr;
        links.push_back(part.input(TensorView(address + k, 1, dtype), true));
      }
      part.output(part.add(request, links), {}, true);
      Program program;
      try {
        program = part.build();
      } catch (const InvalidArgument&) {
        continue;  // not of integers
      }
      EXPECT_LE(program.plan()->fused.passes[0].scalars.size(),
                part.arguments() - part.inputs().size())
          << "function " << static_cast<int>(tried.function);
    }
  }
}

}  // namespace
}  // namespace gpuos
