#pragma once

#include <cstddef>
#include <string_view>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// Whether a declaration begins with a word, or such a one or a statement.
bool begins_declaration(std::string_view word);
bool begins_piece(std::string_view word);

/// Whether a word is a type or a part of its name, as "unsigned" is.
bool is_type_word(std::string_view word);

/// Whether a statement begins at `i` that is no declaration. "k<<<1, 1>>>();"
/// and "f();" are told by their shapes, not here.
bool is_statement(const TokenList& tokens, std::size_t i,
                  const KindOf& kind_of);

/// Whether the statement from `begin` to `end` has a label or a goto.
bool jumps(const TokenList& tokens, std::size_t begin, std::size_t end);

/// The '(' of "T (x);" and "int (f)(int);", which mean what "T x;" would; 0 if
/// there is none. "f(x);" looks the same.
std::size_t find_wrapped_name(const TokenList& tokens, std::size_t i,
                              const KindOf& kind_of);

/// Whether the statement at `i` is an expression, which declares nothing.
bool is_expression(const TokenList& tokens, std::size_t i);

/// "P(T) -> P<T>;" at `i`, behind "template <...>" if there is one.
bool is_deduction_guide(const TokenList& tokens, std::size_t i);

/// The index behind the statement that begins at `i`.
/// Throws: CompileError if it does not end before `end`.
std::size_t behind_statement(const TokenList& tokens, std::size_t i,
                             std::size_t end);

/// Whether the parentheses at `open`, of "T x(...);", hold arguments, not
/// parameters.
bool holds_arguments(const TokenList& tokens, std::size_t open,
                     const KindOf& kind_of);

}  // namespace gpuos::session
