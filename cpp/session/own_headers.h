#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "session/tokens.h"

namespace gpuos::session {

/// Returns path and text of `#include "a.h"`, without the guard around the
/// text. The file is next to the file `from`, or in one of the session's
/// folders. Returns nothing for another line, and for a file that cannot be
/// read.
std::optional<CellText> find_own_header(std::string_view line,
                                        const std::string& from,
                                        std::span<const std::string> folders);

}  // namespace gpuos::session
