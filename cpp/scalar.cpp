#include "gpuos/scalar.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "concat.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

std::int64_t whole_number(double value, DType dtype) {
  // The comparison is false for NaN.
  if (!(value >= -kTwoTo63 && value < kTwoTo63) || value != std::trunc(value)) {
    throw InvalidArgument(concat("scalar: expected a whole number for ",
                                 name_of(dtype), ", got ", value));
  }
  return static_cast<std::int64_t>(value);
}

std::int32_t narrowed(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value < Limits::min() || value > Limits::max()) {
    throw InvalidArgument(concat("scalar: expected a number from ",
                                 Limits::min(), " to ", Limits::max(),
                                 " for int32, got ", value));
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::uint64_t Scalar::bits_as(DType dtype) const {
  switch (dtype) {
    case DType::Float32:
      if (kind_ == Kind::Single) return std::bit_cast<std::uint32_t>(single_);
      return std::bit_cast<std::uint32_t>(is_integer()
                                              ? static_cast<float>(integer_)
                                              : static_cast<float>(real_));
    case DType::Float64:
      return std::bit_cast<std::uint64_t>(real());
    case DType::Int32:
      return std::bit_cast<std::uint32_t>(
          narrowed(is_integer() ? integer_ : whole_number(real(), dtype)));
    case DType::Int64:
      return static_cast<std::uint64_t>(
          is_integer() ? integer_ : whole_number(real(), dtype));
  }
  throw InvalidArgument(concat("scalar: expected a dtype below ", kDTypeCount,
                               ", got ", static_cast<int>(dtype)));
}

}  // namespace gpuos
