#pragma once

#include <string>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// Returns the items of a declaration: one, or one for each declarator. "T
/// x(y);" declares a variable if `kind_of` says that y is no type. Throws:
/// CompileError if a session cannot take it.
std::vector<Item> classify(const TokenList& tokens, const Shape& shape,
                           const std::vector<std::string>& scopes,
                           const KindOf& kind_of);

}  // namespace gpuos::session
