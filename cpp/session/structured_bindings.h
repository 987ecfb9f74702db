#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// Returns whether a declaration is "auto [a, b] = e;", also with const, & or
/// &&.
bool is_structured_binding(const TokenList& tokens, const Shape& shape);

/// Returns host variables: one that holds e, and a reference to a part of it
/// for each name.
/// Throws: CompileError for one of the device, or of each thread.
std::vector<Item> structured_binding(const TokenList& tokens,
                                     const Shape& shape,
                                     const std::vector<std::string>& scopes);

/// Returns whether a variable is the one that holds the parts, which no user
/// named.
bool holds_parts(std::string_view name);

}  // namespace gpuos::session
