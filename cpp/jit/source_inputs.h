#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

/// Returns whether `source` may depend on the time of the day.
bool names_clock(std::string_view source);

/// A header of gpuos, under its own name or under "gpuos/", or one of the
/// standard library that NVRTC finds there.
bool is_embedded(std::string_view name);

/// The names that `source` includes or asks for with __has_include, in order,
/// whether or not an #if leaves them out.
///
/// Empty if they cannot be told: an #include of a macro, #include_next, #embed,
/// or a source that depends on the time of the day. In doubt it is empty.
std::optional<std::vector<std::string>> includes_of(std::string_view source);

/// Whether `source` and the embedded headers are all that its image is made
/// of. Not so with a header of the user's, which NVRTC opens when it is named
/// with its whole path.
bool stands_alone(std::string_view source);

}  // namespace gpuos::jit
