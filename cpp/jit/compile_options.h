#pragma once

#include <string>
#include <vector>

#include "gpuos/jit_options.h"
#include "jit/toolkit/nvrtc_api.h"

namespace gpuos::jit {

/// Checks the fields. Throws: InvalidArgument naming the field, the expected
/// value and the given one.
void check_options(const JitOptions& options);

/// Checks the options. Throws: InvalidArgument if this NVRTC is too old for one
/// of them.
void check_options(const JitOptions& options, const Nvrtc& api);

/// Returns the options as NVRTC takes them, without the architecture.
std::vector<std::string> option_flags(const JitOptions& options);

}  // namespace gpuos::jit
