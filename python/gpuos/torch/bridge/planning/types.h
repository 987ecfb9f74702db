// PyTorch's dtypes and promotion, and the compute types of requests.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstdint>
#include <optional>

#include "gpuos/dtype.h"

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
/// Returns whether a number of powers and remainders fits a floating dtype.
/// PyTorch's kernels round it first, some to half types, and few take the
/// smallest numbers.
bool fits_as_rounded(double number, at::ScalarType type);

/// Returns whether PyTorch makes the power of products, each rounded to the
/// half type.
inline bool is_product_of_halves(double exponent, at::ScalarType type,
                                 c10::Device device) {
  return device.is_cpu() && type == at::kBFloat16 &&
         (exponent == 3 || exponent == -2);
}

struct ResultTypes {
  at::ScalarType common{};  // of the operands, promoted
  at::ScalarType result{};
};

/// Empty if PyTorch would raise, or computes it in a way that is not ours.
std::optional<ResultTypes> types_of(Rule rule, at::ScalarType promoted);

}  // namespace gpuos::bridge
