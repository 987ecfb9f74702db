#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/c_text.h"

namespace gpuos::session {

using TokenKind = CTokenKind;

/// Holds a token in its primary spelling: "{" for "<%", and "&" twice for
/// "and".
struct Token : CToken {
  std::size_t offset;  // offset of its first byte in the cell
  std::size_t end;     // the offset after it in the cell
  int line;            // from 1
  int column;          // from 1
};

/// Holds the text of one cell and its name in messages.
struct CellText {
  std::string name;  // "cell 3"
  std::string text;
  std::string written{};  // before macros were replaced, if they were
};

/// Returns a text with this library's ends of lines, without a byte order mark.
std::string in_plain_lines(std::string_view text);

/// Returns `text` at a line and a column of the cell `name`, after blanks, so
/// that messages have its place.
CellText at_place(const std::string& name, int line, int column,
                  std::string_view text);

/// Throws: CompileError "cell 3:7: ..." always.
[[noreturn]] void fail_at(const CellText& cell, int line, int column,
                          const std::string& what);

/// Returns the tokens without comments and white space.
/// Lifetime: tokens point into `cell.text`.
/// Throws: CompileError for a text or a comment without an end.
std::vector<Token> tokenize(const CellText& cell);

/// Returns for each bracket the index of its partner, and 0 for other tokens.
/// Throws: CompileError for one without a partner.
std::vector<std::size_t> match_brackets(const CellText& cell,
                                        const std::vector<Token>& tokens);

/// Returns "define" of "#  define N 4".
std::string_view directive_word(std::string_view line);

bool is_keyword(std::string_view identifier);

/// Returns the identifiers in a piece of code. These include suffixes of
/// literals and the identifiers of directives, but no keywords.
std::set<std::string> identifiers_of(std::string_view code);

}  // namespace gpuos::session
