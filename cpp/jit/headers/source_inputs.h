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

/// Returns whether NVRTC finds the header in gpuos. It is one of gpuos's, under
/// its own name or under "gpuos/", or one of the standard library.
bool is_embedded(std::string_view name);

/// Returns the names that `source` includes or asks for with __has_include, in
/// order. Names that an #if leaves out are in the list too.
///
/// Returns nothing if the names cannot be told or in doubt. Reasons are an
/// #include of a macro, #include_next, #embed, or a use of the time of the day.
std::optional<std::vector<std::string>> includes_of(std::string_view source);

/// Returns whether the image is made only of `source` and the embedded headers.
/// This is false for a header of the user that NVRTC opens by its whole path.
bool stands_alone(std::string_view source);

/// Returns the digest of all that `source` may include. These are the given
/// headers, and files next to the including file and in `include_dirs`.
/// `folder` is the folder of `source`, unless it is empty. The digest covers
/// more than a compiler would open: it ignores each #if and counts each file of
/// a name. A file that appears later counts too. An included file in no such
/// place may be a header of CUDA, which counts elsewhere.
///
/// Returns nothing if it cannot be told: an #include of a macro, __has_include,
/// #embed, or the time of the day. Throws: CompileError for a pipe, a socket or
/// a device.
std::optional<std::string> include_digest(
    std::string_view source, std::span<const JitHeader> headers,
    std::span<const std::string> include_dirs, const std::string& folder);

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
