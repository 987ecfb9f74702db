#include "types.h"

#include <c10/core/DefaultDtype.h>

namespace gpuos::bridge {

at::ScalarType scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return at::kFloat;
    case DType::Float64:
      return at::kDouble;
    case DType::Float16:
      return at::kHalf;
    case DType::BFloat16:
      return at::kBFloat16;
    case DType::Int32:
      return at::kInt;
    case DType::Int64:
      return at::kLong;
    case DType::Int16:
      return at::kShort;
    case DType::Int8:
      return at::kChar;
    case DType::UInt8:
      return at::kByte;
    default:
      return at::kBool;
  }
}

std::optional<ResultTypes> types_of(Rule rule, at::ScalarType promoted) {
  if (!dtype_of(promoted)) return std::nullopt;
  const bool floating = at::isFloatingType(promoted);
  switch (rule) {
    case Rule::Arithmetic:
      if (promoted == at::kBool) return std::nullopt;
      return ResultTypes{promoted, promoted};
    case Rule::Float: {
      if (floating) return ResultTypes{promoted, promoted};
      const auto type = c10::get_default_dtype_as_scalartype();
      return ResultTypes{type, type};
    }
    case Rule::Floating:
      if (!floating) return std::nullopt;
      return ResultTypes{promoted, promoted};
    case Rule::Comparison:
    case Rule::Test:
    case Rule::Logical:
      return ResultTypes{promoted, at::kBool};
    case Rule::Bitwise:
      if (floating) return std::nullopt;
      return ResultTypes{promoted, promoted};
    default:
      return ResultTypes{promoted, promoted};
  }
}

}  // namespace gpuos::bridge
