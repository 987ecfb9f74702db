#pragma once

#include <sstream>
#include <string>

namespace gpuos {

/// Message building; g++ 12 has no <format>.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return std::move(text).str();
}

}  // namespace gpuos
