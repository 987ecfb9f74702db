#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"

namespace gpuos::expression {

/// Describes a function that expressions call. It works on elements, on the
/// elements along axes, or on both, like `max`.
struct Function {
  std::string_view name;
  std::uint8_t least = 0;  // operands, or 0 if it does not work on elements
  std::uint8_t most = 0;
  /// Computes the result from operands, of which at least one is a value.
  Value (*of)(std::span<const Operand>) = nullptr;
  Value (*over)(const Value&, const Axes&, bool keepdims) = nullptr;
};

/// Returns null if no function has this name.
const Function* find_function(std::string_view name) noexcept;

/// Returns all names, for a message.
std::string function_names();

}  // namespace gpuos::expression
