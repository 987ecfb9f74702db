#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "session/items.h"

namespace gpuos::session {

/// Returns the lines of a conditional with an #error in each part. A compiler
/// then says which part it takes.
std::string choice_text(const Conditional& conditional,
                        const std::string& cell);

/// Returns the part that the compiler's log names for that text. Returns
/// nothing if another error came first.
std::optional<std::size_t> chosen_in(const std::string& log);

}  // namespace gpuos::session
