#include "planning/types.h"

#include <c10/core/DefaultDtype.h>

#include <cmath>
#include <limits>

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
