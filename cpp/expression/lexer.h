#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "expression/tree.h"

namespace gpuos::expression {

struct Token {
  enum class Kind : std::uint8_t { Name, Number, Symbol, End };
  Kind kind = Kind::End;
  std::string_view text;
  std::size_t column = 0;  // zero-based
};

/// Returns "'x'" or "the end", for messages.
std::string to_string(const Token& token);

/// Throws: InvalidArgument for a character that begins no token.
Token next_token(std::string_view text, std::size_t from);

/// Throws: InvalidArgument if the number is too large for every dtype.
Literal read_literal(std::string_view text, const Token& token);

}  // namespace gpuos::expression
