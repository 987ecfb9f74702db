#include "planning/parts.h"

#include <bit>

namespace gpuos::bridge {
namespace {

/// Returns whether PyTorch makes an element of the number that is operand `i`.
/// Other operators keep it as exact as they compute, or the result is the same.
bool rounds_number(const Elementwise& what, std::size_t i, bool is_cpu) {
  switch (what.function) {
    case Function::Add:
    case Function::Subtract:
    case Function::AddScaled:
    case Function::SubScaled:
      return is_cpu;
    case Function::Multiply:
    case Function::Divide:
      return is_cpu && i == 0;
    default:
      return what.rule == Rule::Comparison;
  }
}

double rounded(double number, at::ScalarType type) {
  const auto single = static_cast<float>(number);
  switch (type) {
    case at::kHalf:
      return static_cast<double>(at::Half(single));
    case at::kBFloat16:
      return static_cast<double>(at::BFloat16(single));
    case at::kFloat:
      return static_cast<double>(single);
    default:
      return number;
  }
}

}  // namespace

void put_real(Request& request, std::size_t i, double number,
              const Elementwise& what, at::ScalarType common, bool is_cpu) {
  request.numbers |= static_cast<std::uint8_t>(1u << i);
  request.owners[i] = nullptr;
  request.values[i] = std::bit_cast<std::uint64_t>(
      rounds_number(what, i, is_cpu) ? rounded(number, common) : number);
  request.dtypes[i] = DType::Float64;
}

void put_number(Request& request, std::size_t i, const c10::Scalar& number,
                const Elementwise& what, at::ScalarType common, bool is_cpu) {
  const bool is_whole = number.isIntegral(/*includeBool=*/true);
  if (!is_whole || at::isFloatingType(common))
    return put_real(request, i, number.toDouble(), what, common, is_cpu);
  request.numbers |= static_cast<std::uint8_t>(1u << i);
  request.integers |= static_cast<std::uint8_t>(1u << i);
  request.owners[i] = nullptr;
  request.values[i] = static_cast<std::uint64_t>(number.toLong());
  request.dtypes[i] = DType::Int64;
}

}  // namespace gpuos::bridge
