#pragma once

#include <cstdint>
#include <string>

#include "base/config.h"

namespace gpuos::jit {

/// Where compiled images are kept.
struct CacheSettings {
  std::string folder;           // empty: no level that can be written
  std::string readonly_folder;  // looked up after that one; or empty
  std::uint64_t max_bytes = 0;
  std::string why_off;  // why `folder` is empty
};

/// GPUOS_CACHE_DIR, else gpuos/ in XDG_CACHE_HOME, else in ~/.cache. What
/// cannot be used turns the cache off and says why.
CacheSettings cache_settings(const Config& config);

}  // namespace gpuos::jit
