#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuos::jit {

/// White space inside a line.
inline constexpr std::string_view kBlank = " \t\r\v\f";

/// C++ with a space for each comment and with the lines joined that a backslash
/// joins. Empty for a comment or a raw string that does not end.
std::optional<std::string> logical_lines(std::string_view source);

}  // namespace gpuos::jit
