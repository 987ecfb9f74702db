#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// Whether a declaration is "auto [a, b] = e;", with const, & or && if need be.
bool is_structured_binding(const TokenList& tokens, const Shape& shape);

/// As host variables: one that holds e, and a reference to a part of it for
/// each name.
/// Throws: CompileError for one of the device, or of each thread.
std::vector<Item> structured_binding(const TokenList& tokens,
                                     const Shape& shape,
                                     const std::vector<std::string>& scopes);

/// Whether a variable is one that holds the parts, of which nobody asked.
bool holds_parts(std::string_view name);

}  // namespace gpuos::session
