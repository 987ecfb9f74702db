#pragma once

#include <string>

#include "jit/compile_cache.h"
#include "jit/nvrtc_api.h"
#include "jit/target.h"

namespace gpuos::jit {

/// What each kept image depends on of gpuos itself: the layout of the files and
/// of tasks, its version and its embedded headers.
void add_gpuos(CacheKey& key);

/// What an image depends on beside its source, as text: gpuos with its
/// embedded headers, the compiler and the linker with their files, and how
/// they are called.
std::string toolchain_key(const Nvrtc& api, const Target& target);

}  // namespace gpuos::jit
