#pragma once

#include <string>
#include <vector>

#include "gpuos/jit_options.h"
#include "jit/nvrtc_api.h"

namespace gpuos::jit {

/// Throws: InvalidArgument naming the field, what was expected and what came.
void check_options(const JitOptions& options);

/// Throws: InvalidArgument if this NVRTC is too old for one of them.
void check_options(const JitOptions& options, const Nvrtc& api);

/// Returns the options as NVRTC takes them, without the architecture.
std::vector<std::string> option_flags(const JitOptions& options);

}  // namespace gpuos::jit
