#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_options.h"

namespace gpuos::jit {

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
