#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/cells/items.h"
#include "session/cells/pieces.h"

namespace gpuos::session {

/// Returns the items of a declaration: one, or one for each declarator. "T
/// x(y);" declares a variable if `kind_of` says that y is no type. Throws:
/// CompileError if a session cannot take it.
std::vector<Item> classify(const TokenList& tokens, const Shape& shape,
                           const std::vector<std::string>& scopes,
                           const KindOf& kind_of);

/// Returns a declaration of variables as one item for each. A Variable has
/// storage on the device. Its `text` defines it, and its `header` declares a
/// reference of equal name. Every kernel thus finds the one storage. Constants
/// with a value are Header: each object has its own copy of them. Others are
/// host variables.
std::vector<Item> variables(const TokenList& tokens, const Shape& shape,
                            const std::vector<std::string>& scopes);

/// Returns "struct P { int x; }; P p;" of "struct P { int x; } p;". Returns
/// "int x;" and "int f(int);" of "int x, f(int);". Each part keeps its place.
/// Returns nothing for a declaration of one kind of entity.
std::vector<CellText> parts_of_declaration(const TokenList& tokens,
                                           const Shape& shape);

/// Returns a declaration at its place, with blanks for some of its tokens.
CellText without(const TokenList& tokens, const Shape& shape,
                 const std::vector<TokenRange>& ranges);

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
