// PyTorch's meaning of each elementwise recipe, as values of a program.
#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "requests/recipe_values.h"

namespace gpuos::requests {
namespace {

Value cast(const Value& x, DType dtype) { return astype(x, dtype); }

// A number in the text takes the dtype of what it meets.
Value sign_of(const Value& x) {
  if (x.dtype() == DType::Bool) return x;
  return is_floating(x.dtype()) ? where(isnan(x), 0, sign(x)) : sign(x);
}

Value whole(Op op, const Value& x) {
  return is_floating(x.dtype()) ? ProgramBuilder::apply(op, {x}) : x;
}

// The remainder of real numbers takes the divisor's sign by adding the divisor,
// so a remainder of 0 keeps the sign of `x`.
Value remainder_of(const Value& x, const Value& y) {
  if (!is_floating(x.dtype())) return remainder(x, y);
  const Value rest = fmod(x, y);
  const Value differs = not_equal(less(rest, 0), less(y, 0));
  return where(bitwise_and(not_equal(rest, 0), differs), rest + y, rest);
}

// What is left of `x` without the rest is divided without one.
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

Value arithmetic(Recipe recipe, Operands x) {
  switch (recipe) {
    case Recipe::Copy:
      return x[0];
    case Recipe::Add:
      return x[0] + x[1];
    case Recipe::AddScaled:
      return x[0] + x[2] * x[1];
    case Recipe::Sub:
      return x[0] - x[1];
    case Recipe::SubScaled:
      return x[0] - x[2] * x[1];
    case Recipe::Mul:
      return x[0] * x[1];
    case Recipe::Div:
      return x[0] / x[1];
    case Recipe::DivFloor:
      return floor_divide(x[0], x[1]);
    case Recipe::DivTrunc:
      return truncated_quotient(x[0], x[1]);
    case Recipe::Remainder:
      return remainder_of(x[0], x[1]);
    case Recipe::Fmod:
      return fmod(x[0], x[1]);
    case Recipe::Pow:
      return power(x[0], x[1]);
    case Recipe::Atan2:
      return arctan2(x[0], x[1]);
    case Recipe::Hypot:
      return hypot(x[0], x[1]);
    case Recipe::Copysign:
      return copysign(x[0], x[1]);
    case Recipe::Logaddexp:
      return logaddexp(x[0], x[1]);
    case Recipe::Maximum:
    case Recipe::ClampMin:
      return maximum(x[0], x[1]);
    case Recipe::Minimum:
    case Recipe::ClampMax:
      return minimum(x[0], x[1]);
    case Recipe::Clamp:
    case Recipe::Hardtanh:
      return minimum(maximum(x[0], x[1]), x[2]);
    case Recipe::Fmax:
      return fmax(x[0], x[1]);
    case Recipe::Fmin:
      return fmin(x[0], x[1]);
    case Recipe::Lerp:
      return lerp(x[0], x[1], x[2]);
    case Recipe::Addcmul:
      return x[0] + x[3] * x[1] * x[2];
    case Recipe::Addcdiv:
      return x[0] + x[3] * x[1] / x[2];
    default:
      return {};
  }
}

Value comparison(Recipe recipe, Operands x) {
  switch (recipe) {
    case Recipe::Lt:
      return less(x[0], x[1]);
    case Recipe::Le:
      return less_equal(x[0], x[1]);
    case Recipe::Gt:
      return greater(x[0], x[1]);
    case Recipe::Ge:
      return greater_equal(x[0], x[1]);
    case Recipe::Eq:
      return equal(x[0], x[1]);
    case Recipe::Ne:
      return not_equal(x[0], x[1]);
    case Recipe::BitwiseAnd:
      return bitwise_and(x[0], x[1]);
    case Recipe::BitwiseOr:
      return bitwise_or(x[0], x[1]);
    case Recipe::BitwiseXor:
      return bitwise_xor(x[0], x[1]);
    case Recipe::BitwiseNot:
      return invert(x[0]);
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
    case Recipe::Isnan:
      return isnan(x[0]);
    case Recipe::Isinf:
      return isinf(x[0]);
    case Recipe::Isfinite:
      return isfinite(x[0]);
    case Recipe::Signbit:
      return signbit(x[0]);
    default:
      return {};
  }
}

Value function(Recipe recipe, const Value& x) {
  switch (recipe) {
#define GPUOS_CASE(name, function) \
  case Recipe::name:               \
    return function(x);
    GPUOS_CASE(Neg, negative)
    GPUOS_CASE(Abs, absolute)
    GPUOS_CASE(Sign, sign_of)
    GPUOS_CASE(Square, square)
    GPUOS_CASE(Reciprocal, reciprocal)
    GPUOS_CASE(Sqrt, sqrt)
    GPUOS_CASE(Rsqrt, rsqrt)
    GPUOS_CASE(Exp, exp)
    GPUOS_CASE(Exp2, exp2)
    GPUOS_CASE(Expm1, expm1)
    GPUOS_CASE(Log, log)
    GPUOS_CASE(Log2, log2)
    GPUOS_CASE(Log10, log10)
    GPUOS_CASE(Log1p, log1p)
    GPUOS_CASE(Sin, sin)
    GPUOS_CASE(Cos, cos)
    GPUOS_CASE(Tan, tan)
    GPUOS_CASE(Asin, arcsin)
    GPUOS_CASE(Acos, arccos)
    GPUOS_CASE(Atan, arctan)
    GPUOS_CASE(Sinh, sinh)
    GPUOS_CASE(Cosh, cosh)
    GPUOS_CASE(Tanh, tanh)
    GPUOS_CASE(Asinh, arcsinh)
    GPUOS_CASE(Acosh, arccosh)
    GPUOS_CASE(Atanh, arctanh)
    GPUOS_CASE(Erf, erf)
    GPUOS_CASE(Erfc, erfc)
    GPUOS_CASE(Lgamma, lgamma)
#undef GPUOS_CASE
    case Recipe::Floor:
      return whole(Op::Floor, x);
    case Recipe::Ceil:
      return whole(Op::Ceil, x);
    case Recipe::Trunc:
      return whole(Op::Trunc, x);
    case Recipe::Round:
      return whole(Op::Rint, x);
    case Recipe::Frac:
      return x - trunc(x);
    default:
      return {};
  }
}

Value activation(Recipe recipe, Operands x) {
  switch (recipe) {
    case Recipe::Sigmoid:
      return sigmoid(x[0]);
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
    case Recipe::Silu:
      return silu(x[0]);
    case Recipe::Mish:
      return mish(x[0]);
    case Recipe::Gelu:
      return gelu(x[0]);
    case Recipe::GeluTanh:
      return gelu_tanh(x[0]);
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
  // A test for 0 makes a bool of what is none.
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
    case Recipe::Remainder:
    case Recipe::Where:
    case Recipe::MaskedFill:
    case Recipe::Sign:
    case Recipe::BitwiseNot:
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
  Value made = arithmetic(recipe, given);
  if (made.graph() == nullptr) made = comparison(recipe, given);
  if (made.graph() == nullptr) made = function(recipe, given[0]);
  if (made.graph() == nullptr) made = activation(recipe, given);
  if (made.graph() == nullptr)
    throw InvalidArgument(
        concat("request: unknown recipe ", static_cast<int>(recipe)));
  return made;
}

}  // namespace gpuos::requests
