#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "session/items.h"

namespace gpuos::session {

/// The lines of a conditional with an #error in each part, so that a compiler
/// says which one it takes.
std::string choice_text(const Conditional& conditional,
                        const std::string& cell);

/// What the compiler's log says of that text; nothing if another error came
/// first.
std::optional<std::size_t> chosen_in(const std::string& log);

}  // namespace gpuos::session
