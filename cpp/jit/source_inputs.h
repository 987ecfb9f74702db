#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_options.h"

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

/// The digest of all that `source` may include: the given headers, and files
/// beside the one that includes them, in `folder` for `source`, unless it is
/// empty, and in `include_dirs`. More than what a compiler would open, since no
/// #if is looked at and each file of a name counts; one that appears later does
/// too. What is in no such place may be a header of CUDA, which counts
/// elsewhere.
///
/// Empty if it cannot be told: an #include of a macro, __has_include, #embed,
/// or the time of the day. Throws: CompileError for a pipe, a socket or a
/// device.
std::optional<std::string> include_digest(
    std::string_view source, std::span<const JitHeader> headers,
    std::span<const std::string> include_dirs, const std::string& folder);

}  // namespace gpuos::jit
