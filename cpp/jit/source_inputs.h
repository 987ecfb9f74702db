#pragma once

#include <string_view>

namespace gpuos::jit {

/// Whether `source` and the embedded headers are all that its image is made
/// of. Not so with a header of the user's, which NVRTC opens when it is named
/// with its whole path, or with the time of the day. In doubt it is not.
bool stands_alone(std::string_view source);

}  // namespace gpuos::jit
