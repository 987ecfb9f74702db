#pragma once

#include <span>

#include "session/compiling.h"
#include "session/header.h"

namespace gpuos::session {

/// A name that is one thing in an earlier cell and another in this one would
/// keep every later cell that mentions it from being compiled. The compiler
/// says whether the two go together, as a class and a function do.
/// Throws: CompileError at the new one, with what the name is already.
void refuse_clashes(const CellText& cell, std::span<const EntryPtr> added,
                    const Header& header, Compiler& compiler);

/// Refuses a clash in host code. A class and a function of one name clash there
/// too, because each has a namespace of its own. Throws: CompileError.
void refuse_host_clash(const CellText& cell, const Item& item,
                       const Header& header);

}  // namespace gpuos::session
