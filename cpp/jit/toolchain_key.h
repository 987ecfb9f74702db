#pragma once

#include <string>

#include "jit/compile_cache.h"
#include "jit/nvrtc_api.h"
#include "jit/target.h"

namespace gpuos::jit {

/// Adds the parts of gpuos that each kept image depends on: the layout of the
/// files and of tasks, its version and its embedded headers.
void add_gpuos(CacheKey& key);

/// Returns, as text, what an image depends on in addition to its source: gpuos
/// with its embedded headers, the compiler and the linker with their files, and
/// their options.
std::string toolchain_key(const Nvrtc& api, const Target& target);

}  // namespace gpuos::jit
