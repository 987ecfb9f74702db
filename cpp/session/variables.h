#pragma once

#include <string>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// Returns a declaration of variables as one item for each. A Variable has
/// storage on the device. Its `text` defines it, and its `header` declares a
/// reference of equal name. Every kernel thus finds the one storage. Constants
/// with a value are Header: each object has its own copy of them. Others are
/// host variables.
std::vector<Item> variables(const TokenList& tokens, const Shape& shape,
                            const std::vector<std::string>& scopes);

}  // namespace gpuos::session
