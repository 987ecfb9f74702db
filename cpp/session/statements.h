#pragma once

#include <cstddef>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// Whether a statement begins at `i` that is no declaration. "k<<<1, 1>>>();"
/// and "f();" are told by their shapes, not here.
bool is_statement(const TokenList& tokens, std::size_t i,
                  const IsValue& is_value);

/// "P(T) -> P<T>;" at `i`, behind "template <...>" if there is one.
bool is_deduction_guide(const TokenList& tokens, std::size_t i);

/// The index behind the statement that begins at `i`.
/// Throws: CompileError if it does not end before `end`.
std::size_t behind_statement(const TokenList& tokens, std::size_t i,
                             std::size_t end);

/// Whether the parentheses at `open`, of "T x(...);", hold arguments, not
/// parameters.
bool holds_arguments(const TokenList& tokens, std::size_t open,
                     const IsValue& is_value);

}  // namespace gpuos::session
