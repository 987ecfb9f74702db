#pragma once

#include <string>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// What one declaration is: one item, or one for each of its declarators.
/// "T x(y);" declares a variable if `is_value` says that y is none's type.
/// Throws: CompileError if a session cannot take it.
std::vector<Item> classify(const TokenList& tokens, const Shape& shape,
                           const std::vector<std::string>& scopes,
                           const IsValue& is_value);

}  // namespace gpuos::session
