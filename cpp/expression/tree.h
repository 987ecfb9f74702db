#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expression/functions.h"

namespace gpuos::expression {

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
  const Function* function = nullptr;       // Call
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
