#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "session/tokens.h"

namespace gpuos::session {

/// The file of `#include "a.h"` beside the file `from`, or in one of the
/// folders of a session: its path and its text, without the guard around it.
/// Nothing for another line, and for a file that cannot be read.
std::optional<CellText> find_own_header(std::string_view line,
                                        const std::string& from,
                                        std::span<const std::string> folders);

}  // namespace gpuos::session
