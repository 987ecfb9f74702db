#pragma once

#include <string>

#include "jit/cache/compile_cache.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"

namespace gpuos::jit {

/// Adds the parts of gpuos on which each kept image depends. These are the
/// layout of the files and of tasks, its version and its embedded headers.
void add_gpuos(CacheKey& key);

/// Returns, as text, the parts on which an image depends in addition to its
/// source. These are gpuos with its embedded headers, the compiler and the
/// linker with their files, and their options.
std::string toolchain_key(const Nvrtc& api, const Target& target);

}  // namespace gpuos::jit
