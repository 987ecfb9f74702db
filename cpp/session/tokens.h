#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/c_text.h"

namespace gpuos::session {

using TokenKind = CTokenKind;

/// A token in its primary spelling: "{" for "<%", and "&" twice for "and".
struct Token : CToken {
  std::size_t offset;  // of its first byte in the cell
  std::size_t end;     // the offset after it in the cell
  int line;            // from 1
  int column;          // from 1
};

/// The text of one cell and what its messages call it.
struct CellText {
  std::string name;  // "cell 3"
  std::string text;
  std::string written{};  // before macros were replaced, if they were
};

/// A text whose lines end as those of this library do, without a mark of its
/// byte order.
std::string in_plain_lines(std::string_view text);

/// `text` at a line and a column of the cell `name`, behind what is blank, so
/// that messages have its place.
CellText at_place(const std::string& name, int line, int column,
                  std::string_view text);

/// Throws: CompileError "cell 3:7: ..." always.
[[noreturn]] void fail_at(const CellText& cell, int line, int column,
                          const std::string& what);

/// Comments and white space are left out.
/// Lifetime: tokens point into `cell.text`.
/// Throws: CompileError for a text or a comment without an end.
std::vector<Token> tokenize(const CellText& cell);

/// For each bracket the index of its partner, else 0.
/// Throws: CompileError for one without a partner.
std::vector<std::size_t> match_brackets(const CellText& cell,
                                        const std::vector<Token>& tokens);

/// "define" of "#  define N 4".
std::string_view directive_word(std::string_view line);

bool is_keyword(std::string_view identifier);

/// The identifiers in a piece of code, suffixes of literals and those of its
/// directives included, keywords not.
std::set<std::string> identifiers_of(std::string_view code);

}  // namespace gpuos::session
