#pragma once

#include <sstream>
#include <string>

namespace gpuos {

/// Builds messages, because g++ 12 does not have <format>.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return std::move(text).str();
}

}  // namespace gpuos
