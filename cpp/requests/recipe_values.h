#pragma once

#include <span>

#include "gpuos/program.h"
#include "gpuos/requests.h"

namespace gpuos::requests {

/// Computes an elementwise recipe before the cast to the output's dtype. Its
/// operands are of `compute`, its conditions and masks of any dtype. Throws:
/// InvalidArgument for a dtype that it does not take.
Value elementwise_value(Recipe recipe, DType compute,
                        std::span<const Value> operands);

/// Computes a row recipe. `axes` are those of Request.
Value row_value(Recipe recipe, DType compute, std::uint8_t axes, bool keepdims,
                std::span<const Value> operands);

/// Returns whether operand `place` is a condition, which is not cast to
/// `compute`.
bool is_condition(Recipe recipe, std::size_t place) noexcept;

/// Returns an upper bound of the numbers that the request's recipe adds to a
/// program, in addition to its operands.
std::size_t literals_of(const Request& request) noexcept;

}  // namespace gpuos::requests
