#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuos {

// The standard's functions depend on the locale.
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Returns where the name ends that begins at `at`.
std::size_t end_of_name(std::string_view text, std::size_t at) noexcept;

bool is_identifier(std::string_view text) noexcept;

/// Returns whether `text` contains `word` as a whole name.
bool has_name(std::string_view text, std::string_view word) noexcept;

/// Returns whether `word` is one of the words, which blanks separate.
bool is_one_of(std::string_view words, std::string_view word) noexcept;

/// Cuts the text before the next `end` off the beginning of `rest`.
std::string_view cut_until(std::string_view& rest, char end) noexcept;

/// Returns the text with those lines joined that a backslash joins.
std::string join_lines(std::string_view text);

enum class CTokenKind : std::uint8_t {
  End,
  Identifier,
  Number,
  Text,         // a string or a character, with its prefix and its suffix
  Punctuator,   // one character, except "::", "->", "->*", "<<<", ">>>", and
                // digraphs such as "<%"
  Directive,    // a preprocessor line with its continuations
  OpenComment,  // a comment without an end: the rest of the text
  OpenText,     // a text without an end: the rest of its line
  OpenRaw       // a raw string without an end: the rest of its line
};

struct CToken {
  CTokenKind kind = CTokenKind::End;
  std::string_view text{};
  std::string_view suffix{};  // "_km" of 4_km and "x"_km

  bool is(std::string_view wanted) const { return text == wanted; }
  bool is_any(std::string_view words) const { return is_one_of(words, text); }
  bool is_identifier() const { return kind == CTokenKind::Identifier; }
};

/// Reads C, C++ or PTX token by token. It leaves out comments and white space.
/// A character that is not ASCII counts as a letter.
/// Lifetime: tokens point into the text.
class CScanner {
 public:
  enum class Begin : bool { OfLine, InLine };  // whether '#' is a directive

  explicit CScanner(std::string_view text, Begin begin = Begin::OfLine,
                    std::string_view more_letters = {}) noexcept
      : text_(text),
        more_letters_(more_letters),
        is_line_begin_(begin == Begin::OfLine) {}

  CToken next();
  /// Reads on to the next directive, comment or raw string without an end.
  /// These are the tokens that next() gives, and the rest is only passed over.
  CToken next_directive();

 private:
  bool starts_with(std::string_view wanted) const {
    return text_.substr(at_).starts_with(wanted);
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool begins_name(char c) const {
    return is_letter(c) || static_cast<unsigned char>(c) >= 0x80 ||
           more_letters_.find(c) != more_letters_.npos;
  }
  bool continues_name(char c) const { return begins_name(c) || is_digit(c); }

  CToken token(std::size_t begin, CTokenKind kind);
  std::size_t splice(std::size_t at) const;
  void skip_blanks(bool is_in_line);
  bool skip_comment();
  bool begins_directive() const {
    return is_line_begin_ && (peek() == '#' || starts_with("%:"));
  }
  CTokenKind read();
  CTokenKind read_literal();
  CTokenKind read_name();
  CTokenKind read_number();
  CTokenKind read_quoted();
  CTokenKind read_suffix();
  CTokenKind read_directive();

  std::string_view text_;
  std::string_view more_letters_;
  std::size_t at_ = 0;
  std::size_t suffix_ = 0;  // where that of the token begins; else its end
  bool is_line_begin_;
};

}  // namespace gpuos
