#pragma once

#include <string>
#include <string_view>

#include "jit/compile_log.h"

namespace gpuos::jit {

/// Names the header that NVRTC reads before a source that misses one of its
/// names.
inline constexpr std::string_view kUsualNames = "gpuos/usual_names.h";

/// Returns whether NVRTC's log says that a name of kUsualNames is missing.
/// Examples are uint32_t and M_PI, which nvcc knows without an #include.
bool misses_usual_name(std::string_view log);

/// Returns advice about the first name that NVRTC did not know. It names the
/// #include that brings it, or its replacement. It is empty for an unknown
/// name.
std::string name_hint(const FirstError& error, std::string_view log);

}  // namespace gpuos::jit
