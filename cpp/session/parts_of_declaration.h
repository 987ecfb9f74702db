#pragma once

#include <vector>

#include "session/pieces.h"

namespace gpuos::session {

/// Returns "struct P { int x; }; P p;" of "struct P { int x; } p;". Returns
/// "int x;" and "int f(int);" of "int x, f(int);". Each part keeps its place.
/// Returns nothing for a declaration of one kind of entity.
std::vector<CellText> parts_of_declaration(const TokenList& tokens,
                                           const Shape& shape);

/// Returns a declaration at its place, with blanks for some of its tokens.
CellText without(const TokenList& tokens, const Shape& shape,
                 const std::vector<TokenRange>& ranges);

}  // namespace gpuos::session
