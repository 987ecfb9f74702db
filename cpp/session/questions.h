#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuos::session {

/// Code that has an error for each of the lines that the compiler refuses.
std::string questions_of(const std::vector<std::string>& lines);

/// Which lines it takes, as its log of that code says; nothing if it did not
/// come to its end.
std::vector<bool> answers_in(const std::string& log, std::size_t count);

}  // namespace gpuos::session
