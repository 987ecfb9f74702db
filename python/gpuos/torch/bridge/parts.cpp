#include "parts.h"

#include <bit>

namespace gpuos::bridge {
namespace {

/// Comparisons see a number as an element of their dtype, arithmetic keeps it
/// as exact as it computes.
double rounded(double number, Rule rule, at::ScalarType type) {
  if (rule != Rule::Comparison) return number;
  if (type == at::kHalf)
    return static_cast<double>(at::Half(static_cast<float>(number)));
  if (type == at::kBFloat16)
    return static_cast<double>(at::BFloat16(static_cast<float>(number)));
  return number;
}

}  // namespace

void put_number(Request& request, std::size_t i, const c10::Scalar& number,
                Rule rule, at::ScalarType common) {
  request.numbers |= static_cast<std::uint8_t>(1u << i);
  request.owners[i] = nullptr;
  const bool is_whole = number.isIntegral(/*includeBool=*/true);
  if (is_whole && !at::isFloatingType(common)) {
    request.integers |= static_cast<std::uint8_t>(1u << i);
    request.values[i] = static_cast<std::uint64_t>(number.toLong());
    request.dtypes[i] = DType::Int64;
  } else {
    request.values[i] =
        std::bit_cast<std::uint64_t>(rounded(number.toDouble(), rule, common));
    request.dtypes[i] = DType::Float64;
  }
}

}  // namespace gpuos::bridge
