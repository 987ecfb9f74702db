#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "session/cells/items.h"

namespace gpuos::session {

/// Returns the lines of a conditional with an #error in each part. A compiler
/// then says which part it takes.
std::string choice_text(const Conditional& conditional,
                        const std::string& cell);

/// Returns the part that the compiler's log names for that text. Returns
/// nothing if another error came first.
std::optional<std::size_t> chosen_in(const std::string& log);

/// Returns code that has an error for each of the lines that the compiler
/// refuses.
std::string questions_of(const std::vector<std::string>& lines);

/// Returns which lines the compiler takes, from its log of that code. Returns
/// nothing if the compiler did not reach the end of the code.
std::vector<bool> answers_in(const std::string& log, std::size_t count);

}  // namespace gpuos::session
