#include "expression/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/c_text.h"
#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::expression {
namespace {

std::size_t skip_digits(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::size_t skip_number(std::string_view text, std::size_t from) {
  std::size_t at = skip_digits(text, from);
  if (at < text.size() && text[at] == '.') at = skip_digits(text, at + 1);
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) {
      ++digits;
    }
    at = skip_digits(text, digits);
    if (at == digits) fail_at(text, at, "expected the digits of an exponent");
  }
  return at;
}

bool begins_number(std::string_view rest) noexcept {
  return is_digit(rest[0]) ||
         (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1]));
}

std::size_t symbol_length(std::string_view rest) noexcept {
  static constexpr std::array<std::string_view, 8> kPairs{
      "**", "//", "<=", ">=", "==", "!=", "<<", ">>"};
  if (std::ranges::find(kPairs, rest.substr(0, 2)) != kPairs.end()) return 2;
  return std::string_view("+-*/%<>=(),&|^~").find(rest[0]) !=
                 std::string_view::npos
             ? 1
             : 0;
}

std::string describe_character(char c) {
  if (c > ' ' && c < '\x7f') return concat("'", c, "'");
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return concat("byte 0x", kHex[byte / 16], kHex[byte % 16]);
}

}  // namespace

void fail_at(std::string_view text, std::size_t column,
             const std::string& message) {
  constexpr std::size_t kShown = 72;
  const std::size_t begin = column > kShown / 2 ? column - kShown / 2 : 0;
  std::string excerpt(text.substr(std::min(begin, text.size()), kShown));
  for (char& c : excerpt) {
    if (c < ' ' || c > '~') c = ' ';
  }
  throw InvalidArgument(concat("expression: column ", column + 1, ": ", message,
                               "\n  ", excerpt, "\n  ",
                               std::string(column - begin, ' '), "^"));
}

std::string to_string(const Token& token) {
  if (token.kind == Token::Kind::End) return "the end";
  return concat("'", token.text, "'");
}

Token next_token(std::string_view text, std::size_t from) {
  while (from < text.size() && is_space(text[from])) ++from;
  if (from == text.size()) return {Token::Kind::End, {}, from};
  const std::string_view rest = text.substr(from);
  Token::Kind kind = Token::Kind::Symbol;
  std::size_t end = from;
  if (is_letter(rest[0])) {
    kind = Token::Kind::Name;
    end = end_of_name(text, from);
  } else if (begins_number(rest)) {
    kind = Token::Kind::Number;
    end = skip_number(text, from);
  } else {
    end = from + symbol_length(rest);
    if (end == from) {
      fail_at(text, from,
              concat("expected a name, a number or an operator, got ",
                     describe_character(rest[0])));
    }
  }
  return {kind, text.substr(from, end - from), from};
}

Literal read_literal(std::string_view text, const Token& token) {
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  Literal literal;
  const auto real = std::from_chars(begin, end, literal.real);
  if (real.ec != std::errc{}) {
    fail_at(text, token.column,
            concat("expected a number within float64, got ", token.text));
  }
  const auto whole = std::from_chars(begin, end, literal.magnitude);
  literal.is_whole = whole.ec == std::errc{} && whole.ptr == end;
  return literal;
}

}  // namespace gpuos::expression
