#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session/cells/tokens.h"

namespace gpuos::session {

/// Holds the tokens of one cell with the partners of its brackets.
class TokenList {
 public:
  explicit TokenList(const CellText& cell)
      : cell_(cell),
        tokens_(tokenize(cell)),
        partner_(match_brackets(cell, tokens_)) {}

  const CellText& cell() const { return cell_; }
  std::size_t size() const { return tokens_.size(); }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }
  /// Returns false past the end too.
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].is(text);
  }
  bool is_identifier(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].is_identifier();
  }
  /// Returns the index after the partner of the bracket at `i`.
  std::size_t behind(std::size_t i) const { return partner_[i] + 1; }
  /// Returns the index after the token at `i` and after what it encloses.
  std::size_t next(std::size_t i) const {
    return is_any(i, "( [ {") ? behind(i) : i + 1;
  }
  /// Returns whether the token is one of the words, which blanks separate.
  bool is_any(std::size_t i, std::string_view words) const {
    return i < tokens_.size() && is_one_of(words, tokens_[i].text);
  }
  /// Returns whether a token from `begin` to before `end` is one of the words.
  bool has_any(std::size_t begin, std::size_t end,
               std::string_view words) const {
    while (begin < end && !is_any(begin, words)) ++begin;
    return begin < end;
  }
  /// Returns the index after the '>' that closes the '<' at `i`, or `i` if none
  /// does or there is no '<'.
  std::size_t behind_angles(std::size_t i) const;
  std::string text(std::size_t begin, std::size_t end) const;
  /// Returns these tokens with one blank between them.
  std::string plain(std::size_t begin, std::size_t end) const;

  /// Throws: CompileError at token `i`, or at the end of the cell.
  [[noreturn]] void fail(std::size_t i, const std::string& what) const;

 private:
  const CellText& cell_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> partner_;
};

/// Returns the index after the '>' of "f<int, 3>" whose '<' is at `i`, in a
/// value. Returns `i` if the '<' compares.
std::size_t behind_arguments(const TokenList& tokens, std::size_t i);

/// Holds the range from token `begin` to before token `end`.
struct TokenRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns the ranges between the commas of a list, except commas in brackets.
std::vector<TokenRange> split_commas(const TokenList& tokens, std::size_t begin,
                                     std::size_t end);

/// Holds where the parts of one declaration are, as indices of tokens. 0 means
/// that a part is missing.
struct Shape {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t start = 0;  // after the template header
  bool is_template = false;
  std::size_t class_key = 0;          // keyword of a definition or a forward
                                      // declaration
  std::size_t class_body = 0;         // its '{'
  std::size_t parameters = 0;         // '(' of a function's parameters
  std::size_t body = 0;               // '{' of a function, or its "try"
  std::size_t initializer = 0;        // '=', '{' or '(' of a variable
  std::size_t group = 0;              // '(' in "float (*f)(float)"
  std::size_t launch = 0;             // "<<<"
  std::vector<std::size_t> commas{};  // between declarators
  bool has_class_key = false;         // class_key may be token 0

  bool is_class() const { return has_class_key; }
};

/// Returns the declaration or statement that begins at token `begin`. `wrapped`
/// is the '(' around the name in "T (x);", if there is one.
/// Throws: CompileError if the declaration does not end.
Shape find_shape(const TokenList& tokens, std::size_t begin, std::size_t end,
                 std::size_t wrapped = 0);

/// Returns the index after "*", "&", "const" and "A::*" of a declarator.
std::size_t behind_marks(const TokenList& tokens, std::size_t i);

/// Returns the name of a class or an enum after its attributes, or 0 if it has
/// none.
std::size_t find_class_name(const TokenList& tokens, const Shape& shape);

}  // namespace gpuos::session
