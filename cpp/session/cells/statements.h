#pragma once

#include <cstddef>
#include <string_view>

#include "session/cells/items.h"
#include "session/cells/pieces.h"

namespace gpuos::session {

/// Returns whether a declaration begins with a word. begins_piece() also
/// accepts words that begin a statement.
bool begins_declaration(std::string_view word);
bool begins_piece(std::string_view word);

/// Returns whether a word is a type or a part of its name, like "unsigned".
bool is_type_word(std::string_view word);

/// Returns whether a statement begins at `i` that is no declaration. "k<<<1,
/// 1>>>();" and "f();" have their own shapes and do not count here.
bool is_statement(const TokenList& tokens, std::size_t i,
                  const KindOf& kind_of);

/// Returns whether the statement from `begin` to `end` has a label or a goto.
bool jumps(const TokenList& tokens, std::size_t begin, std::size_t end);

/// Returns the '(' of "T (x);" and "int (f)(int);", in which the parentheses
/// have no effect. Returns 0 if there is none. "f(x);" looks equal to them.
std::size_t find_wrapped_name(const TokenList& tokens, std::size_t i,
                              const KindOf& kind_of);

/// Returns whether the statement at `i` is an expression, which declares
/// nothing.
bool is_expression(const TokenList& tokens, std::size_t i);

/// Returns whether "P(T) -> P<T>;" is at `i`, which is after "template <...>"
/// if there is one.
bool is_deduction_guide(const TokenList& tokens, std::size_t i);

/// Returns the index after the statement that begins at `i`.
/// Throws: CompileError if it does not end before `end`.
std::size_t behind_statement(const TokenList& tokens, std::size_t i,
                             std::size_t end);

/// Returns whether the parentheses at `open`, of "T x(...);", hold arguments
/// and not parameters.
bool holds_arguments(const TokenList& tokens, std::size_t open,
                     const KindOf& kind_of);

}  // namespace gpuos::session
