#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"

namespace gpuos::expression {

/// Describes a function that expressions call. It works on elements, on the
/// elements along axes, or on both, like `max`.
struct NamedFunction {
  std::string_view name;
  std::uint8_t least = 0;  // operands, or 0 if it does not work on elements
  std::uint8_t most = 0;
  /// Computes the result from operands. At least one of them is a value.
  Value (*of)(std::span<const Operand>) = nullptr;
  Value (*over)(const Value&, const Axes&, bool keepdims) = nullptr;
};

/// Returns null if no function has this name.
const NamedFunction* find_function(std::string_view name) noexcept;

/// Returns all names, for a message.
std::string function_names();

inline constexpr std::size_t kMaxNodes = 2048;

/// Holds a number as it was written.
struct Literal {
  bool is_whole = false;  // written as an integer, which is `magnitude`
  bool is_negative = false;
  std::uint64_t magnitude = 0;
  double real = 0;  // without the sign
};

/// Holds the axes of a reduction.
struct Reduced {
  Axes axes;
  bool keepdims = false;
};

struct TreeNode {
  enum class Kind : std::uint8_t { Input, Param, Literal, Call };
  Kind kind;
  std::uint8_t count = 0;                   // Call: operands
  const NamedFunction* function = nullptr;  // Call
  std::array<std::uint32_t, 3> operands{};  // Call: earlier nodes
  std::uint32_t index = 0;  // Input, Param: which; Call: in Tree::reduced
  Literal literal{};
  std::uint32_t column = 0;  // zero-based
};

/// Holds nodes in an order in which operands come first. The last node is the
/// result.
struct Tree {
  std::string text;
  std::vector<TreeNode> nodes;
  std::vector<Reduced> reduced;
};

/// Throws: InvalidArgument, always. It shows the text with a caret at `column`,
/// which is zero-based.
[[noreturn]] void fail_at(std::string_view text, std::size_t column,
                          const std::string& message);

}  // namespace gpuos::expression
