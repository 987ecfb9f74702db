// PyTorch's dtypes and promotion, and the compute types of requests.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstdint>
#include <optional>
#include <span>

#include "gpuos/dtype.h"
#include "pytorch/functions.h"

namespace gpuos::bridge {

using at::Tensor;

/// The rule that decides an operation's dtypes.
enum class Rule : std::uint8_t {
  Arithmetic,  // the promoted dtype; bool is left to PyTorch
  Float,       // the same, integers as the default dtype
  Floating,    // floating dtypes only
  Comparison,  // the promoted dtype in, bool out
  Test,        // any real dtype in, bool out
  Logical,     // the promoted dtype in, bool out
  Bitwise,     // integers and bool
  Select,      // the first operand is a condition
  Masked,      // the second operand is a mask, the result is as the first
  Fill,        // where(true, a number, the tensor)
  Copy         // the output's dtype is given
};

/// The parts of an operation that do not change from call to call.
struct Elementwise {
  Function function{};
  Rule rule{};
};

/// Returns whether the result is bool, whatever the operands are.
constexpr bool gives_bool(Rule rule) {
  return rule == Rule::Comparison || rule == Rule::Test ||
         rule == Rule::Logical;
}
/// Returns whether the quotient is rounded to the dtype, and then to a whole
/// number.
constexpr bool rounds_quotient(Function function) {
  return function == Function::FloorDivide || function == Function::DivTrunc;
}

/// Empty for dtypes that are left to PyTorch.
inline std::optional<DType> dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DType::Float32;
    case at::kDouble:
      return DType::Float64;
    case at::kHalf:
      return DType::Float16;
    case at::kBFloat16:
      return DType::BFloat16;
    case at::kInt:
      return DType::Int32;
    case at::kLong:
      return DType::Int64;
    case at::kShort:
      return DType::Int16;
    case at::kChar:
      return DType::Int8;
    case at::kByte:
      return DType::UInt8;
    case at::kBool:
      return DType::Bool;
    default:
      return std::nullopt;
  }
}

inline bool is_half(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16;
}
/// Half types are computed in float32, as PyTorch does it.
inline at::ScalarType opmath_of(at::ScalarType type) {
  return is_half(type) ? at::kFloat : type;
}

/// Returns whether an operation in `common` takes the number as it is. PyTorch
/// raises, or wraps, for the others.
bool fits(const c10::Scalar& number, at::ScalarType common);
/// Returns whether PyTorch computes with any number and a floating dtype in the
/// usual way, also with one that the dtype has no room for.
constexpr bool takes_any_number(Function function) {
  switch (function) {
    case Function::Add:
    case Function::Subtract:
    case Function::Multiply:
    case Function::Divide:
    case Function::Less:
    case Function::LessEqual:
    case Function::Greater:
    case Function::GreaterEqual:
    case Function::Equal:
    case Function::NotEqual:
      return true;
    default:
      return false;
  }
}
/// Returns whether PyTorch refuses a number, or computes it in a special way.
bool is_unusual(const c10::Scalar& number, const Elementwise& what,
                at::ScalarType common, c10::Device device);

struct TorchOperand;

struct ResultTypes {
  at::ScalarType promoted{};  // the dtype of the operands that decide it
  at::ScalarType common{};    // they are cast to it
  at::ScalarType result{};
};

/// Decides the dtypes of an operation on a device. Empty if PyTorch would
/// raise, or computes it in a way that is not ours.
std::optional<ResultTypes> types_of(const Elementwise& what,
                                    std::span<const TorchOperand> operands,
                                    c10::Device device);
/// Returns the operands that decide the dtype: not conditions and masks.
std::span<const TorchOperand> typed_operands(
    Rule rule, std::span<const TorchOperand> operands);
/// Returns the dtype that requests compute in.
DType compute_type(Function function, at::ScalarType common, bool is_cpu);

}  // namespace gpuos::bridge
