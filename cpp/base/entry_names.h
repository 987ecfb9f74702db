#pragma once

#include <set>
#include <string>
#include <string_view>

namespace gpuos {

/// The operators whose entries are in an image or a library, for messages:
/// "GPUOS_OPERATOR(a), GPUOS_OPERATOR(b)", or "none".
inline std::string operators_in(std::string_view image) {
  using namespace std::string_view_literals;
  constexpr auto kEntry = "\0gpuos_entry_"sv;  // in a table of strings
  std::set<std::string> found;
  for (std::size_t at = image.find(kEntry); at != image.npos;
       at = image.find(kEntry, at + 1)) {
    const std::size_t begin = at + kEntry.size();
    found.emplace(image.substr(begin, image.find('\0', begin) - begin));
  }
  std::string text;
  for (const std::string& name : found)
    text +=
        (text.empty() ? "GPUOS_OPERATOR(" : ", GPUOS_OPERATOR(") + name + ")";
  return text.empty() ? "none" : text;
}

}  // namespace gpuos
