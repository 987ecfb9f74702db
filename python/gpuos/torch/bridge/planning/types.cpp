#include "planning/types.h"

#include <ATen/native/TypeProperties.h>
#include <c10/core/DefaultDtype.h>

#include <cmath>
#include <limits>

#include "planning/operands.h"

namespace gpuos::bridge {
namespace {

/// The largest finite number of a floating dtype.
double largest(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return std::numeric_limits<at::Half>::max();
    case at::kBFloat16:
      return std::numeric_limits<at::BFloat16>::max();
    case at::kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

/// Returns whether a number of powers and remainders fits a floating dtype.
/// PyTorch's kernels round it first, some to half types, and few take the
/// smallest numbers.
bool fits_as_rounded(double number, at::ScalarType type) {
  const double size = std::fabs(number);
  switch (type) {
    case at::kHalf:
      return number == static_cast<double>(static_cast<at::Half>(number));
    case at::kBFloat16:
      return number == static_cast<double>(static_cast<at::BFloat16>(number));
    case at::kFloat:
      return size == 0 || !(size < std::numeric_limits<float>::min());
    default:
      return size == 0 || !(size < std::numeric_limits<double>::min());
  }
}

/// Returns whether PyTorch makes the power of products, each rounded to the
/// half type.
bool is_product_of_halves(double exponent, at::ScalarType type,
                          c10::Device device) {
  return device.is_cpu() && type == at::kBFloat16 &&
         (exponent == 3 || exponent == -2);
}

std::optional<at::ScalarType> promoted_type(
    std::span<const TorchOperand> operands) {
  at::native::ResultTypeState state;
  for (const TorchOperand& operand : operands) {
    if (operand.is_number()) {
      if (operand.number.isComplex()) return std::nullopt;
      state = at::native::update_result_type_state(operand.number, state);
    } else {
      state = at::native::update_result_type_state(*operand.tensor, state);
    }
  }
  return at::native::result_type(state);
}

/// Conditions and masks are bool. For other dtypes PyTorch warns or raises.
bool has_bool_condition(Rule rule, std::span<const TorchOperand> operands) {
  if (rule != Rule::Select && rule != Rule::Masked) return true;
  const TorchOperand& condition = operands[rule == Rule::Select ? 0 : 1];
  return !condition.is_number() && condition.tensor->scalar_type() == at::kBool;
}

/// Returns whether PyTorch refuses these operands or has special rules for
/// them.
bool has_special_types(const Elementwise& what,
                       std::span<const TorchOperand> operands) {
  const bool subtracts = what.function == Function::Subtract ||
                         what.function == Function::SubScaled;
  const bool clamps = what.function == Function::Clamp ||
                      what.function == Function::ClampMin ||
                      what.function == Function::ClampMax;
  const Tensor* first = operands[0].tensor;
  for (const TorchOperand& operand : operands) {
    if (subtracts && is_bool(operand)) return true;
    if (operand.is_number()) continue;
    const at::ScalarType type = operand.tensor->scalar_type();
    if (what.rule == Rule::Floating && !at::isFloatingType(type)) return true;
    // The meaning of bounds of another dtype depends on the device.
    if (clamps && first != nullptr && type != first->scalar_type()) return true;
    // The next number of a half type is not the next float.
    const bool steps = what.function == Function::Nextafter;
    if ((rounds_quotient(what.function) || steps) && is_half(type)) return true;
  }
  return false;
}

/// Returns whether PyTorch casts a tensor of another dtype to the half type
/// `common` and so rounds it before it computes. On the CPU it treats factors
/// and divisors of one element as numbers. Operators that select an operand
/// round once.
bool is_rounded_first(const Elementwise& what,
                      std::span<const TorchOperand> operands,
                      at::ScalarType common) {
  if (!is_half(common) || what.rule == Rule::Copy ||
      what.rule == Rule::Select || what.rule == Rule::Masked ||
      what.rule == Rule::Fill)
    return false;
  const bool keeps_last =
      what.function == Function::Multiply || what.function == Function::Divide;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number()) continue;
    const Tensor& tensor = *operands[i].tensor;
    const at::ScalarType type = tensor.scalar_type();
    const bool is_number =
        tensor.is_cpu() && keeps_last && i == 1 && tensor.numel() == 1;
    if (type != common && c10::elementSize(type) > 1 && !is_number) return true;
  }
  return false;
}

/// The dtypes by the rule alone: what is computed in, and the result.
std::optional<std::pair<at::ScalarType, at::ScalarType>> types_by(
    Rule rule, at::ScalarType promoted) {
  if (!dtype_of(promoted)) return std::nullopt;
  const bool floating = at::isFloatingType(promoted);
  at::ScalarType common = promoted;
  if ((rule == Rule::Arithmetic && promoted == at::kBool) ||
      (rule == Rule::Floating && !floating) ||
      (rule == Rule::Bitwise && floating))
    return std::nullopt;
  if (rule == Rule::Float && !floating)
    common = c10::get_default_dtype_as_scalartype();
  return std::pair{common, gives_bool(rule) ? at::kBool : common};
}

}  // namespace

bool fits(const c10::Scalar& number, at::ScalarType common) {
  if (at::isFloatingType(common)) {
    const double value = number.toDouble();
    return !std::isfinite(value) || std::fabs(value) <= largest(common);
  }
  if (!number.isIntegral(/*includeBool=*/true)) return false;
  if (number.type() == at::kUInt64) return false;  // toLong() would throw
  const std::int64_t value = number.toLong();
  switch (common) {
    case at::kLong:
      return true;
    case at::kInt:
      return value == static_cast<std::int32_t>(value);
    case at::kShort:
      return value == static_cast<std::int16_t>(value);
    case at::kChar:
      return value == static_cast<std::int8_t>(value);
    case at::kByte:
      return value == static_cast<std::uint8_t>(value);
    default:
      return value == 0 || value == 1;
  }
}

bool is_unusual(const c10::Scalar& number, const Elementwise& what,
                at::ScalarType common, c10::Device device) {
  // On a GPU some overloads refuse a number that the dtype cannot hold.
  if (device.is_cpu() && takes_any_number(what.function) &&
      at::isFloatingType(common))
    return false;
  if (!fits(number, common)) return true;
  switch (what.function) {
    case Function::Power:
      if (is_product_of_halves(number.toDouble(), common, device)) return true;
      [[fallthrough]];
    case Function::TorchRemainder:
    case Function::Fmod:
      return !fits_as_rounded(number.toDouble(), common);
    case Function::Elu:
    case Function::LeakyRelu:
    case Function::Softplus:
      return !std::isfinite(number.toDouble());
    default:
      return false;
  }
}

std::span<const TorchOperand> typed_operands(
    Rule rule, std::span<const TorchOperand> operands) {
  if (rule == Rule::Select) return operands.subspan(1);
  if (rule == Rule::Masked) return operands.first(1);
  if (rule == Rule::Fill) return operands.subspan(2);
  return operands;
}

std::optional<ResultTypes> types_of(const Elementwise& what,
                                    std::span<const TorchOperand> operands,
                                    c10::Device device) {
  if (!has_bool_condition(what.rule, operands) ||
      has_special_types(what, operands))
    return std::nullopt;
  const auto promoted = promoted_type(typed_operands(what.rule, operands));
  if (!promoted) return std::nullopt;
  const auto types = types_by(what.rule, *promoted);
  if (!types) return std::nullopt;
  const auto [common, result] = *types;
  for (const TorchOperand& operand : operands)
    if (operand.is_number() && is_unusual(operand.number, what, common, device))
      return std::nullopt;
  if (is_rounded_first(what, operands, common)) return std::nullopt;
  return ResultTypes{*promoted, common, result};
}

DType compute_type(Function function, at::ScalarType common, bool is_cpu) {
  // PyTorch's kernels of the CPU add a product of float32 without rounding it.
  // In float64 the product is exact.
  const bool adds_product =
      function == Function::AddScaled || function == Function::SubScaled;
  return *dtype_of(is_cpu && adds_product && common == at::kFloat
                       ? at::kDouble
                       : opmath_of(common));
}

}  // namespace gpuos::bridge
