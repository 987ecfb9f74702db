#pragma once

#include <string>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// What one declaration or statement is: one item, or one for each of its
/// declarators.
/// Throws: CompileError if a session cannot take it.
std::vector<Item> classify(const TokenList& tokens, const Shape& shape,
                           const std::vector<std::string>& scopes);

}  // namespace gpuos::session
