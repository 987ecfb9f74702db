#pragma once

#include <string_view>

namespace gpuos::jit {

// Files of device code begin with these.
inline constexpr std::string_view kElf =
    "\x7f"
    "ELF";
inline constexpr std::string_view kLtoIr = "\xed\x43\x4e\x7f";
inline constexpr std::string_view kFatBinary = "\x50\xed\x55\xba";

}  // namespace gpuos::jit
