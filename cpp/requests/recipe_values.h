#pragma once

#include <span>

#include "gpuos/program.h"
#include "gpuos/requests.h"

namespace gpuos::requests {

/// What an elementwise recipe makes of operands that are of `compute`,
/// conditions and masks of any dtype, before it is cast to the output's dtype.
/// Throws: InvalidArgument for a dtype that it does not take.
Value elementwise_value(Recipe recipe, DType compute,
                        std::span<const Value> operands);

/// The same of a row recipe; `axes` as in Request.
Value row_value(Recipe recipe, DType compute, std::uint8_t axes, bool keepdims,
                std::span<const Value> operands);

/// Whether operand `place` is a condition, which is not cast to `compute`.
bool is_condition(Recipe recipe, std::size_t place) noexcept;

/// How many numbers the text of the request's recipe adds to a program, beside
/// its operands; at most so many.
std::size_t literals_of(const Request& request) noexcept;

}  // namespace gpuos::requests
