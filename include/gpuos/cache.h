#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/export.h"

namespace gpuos {

/// Describes one folder of compiled images.
struct CacheLevel {
  std::string folder;   // empty if there is none
  std::string why_off;  // why it is not used; empty if it is
  bool is_writable = false;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

/// Describes the disk cache of compiled operators. See docs/cache.md.
struct CacheInfo {
  CacheLevel own;
  CacheLevel read_only;  // GPUOS_CACHE_READONLY_DIR
  std::uint64_t max_bytes = 0;
};

enum class CachedImageState { Good, Bad, OtherSchema };

/// Describes a file of the cache.
struct CachedImage {
  std::string path;
  bool is_read_only = false;  // in the read-only level
  CachedImageState state = CachedImageState::Bad;
  std::string problem;          // empty if it is good
  std::string name;             // "axpy.cu"
  std::string arch;             // "sm_90"
  std::uint32_t registers = 0;  // per thread
  std::uint64_t bytes = 0;      // size of the file
  double used = 0;              // time of the last use, in seconds since 1970
};

/// Counts the files and bytes that were removed.
struct CacheRemoval {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// Returns the folders of the cache and their sizes. Never throws for an
/// unusable folder.
/// Threads: any, as for all functions here.
GPUOS_API CacheInfo cache_info();

/// Reads and checks every file of the cache. Returns the newest first.
GPUOS_API std::vector<CachedImage> cached_images();

/// Removes bad files, leftovers of killed writers, and then the least recently
/// used images until `max_bytes` remain. Does not change the read-only level.
GPUOS_API CacheRemoval prune_cache(std::uint64_t max_bytes);

/// Removes every file of the cache, except those of the read-only level. Other
/// files are not changed.
GPUOS_API CacheRemoval clear_cache();

}  // namespace gpuos
