#pragma once

#include <span>
#include <string_view>

namespace gpuos::jit {

/// Holds a header of the standard library. NVRTC finds it in gpuos, unless a
/// folder of the user has a file of that name.
struct StandardHeader {
  // Each text ends with a zero.
  std::string_view name;  // "cstdint"
  std::string_view text;  // includes the device header that has its names
};

std::span<const StandardHeader> standard_headers();

bool is_standard_header(std::string_view name);

}  // namespace gpuos::jit
