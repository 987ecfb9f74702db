#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuos::session {

/// Returns code that has an error for each of the lines that the compiler
/// refuses.
std::string questions_of(const std::vector<std::string>& lines);

/// Returns which lines the compiler takes, from its log of that code. Returns
/// nothing if the compiler did not reach the end of the code.
std::vector<bool> answers_in(const std::string& log, std::size_t count);

}  // namespace gpuos::session
