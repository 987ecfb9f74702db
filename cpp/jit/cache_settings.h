#pragma once

#include <cstdint>
#include <string>

#include "base/config.h"

namespace gpuos::jit {

/// Tells where compiled images are kept.
struct CacheSettings {
  std::string folder;           // empty: no level that can be written
  std::string readonly_folder;  // searched after that one, may be empty
  std::uint64_t max_bytes = 0;
  std::string why_off;  // the reason if `folder` is empty
};

/// Returns GPUOS_CACHE_DIR, or gpuos/ in XDG_CACHE_HOME, or gpuos/ in ~/.cache.
/// A folder that cannot be used turns the cache off, and `why_off` says why.
CacheSettings cache_settings(const Config& config);

}  // namespace gpuos::jit
