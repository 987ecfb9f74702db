#pragma once

#include <string>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// A declaration of variables as items, one each. Those with storage on the
/// device are Variable: `text` defines them, `header` declares a reference of
/// the same name, so that every kernel finds the one storage. Constants with a
/// value are Header: each object has its own copy of them. Others are host
/// variables.
std::vector<Item> variables(const TokenList& tokens, const Shape& shape,
                            const std::vector<std::string>& scopes);

}  // namespace gpuos::session
