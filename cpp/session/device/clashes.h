#pragma once

#include <span>

#include "session/device/compiling.h"
#include "session/device/header.h"

namespace gpuos::session {

/// Refuses a name with one meaning in an earlier cell and another in this one.
/// No later cell that mentions the name would compile. The compiler decides if
/// the two can share a name, as a class and a function can.
/// Throws: CompileError at the new one, with the old meaning of the name.
void refuse_clashes(const CellText& cell, std::span<const EntryPtr> added,
                    const Header& header, Compiler& compiler);

/// Refuses a clash in host code. A class and a function of one name clash there
/// too, because each has a namespace of its own. Throws: CompileError.
void refuse_host_clash(const CellText& cell, const Item& item,
                       const Header& header);

}  // namespace gpuos::session
