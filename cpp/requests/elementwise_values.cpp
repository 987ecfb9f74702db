// PyTorch's meaning of each elementwise recipe, as values of a program.
#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "requests/recipe_values.h"

namespace gpuos::requests {
namespace {

Value cast(const Value& x, DType dtype) { return astype(x, dtype); }

// A literal takes the dtype of the other operand.
Value sign_of(const Value& x) {
  if (x.dtype() == DType::Bool) return x;
  return is_floating(x.dtype()) ? where(isnan(x), 0, sign(x)) : sign(x);
}

// The remainder of real numbers takes the divisor's sign by adding the divisor,
// so a remainder of 0 keeps the sign of `x`.
Value remainder_of(const Value& x, const Value& y) {
  if (!is_floating(x.dtype())) return remainder(x, y);
  const Value rest = fmod(x, y);
  const Value differs = not_equal(less(rest, 0), less(y, 0));
  return where(bitwise_and(not_equal(rest, 0), differs), rest + y, rest);
}

// The remainder is subtracted first, so that the division is exact.
Value truncated_quotient(const Value& x, const Value& y) {
  if (is_floating(x.dtype())) return trunc(divide(x, y));
  return floor_divide(x - fmod(x, y), y);
}

// From the nearer end, so that the result reaches both.
Value lerp(const Value& start, const Value& end, const Value& weight) {
  const Value distance = end - start;
  return where(less(absolute(weight), 0.5), start + weight * distance,
               end - distance * (1 - weight));
}

// Not the library's: alpha, both scales and which side 0 is on are PyTorch's.
Value elu_of(const Value& x, const Value& alpha, const Value& scale,
             const Value& input_scale) {
  return where(greater(x, 0), x * scale,
               expm1(x * input_scale) * (alpha * scale));
}

Value silu_backward(const Value& gradient, const Value& x) {
  const Value s = sigmoid(x);
  return gradient * s * (x * (1 - s) + 1);
}

using Operands = std::span<const Value>;

// Computes a function of the vocabulary.
Value function(Recipe recipe, Operands x) {
  // The second of two zeros counts, as in PyTorch's vector code.
  if (recipe == Recipe::Maximum) return maximum(x[1], x[0]);
  if (recipe == Recipe::Minimum) return minimum(x[1], x[0]);
  switch (recipe) {
#define GPUOS_CASE(name, ...) \
  case Recipe::name:          \
    return elementwise(Op::name, {x[0]});
    GPUOS_UNARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_TESTS(GPUOS_CASE)
#undef GPUOS_CASE
#define GPUOS_CASE(name, ...) \
  case Recipe::name:          \
    return elementwise(Op::name, {x[0], x[1]});
    GPUOS_BINARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_COMPARISONS(GPUOS_CASE)
#undef GPUOS_CASE
    default:
      return {};
  }
}

Value arithmetic(Recipe recipe, Operands x) {
  switch (recipe) {
    case Recipe::Copy:
      return x[0];
    case Recipe::AddScaled:
      return x[0] + x[2] * x[1];
    case Recipe::SubScaled:
      return x[0] - x[2] * x[1];
    case Recipe::DivTrunc:
      return truncated_quotient(x[0], x[1]);
    case Recipe::TorchRemainder:
      return remainder_of(x[0], x[1]);
    case Recipe::ClampMin:
      return maximum(x[0], x[1]);
    case Recipe::ClampMax:
      return minimum(x[0], x[1]);
    case Recipe::Clamp:
    case Recipe::Hardtanh:
      return minimum(maximum(x[0], x[1]), x[2]);
    case Recipe::Lerp:
      return lerp(x[0], x[1], x[2]);
    case Recipe::Addcmul:
      return x[0] + x[3] * x[1] * x[2];
    case Recipe::Addcdiv:
      return x[0] + x[3] * x[1] / x[2];
    case Recipe::TorchSign:
      return sign_of(x[0]);
    case Recipe::TorchRound:
      return is_floating(x[0].dtype()) ? rint(x[0]) : x[0];
    case Recipe::Frac:
      return x[0] - trunc(x[0]);
    default:
      return {};
  }
}

Value choice(Recipe recipe, Operands x) {
  switch (recipe) {
    case Recipe::Greater:
      return greater(x[0], x[1]);
    case Recipe::GreaterEqual:
      return greater_equal(x[0], x[1]);
    case Recipe::LogicalAnd:
      return logical_and(x[0], x[1]);
    case Recipe::LogicalOr:
      return logical_or(x[0], x[1]);
    case Recipe::LogicalXor:
      return logical_xor(x[0], x[1]);
    case Recipe::LogicalNot:
      return logical_not(x[0]);
    case Recipe::Where:
      return where(x[0], x[1], x[2]);
    case Recipe::MaskedFill:
      return where(x[1], x[2], x[0]);
    default:
      return {};
  }
}

Value activation(Recipe recipe, Operands x) {
  switch (recipe) {
    case Recipe::LogSigmoid:
      return logsigmoid(x[0]);
    case Recipe::Relu:
      return relu(x[0]);
    case Recipe::LeakyRelu:
      return leaky_relu(x[0], x[1]);
    case Recipe::Elu:
      return elu_of(x[0], x[1], x[2], x[3]);
    case Recipe::Softplus:
      return softplus(x[0], x[1], x[2]);
    case Recipe::Mish:
      return mish(x[0]);
    case Recipe::Hardsigmoid:
      return hardsigmoid(x[0]);
    case Recipe::Hardswish:
      return hardswish(x[0]);
    case Recipe::Threshold:
      return where(less_equal(x[0], x[1]), x[2], x[0]);
    case Recipe::SigmoidBackward:
      return x[0] * (1 - x[1]) * x[1];
    case Recipe::TanhBackward:
      return x[0] * (1 - x[1] * x[1]);
    case Recipe::ThresholdBackward:
      return where(less_equal(x[1], x[2]), 0, x[0]);
    case Recipe::SiluBackward:
      return silu_backward(x[0], x[1]);
    default:
      return {};
  }
}

}  // namespace

bool is_condition(Recipe recipe, std::size_t place) noexcept {
  return (recipe == Recipe::Where && place == 0) ||
         (recipe == Recipe::MaskedFill && place == 1);
}

std::size_t literals_of(const Request& request) noexcept {
  // A test for 0 converts other dtypes to bool.
  std::size_t tests = request.out_dtype == DType::Bool ? 1 : 0;
  if (is_row_recipe(request.recipe)) return 3 + tests;
  if (request.compute == DType::Bool) ++tests;
  switch (request.recipe) {
    case Recipe::Hardsigmoid:
    case Recipe::Hardswish:
      return 4 + tests;
    case Recipe::LogicalAnd:
    case Recipe::LogicalOr:
    case Recipe::LogicalXor:
    case Recipe::LogicalNot:
    case Recipe::Lerp:
    case Recipe::Mish:
      return 2 + tests;
    case Recipe::TorchRemainder:
    case Recipe::Where:
    case Recipe::MaskedFill:
    case Recipe::TorchSign:
    case Recipe::Invert:
    case Recipe::LogSigmoid:
    case Recipe::Relu:
    case Recipe::LeakyRelu:
    case Recipe::Elu:
    case Recipe::SigmoidBackward:
    case Recipe::TanhBackward:
    case Recipe::ThresholdBackward:
    case Recipe::SiluBackward:
      return 1 + tests;
    default:
      return tests;
  }
}

Value elementwise_value(Recipe recipe, DType compute, Operands operands) {
  std::array<Value, kMaxRequestOperands> x;
  for (std::size_t i = 0; i < operands.size(); ++i)
    x[i] = cast(operands[i], is_condition(recipe, i) ? DType::Bool : compute);
  const Operands given(x.data(), operands.size());
  Value made = function(recipe, given);
  if (made.graph() == nullptr) made = arithmetic(recipe, given);
  if (made.graph() == nullptr) made = choice(recipe, given);
  if (made.graph() == nullptr) made = activation(recipe, given);
  if (made.graph() == nullptr)
    throw InvalidArgument(
        concat("request: unknown recipe ", static_cast<int>(recipe)));
  return made;
}

}  // namespace gpuos::requests
